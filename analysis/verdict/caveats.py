"""Sentences on what limits a comparison, or why there is none: lost runs, slow ones, drift."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from analysis.format.numbers import (
    fixed,
    in_percent,
    percent,
    percent_ends,
    signed_in_percent,
)
from analysis.format.table import joined
from analysis.objectives import EDP, ENERGY, TIME, Objective
from analysis.results.baselines import leaves_all
from analysis.results.case import Case
from analysis.results.turns import ORDER
from analysis.statistics.decision import ALPHA
from analysis.statistics.drift import Drift, Trend
from analysis.statistics.modes import RARE_SHARE, Modes
from analysis.verdict.model import CaseFinding, Comparison, Verdict
from analysis.verdict.phrases import (
    MAX_NAMED,
    Change,
    and_others,
    change_of_means,
    each_case,
    listed,
    name,
    names,
)
from base.text import one_line
from configs.mapping import WITHIN_THE_RUN
from runners.records.lost_runs import LostRuns

# So many times are whole, because more digits of a ratio of deviations are not known.
TIMES_FROM_WHOLE = 10


def means_disagree(
    objective: Objective, margin: float, baseline: CaseFinding, compared: Sequence[CaseFinding]
) -> str:
    """Return the cases whose mean and typical value disagree, with both; empty for none."""
    cases = [case for case in compared if case.comparisons[objective].means_disagree(margin)]
    if not cases:
        return ""
    changes = "; ".join(each_case(cases, partial(_both, objective)))
    return (
        f"Mean and typical {objective.noun} disagree, as rare slow or fast runs make them; "
        f"against {name(baseline)}: {changes}."
    )


def _both(objective: Objective, case: CaseFinding) -> str:
    comparison = case.comparisons[objective]
    assert comparison.mean_ratio is not None
    of_mean = change_of_means(comparison.mean_ratio, objective).size
    typical = change_of_means(comparison.difference.ratio, objective).size
    return f"{name(case)} {of_mean} by the mean, {typical} typically"


def several_modes(
    objective: Objective, baseline: CaseFinding, others: Sequence[CaseFinding]
) -> str:
    """Return whose runs are in several modes, and which cases have no outcome because of it."""
    parts = [
        f"{name(case)} {modes_in_words(case.modes[objective], objective)}"
        for case in (baseline, *others)
        if objective in case.modes
    ]
    unclear = [case for case in others if objective in case.unclear]
    for case in unclear:
        of_pairs = case.unclear[objective]
        if text := case.summary.circumstances.unclear.get(objective):
            parts.append(f"{name(case)} {text}")
        if of_pairs and objective not in case.modes and objective not in baseline.modes:
            parts.append(f"{name(case)} against {name(baseline)} {_modes_of_pairs(of_pairs)}")
    if not parts:
        return ""
    text = f"Runs are in several modes: {'; '.join(parts)}"
    if not unclear:
        return f"{text}; words about them hold for each of these modes."
    means = _by_means((baseline, *unclear), baseline, objective)
    return (
        f"{text}. Which of them is typical is left to chance, so {names(unclear)} "
        f"{'has' if len(unclear) == 1 else 'have'} no outcome against {name(baseline)}{means}."
    )


def unclear_in_words(case: CaseFinding) -> dict[str, str]:
    """Return what is known of the modes by which a case has no outcome, by objective."""
    unclear: dict[str, str] = {}
    for name_of, of_pairs in case.unclear.items():
        objective = next((of for of in case.samples if of == name_of), None)
        text = case.summary.circumstances.unclear.get(name_of, "")
        if name_of in case.modes and isinstance(objective, Objective):
            text = modes_in_words(case.modes[name_of], objective)
        elif of_pairs:
            text = f"against its baseline {_modes_of_pairs(of_pairs)}"
        unclear[str(name_of)] = text or "against the modes of its baseline"
    return unclear


def modes_in_words(modes: Modes, objective: Objective) -> str:
    """Return each mode's runs and value: `2 of 10 about 0.95 s and 8 about 1.05 s`."""
    return _counted(modes, "", lambda value: with_unit(math.exp(value), objective))


def _counted(modes: Modes, noun: str, in_words: Callable[[float], str]) -> str:
    first, *others = (f"about {in_words(mode.value)}" for mode in modes.modes)
    counts = [mode.count for mode in modes.modes]
    return listed(
        [
            f"{counts[0]} of {modes.n}{noun} {first}",
            *(f"{count} {text}" for count, text in zip(counts[1:], others, strict=True)),
        ]
    )


def with_unit(value: float, objective: Objective) -> str:
    """Return a value of an objective with four digits and its unit."""
    digits = np.format_float_positional(value, precision=4, fractional=False, trim="-")
    return f"{digits} {objective.unit}".rstrip()


def _signed_change(log_ratio: float) -> str:
    return f"{signed_in_percent(math.expm1(log_ratio), 2)} %"


def _modes_of_pairs(modes: Modes) -> str:
    return _counted(modes, " pairs", _signed_change)


def spreads(objective: Objective, baseline: CaseFinding, compared: Sequence[CaseFinding]) -> str:
    """Return the cases whose spread differs from the baseline's; empty for none."""
    cases = [case for case in compared if case.comparisons[objective].spread_times is not None]
    if not cases:
        return ""
    times = listed([_spread(objective, case) for case in cases[:MAX_NAMED]])
    more = "".join(f", and {other}" for other in and_others(cases))
    text = f"Runs spread otherwise than those of {name(baseline)}: {times}{more}."
    if any(case.comparisons[objective].unlike_means > 1 for case in cases):
        return f"{text} Of means, such words are wrong far oftener than they claim."
    return f"{text} What is said of the typical value holds all the same; of the mean it need not."


def hedge(objective: Objective, cases: Iterable[CaseFinding]) -> str:
    """Return the doubt that stands in an answer's sentence on means; empty where there is none."""
    doubt = unlike_spreads(unlike_means(objective, cases))
    return f"; {doubt}" if doubt else ""


def unlike_means(objective: Objective, cases: Iterable[CaseFinding]) -> float:
    """Return how many times a deviation is another at most, of cases whose means are compared."""
    found = (case.comparisons[objective] for case in cases if objective in case.comparisons)
    return max((comparison.unlike_means for comparison in found), default=1.0)


def unlike_spreads(times: float, where: str = "") -> str:
    """Return what so unlike deviations mean for answers by means; empty for like ones.

    `where` says for which of several answers.
    """
    if times <= 1:
        return ""
    return (
        f"not sure{where}, because only means are known, of runs that spread up to {fold(times)} "
        "times as much as others"
    )


def unlike_answers(verdicts: Iterable[Verdict]) -> str:
    """Return of how many answers by means it is not sure that they hold; empty for none."""
    every = list(verdicts)
    unlike = [verdict.unlike_means for verdict in every if verdict.unlike_means > 1]
    where = f" in {len(unlike)} of {len(every)} settings" if len(every) > 1 else ""
    return unlike_spreads(max(unlike, default=1.0), where)


def fold(times: float) -> str:
    """Return how many times one deviation is another: `2.3`, `1/2.3`."""
    if times < 1:
        return f"1/{fold(1 / times)}"
    return fixed(times, 0 if times >= TIMES_FROM_WHOLE else 1)


def _spread(objective: Objective, case: CaseFinding) -> str:
    times = case.comparisons[objective].spread_times
    assert times is not None
    return f"{name(case)} {fold(times)} {'times ' if times >= 1 else ''}as much"


def slow(baseline: CaseFinding, compared: Sequence[CaseFinding]) -> str:
    """Return which cases had slow runs, how many and how slow, and whether the shares differ."""
    cases = [case for case in (baseline, *compared) if case.slow is not None]
    with_some = [case for case in cases if case.slow and case.slow.count]
    if not with_some:
        return ""
    parts = each_case(with_some, _slow)
    if none := [case for case in cases if case.slow and not case.slow.count]:
        parts.append(f"none of {names(none)}")
    text = f"Slow runs: {listed(parts)}; {_shares(baseline, compared)}"
    if any(case.slow and case.slow.count > RARE_SHARE * case.slow.n for case in with_some):
        text += (
            "; where so many are slow, what is typical is uncertain, and words are wrong oftener"
        )
    return f"{text}."


def _slow(case: CaseFinding) -> str:
    slow_runs = case.slow
    assert slow_runs is not None
    least, most = (in_percent(share, 3) for share in (slow_runs.least, slow_runs.most))
    longer = least if least == most else f"{least} to {most}"
    return f"{slow_runs.count} of {slow_runs.n} of {name(case)} ({longer} % beyond its median)"


def _shares(baseline: CaseFinding, compared: Sequence[CaseFinding]) -> str:
    p_values = {
        case.case_id: p
        for case in compared
        if "time" in case.comparisons and (p := case.comparisons["time"].p_slow) is not None
    }
    proved = [case for case in compared if p_values.get(case.case_id, 1.0) <= ALPHA]
    if not p_values:
        return "too few runs to compare their shares"
    if not proved:
        least = min(p_values.values())
        return f"that their shares differ is not shown (exact test, p = {least:.2g})"
    shown = each_case(proved, lambda case: f"{name(case)} (p = {p_values[case.case_id]:.2g})")
    under = f"under {listed(shown)}"
    return f"by an exact test the share is another than that of {name(baseline)} {under}"


def of_units(comparisons: Sequence[Comparison]) -> str:
    """Return in how many boots or days the pairs were made; empty for one."""
    count = max(comparison.difference.units for comparison in comparisons)
    if count < 2:
        return ""
    few = ", of which two tell little" if count == 2 else ""
    return (
        f"The pairs are of {count} boots or days: what varies between these{few}, is in the "
        "intervals."
    )


def unusable(cases: Iterable[CaseFinding], objective: Objective | None = None) -> list[CaseFinding]:
    """Return the cases that lost too many of their runs, or of an objective's values.

    Such a case is not compared. The rule is runners.records.lost_runs.LostRuns.usable.
    """
    return [case for case in cases if not _lost_of(case, objective).usable]


def _lost_of(case: CaseFinding, objective: Objective | None) -> LostRuns:
    return case.lost if objective is None else case.lost_of(objective)


def lost_too_many(cases: Iterable[CaseFinding], objective: Objective | None = None) -> str:
    """Return which of these cases are not compared because of what they lost; empty for none."""
    lost = unusable(cases, objective)
    if not lost:
        return ""
    text = f"Not compared: {lost_by_case(lost, objective)}."
    if not any(case.summary.n for case in lost):
        return text
    return (
        f"{text} More than a tenth was lost, and which runs these are depends on how they ran, so "
        "that the others are no sample."
    )


def lost_by_case(cases: Sequence[CaseFinding], objective: Objective | None = None) -> str:
    """Return what became of the lost runs of each case."""
    return listed(each_case(cases, lambda case: _lost_of(case, objective).summary(name(case))))


def out_of_turn(cases: Iterable[CaseFinding]) -> list[CaseFinding]:
    """Return the cases that lost few runs, but did not make them in turn with their baseline."""
    return [case for case in cases if case.out_of_turn and case.lost.usable]


def order_tells_nothing(
    cases: Sequence[CaseFinding], baseline: CaseFinding, objective: Objective
) -> str:
    """Return which of these cases are not compared because of their order; empty for none.

    Their numbers are the means; an interval would be one of runs of another hour.
    """
    apart = [case for case in out_of_turn(cases) if objective in case.samples]
    if not apart:
        return ""
    return (
        f"Not compared: {ORDER}, because runs of {names(apart)} were not made in turn with those "
        f"of {name(baseline)}{_by_means(apart, baseline, objective)}. Only runs made "
        "in turn would tell."
    )


def rests_on(cases: Sequence[CaseFinding]) -> str:
    """Return in how many runs the placement of these cases is proved; empty when in all."""
    doubtful = [case for case in cases if case.placed.lost or case.placed.unseen]
    if not doubtful:
        return ""
    averaged = any(case.placed.unproved for case in doubtful)
    note = "; runs of which it is not provable are averaged" if averaged else ""
    return f"What is known of where threads ran: {_counts(doubtful)}{note}."


def _counts(cases: Sequence[CaseFinding]) -> str:
    return listed(each_case(cases, lambda case: f"{name(case)} ({case.placed.summary})"))


def start_up(case: Case, other: Case) -> str:
    """Return what differs in how two cases start, as a clause; empty where nothing does.

    Some mechanisms do a part of their work within the program's measured time.
    """
    tool = loaded_at_start(case, other)
    if not tool:
        return ""
    loaded = f"{tool} is loaded into {'it' if _within(case) else 'the other'}"
    return f"{loaded}, and what that does at start and for each thread is in the numbers"


def loaded_at_start(case: Case, other: Case) -> str:
    """Return what is loaded into the program of one of two cases alone; empty for nothing."""
    mine, theirs = (_within(of) for of in (case, other))
    return "" if mine == theirs else mine or theirs


def start_ups(cases: Sequence[CaseFinding], baseline: CaseFinding) -> str:
    """Return which cases start otherwise than their baseline; empty for none."""
    loaded = {case.case_id: loaded_at_start(case.summary, baseline.summary) for case in cases}
    unlike = [case for case in cases if loaded[case.case_id]]
    if not unlike:
        return ""
    tools = {*loaded.values()} - {""}
    return (
        f"Between {name(baseline)} and {names(unlike)} the start differs as well: "
        f"{' and '.join(sorted(tools))} is loaded into the program, and what that does at start "
        "and for each thread is in the numbers."
    )


def _within(case: Case) -> str:
    """Return the mechanism that does a part of its work within the program's time, or nothing."""
    return case.key.mechanism if case.key.mechanism in WITHIN_THE_RUN else ""


def not_compared(
    cases: Sequence[CaseFinding],
    baseline: CaseFinding | None,
    objective: Objective,
    named: str | None = None,
) -> str:
    """Return why there is no verdict; `named` is the user's mapping for the baseline."""
    noun = objective.noun
    if not any(objective in case.samples for case in cases):
        return _no_values(cases, objective)
    if baseline is None:
        return _no_baseline(cases, named)
    if reason := lost_too_many([baseline], objective):
        return f"{reason} Nothing is compared with a baseline that is none."
    if objective not in baseline.samples:
        return f"Not compared: {noun} of the baseline {name(baseline)} is not known."
    others = [case for case in cases if case is not baseline and objective in case.samples]
    if not others:
        return f"Not compared: {name(baseline)} is the only case whose {noun} was measured."
    if any(objective in case.unclear for case in others):
        return f"Not compared. {several_modes(objective, baseline, others)}"
    rest = [case for case in others if case.lost_of(objective).usable and not case.out_of_turn]
    spread = (
        f"Not compared: a spread of {noun} needs two good runs of each case, or published "
        f"deviations{_by_means(rest, baseline, objective)}."
    )
    of_order = order_tells_nothing(others, baseline, objective)
    return " ".join(
        filter(None, (of_order, spread if rest else "", lost_too_many(cases, objective)))
    )


def _no_values(cases: Sequence[CaseFinding], objective: Objective) -> str:
    """Return why no case has a value that can be compared."""
    noun = objective.noun
    if not any(case.samples for case in cases):
        return "Not compared: no run of these cases could be used."
    for factor in (ENERGY, TIME) if objective == EDP else ():
        if not any(factor in case.samples for case in cases):
            return f"Not compared: the {noun} needs {factor.noun}, which was not measured."
    if any(case.summary.stat(objective.field).n for case in cases):
        return f"Not compared: {noun} is 0 or less in some runs, which can be in no ratio."
    return f"Not compared: {noun} was not measured{_because(cases, objective)}."


def _no_baseline(cases: Sequence[CaseFinding], named: str | None) -> str:
    if named is None:
        candidates = [case for case in cases if leaves_all(case.summary)]
    else:
        candidates = [case for case in cases if case.mapping == named]
    if candidates:
        return f"Not compared: no run of {names(candidates)} could be used{_how(candidates)}."
    if named is not None:
        return (
            f"Not compared: no case under these conditions has the mapping {one_line(named)}, "
            "which --baseline names."
        )
    return (
        "Not compared: no case under these conditions leaves its threads to the OS scheduler; "
        "put the mapping scheduler into the study, or name another with --baseline."
    )


def _how(cases: Sequence[CaseFinding]) -> str:
    """Return how the runs of some cases ended, in brackets; empty where there were none."""
    ends = [
        f"{count} {status}"
        for case in cases
        for status, count in case.summary.circumstances.excluded.items()
    ]
    return f" ({one_line(', '.join(ends))})" if ends else ""


def _by_means(cases: Sequence[CaseFinding], baseline: CaseFinding, objective: Objective) -> str:
    changes = {
        case.case_id: change
        for case in cases
        if case is not baseline and (change := mean_change(case, baseline, objective))
    }
    if not changes:
        return ""
    changed = [case for case in cases if case.case_id in changes]
    sizes = each_case(changed, lambda case: f"{name(case)} {changes[case.case_id].size}")
    return f"; by the means alone, against {name(baseline)}: {', '.join(sizes)}"


def _because(cases: Sequence[CaseFinding], objective: Objective) -> str:
    reasons = dict.fromkeys(
        one_line(reason)
        for case in cases
        for reason in case.summary.circumstances.reasons.get(objective.field, ())
    )
    return f", because {joined(reasons)}" if reasons else ""


def mean_change(case: CaseFinding, baseline: CaseFinding, objective: Objective) -> Change | None:
    """Return how the means differ, where there is no interval: `8.8 % less`; None if unknown."""
    mine, theirs = case.samples.get(objective), baseline.samples.get(objective)
    if not (mine and theirs) or unusable((case, baseline), objective):
        return None
    return change_of_means(mine.mean / theirs.mean, objective)


# Smaller changes (half of a hundredth of a per cent) have no number.
_SMALLEST = 0.00005


def drift_sentences(drift: Drift | None, compared: Iterable[Comparison] = ()) -> list[str]:
    """Return sentences on trends over time and temperature, and on changes between attempts.

    Of the cases that are `compared`, those in pairs of one block are free of such trends.
    """
    if drift is None:
        return ["Without runs nothing can be said of drift."]
    sentences = [
        _trend(
            drift.over_time,
            "over time",
            "the study went on",
            "the first to the last run of an attempt",
        ),
        _trend(
            drift.over_temperature,
            "with temperature",
            "the package became warmer",
            "the coolest to the warmest",
        ),
        *_steps(drift),
    ]
    found = any(trend and trend.found for trend in (drift.over_time, drift.over_temperature))
    if found and any(comparison.difference.paired for comparison in compared):
        sentences.append(
            "Where cases are compared within blocks of runs, a drift falls on both of them alike."
        )
    return sentences


def detected_drift(drift: Drift | None) -> list[str]:
    """Return the trends and changes that were found, a sentence each."""
    if drift is None:
        return []
    over_time, over_temperature = drift_sentences(drift)[:2]
    return [
        *([over_time] if drift.over_time and drift.over_time.found else []),
        *([over_temperature] if drift.over_temperature and drift.over_temperature.found else []),
        *_steps(drift),
    ]


def _steps(drift: Drift) -> list[str]:
    return [
        f"From attempt {step.before} to attempt {step.after} runs became "
        f"{_slower(step.trend)} by {_size(step.trend.change)} ({_ends(step.trend)})."
        for step in drift.steps
    ]


def _trend(trend: Trend | None, over: str, meanwhile: str, span: str) -> str:
    if trend is None:
        return f"Whether runs drifted {over} cannot be told: too few runs, or nothing to go by."
    if trend.found:
        return (
            f"Runs became {_slower(trend)} as {meanwhile}: by {_size(trend.change)} from "
            f"{span} ({_ends(trend)}; {trend.n} runs)."
        )
    if 0.0 in trend.interval:
        return f"No drift {over} was found (from {span}, {_ends(trend)}; {trend.n} runs)."
    return (
        f"No drift {over} was found: a line through the {trend.n} runs rises or falls (from "
        f"{span}, {_ends(trend)}), but their ranks do not, so that a few runs make it."
    )


def _slower(trend: Trend) -> str:
    return "slower" if trend.slope > 0 else "faster"


def _ends(trend: Trend) -> str:
    with np.errstate(over="ignore"):
        low, high = np.expm1(np.array([trend.interval.low, trend.interval.high]) * trend.span)
    return f"95 % interval {' to '.join(percent_ends(float(low), float(high)))}"


def _size(share: float) -> str:
    return "less than 0.01 %" if abs(share) < _SMALLEST else percent(abs(share))
