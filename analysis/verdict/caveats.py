"""Sentences on what limits a comparison, or why there is none: lost runs, slow ones, drift."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from analysis.format.numbers import (
    fixed,
    percent,
    percent_ends,
    signed_in_percent,
)
from analysis.objectives import Objective
from analysis.results.case import Case
from analysis.statistics.drift import Drift, Trend
from analysis.statistics.modes import Modes
from analysis.verdict.case_caveats import loaded_at_start
from analysis.verdict.decisions import unlike_means as unlike_means
from analysis.verdict.model import CaseFinding, Decision
from analysis.verdict.phrases import (
    each_case,
    listed,
    name,
    names,
)
from configs.mapping import WITHIN_THE_RUN
from runners.records.lost_runs import LostRuns

# So many times are whole, because more digits of a ratio of deviations are not known.
TIMES_FROM_WHOLE = 10


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


def unlike_answers(verdicts: Iterable[Decision]) -> str:
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


def start_up(case: Case, other: Case) -> str:
    """Return what differs in how two cases start, as a clause; empty where nothing does.

    Some mechanisms do a part of their work within the program's measured time.
    """
    tool = loaded_at_start(case, other)
    if not tool:
        return ""
    loaded = f"{tool} is loaded into {'it' if _within(case) else 'the other'}"
    return f"{loaded}, and what that does at start and for each thread is in the numbers"


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


def detected_drift(drift: Drift | None) -> list[str]:
    """Return the trends and changes that were found, a sentence each."""
    if drift is None:
        return []
    trends = (
        (drift.over_time, "the study went on", "the first to the last run of an attempt"),
        (drift.over_temperature, "the package became warmer", "the coolest to the warmest"),
    )
    return [
        *(
            f"Runs became {_slower(trend)} as {meanwhile}: by {_size(trend.change)} from {span} "
            f"({_ends(trend)}; {trend.n} runs)."
            for trend, meanwhile, span in trends
            if trend and trend.found
        ),
        *(
            f"From attempt {step.before} to attempt {step.after} runs became "
            f"{_slower(step.trend)} by {_size(step.trend.change)} ({_ends(step.trend)})."
            for step in drift.steps
        ),
    ]


# Smaller changes (half of a hundredth of a per cent) have no number.
_SMALLEST = 0.00005


def _slower(trend: Trend) -> str:
    return "slower" if trend.slope > 0 else "faster"


def _ends(trend: Trend) -> str:
    with np.errstate(over="ignore"):
        low, high = np.expm1(np.array([trend.interval.low, trend.interval.high]) * trend.span)
    return f"95 % interval {' to '.join(percent_ends(float(low), float(high)))}"


def _size(share: float) -> str:
    return "less than 0.01 %" if abs(share) < _SMALLEST else percent(abs(share))
