"""Findings in words: one short template a code, for terminal, Markdown and report.

They decide nothing. A template is one clause; what needs a second clause is a second note. Numbers
are rounded here and nowhere before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from analysis.advice.model import Advice, AdviceCaveat, AdviceCaveatCode, names_of
from analysis.findings.answers import Answers
from analysis.findings.best_cases import BestCase
from analysis.findings.effects import Effect
from analysis.findings.levers import FACTORS, Factor, Level, Lever, LeverPair, range_of
from analysis.findings.one_for_all import Default, Loss, OneForAll
from analysis.format.numbers import (
    ends,
    fixed,
    in_percent,
    mean_count,
    percent,
    percent_ends,
    signed_in_percent,
    signed_percents,
    three_digits,
)
from analysis.format.table import joined
from analysis.measures import BY_FIELD
from analysis.objectives import ENERGY, TIME, Objective
from analysis.results.case import Case, grouped
from analysis.statistics.sample import Interval
from analysis.verdict.model import (
    Caveat,
    Decision,
    Findings,
    Gain,
    LargestGain,
    MeasureChange,
    TableFindings,
)
from analysis.verdict.phrases import WIDEST, do
from base.text import one_line, plural
from base.units import duration
from runners.records.race.confirmation import MIN_PAIRS

QUESTION = "To pin or not to pin?"
_MAX_NEIGHBOURS = 3
# So many times are whole, because more digits of a ratio of deviations are not known.
_WHOLE_FROM = 10
Facts = Mapping[str, Any]


def _percent_of(ratio: float, digits: int = 2) -> str:
    return f"{signed_in_percent(ratio - 1, digits)} %"


def _counts(by_cause: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in by_cause.items())


def _because(reasons: Sequence[str]) -> str:
    return "; ".join(reasons) or "no reason given"


def _with_unit(value: float, unit: str) -> str:
    """Return a value with four digits that count, and without an exponent."""
    digits = np.format_float_positional(value, precision=4, fractional=False, trim="-")
    return f"{digits} {unit}".rstrip()


def _modes(n: int, noun: str, modes: Iterable[tuple[int, str]]) -> str:
    """Return each mode's count and value: `2 of 10 about 0.95 s and 8 about 1.05 s`."""
    (count, first), *others = modes
    parts = [f"{count} of {n}{noun} about {first}", *(f"{n} about {text}" for n, text in others)]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _fold(times: float) -> str:
    """Return how many times one deviation is another: `2.3`, `1/2.3`."""
    if times < 1:
        return f"1/{_fold(1 / times)}"
    return fixed(times, 0 if times >= _WHOLE_FROM else 1)


def _longer(facts: Facts) -> str:
    least, most = (in_percent(facts[name], 2) for name in ("least", "most"))
    return least if least == most else f"{least} to {most}"


def _tasks(tasks: Sequence[Facts]) -> str:
    parts = [
        f"{task['command']} ({plural(task['runs'], 'run')}, up to {task['most_s']:.2f} s)"
        for task in tasks[:_MAX_NEIGHBOURS]
    ]
    more = len(tasks) - len(parts)
    return ", ".join([*parts, *([f"{more} more"] if more else [])])


def _against_others(facts: Facts) -> str:
    text = f"these took {_percent_of(facts['ratio'])} against the others"
    if facts["ratio_low"] is None:
        return text
    low, high = percent_ends(facts["ratio_low"] - 1, facts["ratio_high"] - 1)
    return f"{text} ({low} to {high})"


def _lost_too_many(facts: Facts) -> str:
    runs = f" of {plural(facts['runs'], 'run')}" if facts["runs"] is not None else " runs"
    return f"not compared: {facts['lost']}{runs} lost, more than a tenth"


def _equal_values(facts: Facts) -> str:
    mine, theirs = (_with_unit(facts[of], facts["unit"]) for of in ("value", "baseline_value"))
    return f"no spread: {mine} in each of {facts['n']} runs, {theirs} in the baseline's"


TEMPLATES: Mapping[str, str | Callable[[Facts], str]] = {
    # Of a case's runs.
    "left out": lambda facts: f"left out: {facts['reason'] or 'no reason given'}",
    "lost runs": lambda facts: f"lost: {_counts(facts['by_cause'])}",
    "placement not looked at": lambda facts: (
        f"placement not looked at in {plural(facts['runs'], 'run')}"
    ),
    "disturbed": "{runs} of {n} runs {disturbance}",
    "neighbours": lambda facts: f"most often {_tasks(facts['tasks'])}",
    "disturbed against others": _against_others,
    # Of its values.
    "modes": lambda facts: "several modes: " + _modes(
        facts["n"], "", ((mode["runs"], _with_unit(mode["about"], facts["unit"]))
                         for mode in facts["modes"]),
    ),
    "modes of pairs": lambda facts: "several modes: " + _modes(
        facts["n"], " pairs", ((mode["pairs"], _percent_of(mode["ratio"]))
                               for mode in facts["modes"]),
    ),
    "modes on the card": "several modes: {said}",
    "no typical value": "no outcome: chance decides which mode is typical",
    "slow runs": lambda facts: (
        f"{facts['runs']} of {facts['n']} runs slow, {_longer(facts)} % beyond the median"
    ),
    "many slow runs": "so many slow runs leave uncertain what is typical",
    "outlier": lambda facts: (
        f"outlier: run {facts['repetition']}, {_with_unit(facts['value'], facts['unit'])}"
    ),
    # Why there is no comparison.
    "lost too many": _lost_too_many,
    "out of turn": "not made in turn with the baseline",
    "not measured": lambda facts: f"not measured: {_because(facts['reasons'])}",
    "factor not measured": "{measure} was not measured",
    "zero or less": "0 or less in some runs, which can be in no ratio",
    "no spread known": "a spread needs two good runs of each case, or published deviations",
    "no usable run": lambda facts: (
        f"no run could be used: {_counts(facts['excluded']) or 'none was made'}"
    ),
    "no use of the baseline": "nothing is compared with a baseline that is none",
    "only case": "no other case was measured",
    "no baseline": "no mapping leaves its threads to the OS scheduler; --baseline names another",
    "no such baseline": "no case has the mapping {mapping}, which --baseline names",
    "several results": lambda facts: (
        f"the results of several nodes or studies stand in one folder: {', '.join(facts['names'])}"
    ),
    "fixed time": lambda facts: "the program runs as long as it is told" + (
        f"; compared by {', '.join(facts['compared_by'])}" if facts["compared_by"]
        else "; a metric is compared where the app says `better:` of it"
    ),
    # Of a comparison.
    "loaded at start": "{tool} is loaded into one of both, and its start is in the numbers",
    "means disagree": lambda facts: (
        f"{_percent_of(facts['mean_ratio'], 3)} by the means, which rare runs move"
    ),
    "unlike means": lambda facts: (
        f"means alone, of runs that spread {_fold(facts['times'])} times as much"
    ),
    "unlike spread": lambda facts: (
        f"spreads {_fold(facts['times'])} times as much as the baseline"
    ),
    "share of slow runs": "another share of slow runs than the baseline (p = {p:.2g})",
    "no attempt of both": "no attempt made runs of both",
    "boots or days": "pairs of {count} boots or days, which the interval covers",
    "equal values": _equal_values,
    "equal ratios": "no interval: most pairs of runs have the very same ratio",
    "equal middles": "no interval: most runs of each have the very same value",
    "two runs decide nothing": "two runs decide nothing",
    "corrected": lambda facts: (
        f"p = {facts['p']:.2g} after correction for {plural(facts['comparisons'], 'comparison')} "
        "and looks"
    ),
    "more repetitions": "{half} to {most} more repetitions would decide",
    "more boots": "more boots or days would tell more than more repetitions",
    "no forecast": "even a thousand repetitions might not decide",
    # Of a co-runner.
    "no case alone": "not measured: the study has no case of it with nothing beside it",
    "co-runner not measured": lambda facts: (
        f"not measured in {plural(facts['runs'], 'run')}: {_because(facts['reasons'])}"
    ),
    "no two samples": "not measured: fewer than two usable runs, several modes, or not in turn",
}  # fmt: skip


def note(caveat: Caveat) -> str:
    """Return a caveat as one clause."""
    template = TEMPLATES[caveat.code]
    text = template.format_map(caveat.facts) if isinstance(template, str) else None
    return one_line(text if text is not None else template(caveat.facts))  # type: ignore[operator]


def decision(found: Decision) -> str:
    """Return what to do in a configuration, or that nothing is decided."""
    if found.best is None:
        return found.choice
    return one_line(f"{do(found.best.summary)} ({found.best.full_mapping})")


def decision_notes(found: Decision) -> Iterator[str]:
    """Yield what a decision gains, what would do as well, and its doubts."""
    if found.gain:
        yield f"gain: {gain_text(found.gain)}"
    for outcome, start in (
        ("equivalent", "as good"),
        ("undecided", "not told from it"),
        ("better", "may be better still"),
    ):
        if same := [rival.case for rival in found.as_good if rival.outcome == outcome]:
            yield one_line(f"{start}: {', '.join(case.full_mapping for case in same)}")
    if found.unlike_means > 1:
        yield (
            "not sure: only means are known, of runs that spread up to "
            f"{_fold(found.unlike_means)} times as much as others"
        )
    yield from map(note, _of_all(found))


def _of_all(found: Decision) -> list[Caveat]:
    """Return what a configuration lacks; what one case lacks stands in its row."""
    whole = ("no usable run", "no use of the baseline", "only case")
    return [caveat for caveat in found.lacking if not caveat.cases or caveat.code in whole]


def goes_with(found: Decision) -> str:
    """Return what else differs in the case that a decision is explained by; empty for nothing."""
    if found.explained is None or not found.goes_with:
        return ""
    changes = ", ".join(map(_measure_change, found.goes_with))
    return one_line(f"goes with {found.explained.full_mapping}, no proved cause: {changes}")


def gain_text(gain: Gain) -> str:
    """Return a gain with its interval: `-10.1 % (95 %: -10.3 to -9.9)`."""
    interval = gain.interval
    if interval is None:
        return f"{_percent_of(gain.ratio, 3)} (no interval)"
    chosen = f", widened for the choice among {gain.among}" if gain.among > 1 else ""
    if not interval.high < WIDEST * interval.low:
        return f"{_percent_of(gain.ratio, 3)} (wider than a factor of {WIDEST:.0f}{chosen})"
    change, both = signed_percents(gain.ratio - 1, interval.low - 1, interval.high - 1)
    return f"{change} % (95 %: {' to '.join(both)}{chosen})"


def _measure_change(change: MeasureChange) -> str:
    measure = BY_FIELD[change.measure]
    values = change.baseline, change.mean
    if change.kind:
        first, second = (fixed(100 * value, 1) for value in values)
        return f"CPU time on {change.kind} {first} to {second} %"
    if change.measure == "freq_mean_ghz":
        decimals = 2 if len({f"{value:.2f}" for value in values}) > 1 else 3
        first, second = (fixed(value, decimals) for value in values)
    elif change.measure == "cache_misses":
        return f"{measure.noun} {signed_in_percent(values[1] / values[0] - 1, 2)} %"
    else:
        first, second = map(mean_count, values)
    return f"{measure.noun} {first} to {second} {measure.unit}".rstrip()


def headline(findings: Findings) -> list[str]:
    """Return the decisions in a line for each objective, and where most is gained.

    Of cases that raced it is what their advice says.
    """
    if findings.raced:
        return list(findings.headline)
    found = [decision for table in findings.tables for decision in table.decisions]
    lines = [
        line
        for decisions in grouped(found, lambda decision: decision.objective.identity)
        for line in _decisions(decisions)
    ]
    return [*lines, *map(_largest_gain, findings.largest_gains)] or ["Decision: not compared"]


def _decisions(found: Sequence[Decision]) -> Iterator[str]:
    """Yield the decisions of an objective, counted, or why nothing is compared."""
    start, all_ = f"Decision, {found[0].objective.noun}: ", plural(len(found), "configuration")
    if any(of.choice != "not compared" for of in found):
        counts = Counter(map(_choice, found)).most_common()
        parts = [f"{choice} in {count}" for choice, count in counts]
        many = one_line(f"{', '.join(parts)} of {all_}", None)
        yield f"{start}{decision(found[0]) if len(found) == 1 else many}"
        return
    # Rows say what a single case lacks.
    notes = Counter(note(caveat) for of in found for caveat in _of_all(of))
    for text, count in notes.items():
        yield f"{start}not compared in {count} of {all_}: {text}"
    if not notes:
        yield f"{start}not compared"


def _choice(found: Decision) -> str:
    if found.best is None:
        return found.choice
    under = f" [{words}]" if (words := found.best.summary.key.scheduling) else ""
    return f"{found.choice} ({found.best.full_mapping}{under})"


def _largest_gain(largest: LargestGain) -> str:
    key = largest.case.summary.key
    beside = f", beside {key.beside}" if key.beside else ""
    under = f" [{key.scheduling}]" if key.scheduling else ""
    read = largest.case.summary.circumstances.governors_read
    governor = (
        f"{key.governor} ({', '.join(read)})"
        if key.governor == "current" and read
        else (key.governor)
    )
    return one_line(
        f"Largest gain, {largest.objective.noun}: {largest.table.key.app}, "
        f"{largest.table.key.threads_in_words}, {governor}{beside}: "
        f"{largest.case.full_mapping}{under} {gain_text(largest.gain)}",
        None,
    )


def program_notes(table: TableFindings) -> Iterator[str]:
    """Yield what no configuration's table has of a program: the front of time and energy."""
    front = [case.label for case in table.cases if case.on_front]
    measured = sum(case.has_time_and_energy for case in table.cases)
    # Of cases that raced the advice has it, with how little is known of those that ended early.
    if front and measured > 1 and table.decisions:
        yield one_line(
            f"Pareto front of time and energy, by the means of {measured} cases: "
            f"{', '.join(front)}", None,
        )  # fmt: skip


def p_value(p: float) -> str:
    """Return a p-value with two digits; none is told below a thousandth."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"


LEVERS, ONE_FOR_ALL, FASTEST, LEAST_ENERGY = "Levers", "One for all", "Fastest", "Least energy"
_BEST = {TIME: FASTEST, ENERGY: LEAST_ENERGY}
# What a case has that does not ask for a level of a factor.
_NOTHING_ASKED: Mapping[Factor, str] = {
    "co_runner": "alone",
    "sched_ext": "as it is",
    "energy_aware": "as it is",
    "itmt": "as it is",
    "schedule": "none",
}
# An end beyond says nothing that a reader could use.
_MOST_PERCENT = 999.0


def answer_lines(
    answers: Answers, cases: Sequence[Case], margin: float
) -> Iterator[tuple[str, list[str]]]:
    """Yield a label for the margin with its texts, a line each.

    `cases` are those of all results; a gain within the margin, a share, is none. A command line
    stands between backticks.
    """
    yield LEVERS, list(_lever_lines(answers.levers))
    yield ONE_FOR_ALL, list(_one_for_all_lines(answers.one_for_all))
    names = names_of(cases)
    for objective, label in _BEST.items():
        best = [of for of in answers.best if of.objective == objective]
        yield label, list(chain.from_iterable(_best_lines(of, names, margin) for of in best))


def _lever_lines(levers: Sequence[Lever]) -> Iterator[str]:
    for factor in FACTORS:
        mine = [lever for lever in levers if lever.factor == factor]
        if factor == "mapping":
            # The grid has each of them.
            for of in grouped(mine, lambda lever: lever.reference):
                pairs = [pair for lever in of for pair in lever.pairs]
                yield f"mapping against {_level(factor, of[0].reference)}: {_ranges(pairs)}"
            continue
        # What other mappings make of it is in the tables.
        for lever in [of for of in mine if of.is_default] or mine:
            where = "" if lever.is_default else " under other mappings"
            change = f"{name_of_factor(factor)} {change_of_lever(lever)}"
            yield f"{change}{where}: {_ranges(lever.pairs)}"


def _ranges(pairs: Sequence[LeverPair]) -> str:
    """Return between what time and energy change, and of how many pairs."""
    parts = [
        f"{objective.short} {_between(pairs, objective)}"
        for objective in (TIME, ENERGY)
        if range_of(pairs, objective) is not None
    ]
    compared = sum(bool(pair.effects) for pair in pairs)
    count = plural(len(pairs), "pair")
    if compared < len(pairs):
        count = f"{compared} of {count} compared"
    return f"{', '.join(parts) or 'not compared'}; {count}"


def _between(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    assert found is not None
    if found.interval is None:
        return f"{percents(Interval(found.low, found.high))} (no interval)"
    return percents(found.interval)


def percents(interval: Interval) -> str:
    """Return two ratios as changes, with a word between: `+25 to +57 %`, `+45 %`."""
    low, high = (_signed(end) for end in (interval.low, interval.high))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _signed(ratio: float) -> str:
    """Return a ratio as a change in per cent, with its sign and two digits."""
    share = ratio - 1
    if share > _MOST_PERCENT / 100:
        return f"over +{_MOST_PERCENT:.0f}"
    return signed_in_percent(share, 2)


def change_of_lever(lever: Lever) -> str:
    """Return a lever's change: `powersave against performance`."""
    level, reference = (_level(lever.factor, of) for of in (lever.level, lever.reference))
    return f"{level} against {reference}"


def name_of_factor(factor: Factor) -> str:
    """Return a factor as people name it: `co-runner`."""
    return factor.replace("_", "-" if factor == "co_runner" else " ").replace(
        "sched ext", "sched_ext"
    )


def _level(factor: Factor, level: Level) -> str:
    return _NOTHING_ASKED.get(factor, "none") if level is None else one_line(str(level))


def _one_for_all_lines(found: Iterable[OneForAll]) -> Iterator[str]:
    for answer in found:
        if answer.objective not in _BEST or len(answer.configurations) < 2:
            continue
        best, where = answer.defaults[0], " in guests" if answer.in_guests else ""
        noun = "" if answer.objective == TIME else f" for {answer.objective.short}"
        yield (
            f"{one_line(best.mapping)}{noun}{where}: up to {_lost(best.worst.ratio)} behind the "
            f"best of each configuration ({_ends(best.worst)}), {_lost(best.mean.ratio)} on "
            f"average{_absent(best)}"
        )


def _lost(ratio: float) -> str:
    return f"{in_percent(ratio - 1, 2)} %"


def _ends(loss: Loss) -> str:
    """Return both ends of a loss's interval: `95 %: 12 to 14`."""
    if loss.interval is None:
        return "no interval"
    low, high = loss.interval.low - 1, loss.interval.high - 1
    both = ends(low, high, lambda end, more: in_percent(end, 2 + more))
    return f"95 %: {' to '.join(dict.fromkeys(both))}"


def _absent(default: Default) -> str:
    total = default.compared + sum(default.missing.values())
    parts = []
    if default.missing:
        reasons = ", ".join(f"{why} {count}" for why, count in default.missing.items())
        parts.append(f"compared in {default.compared} of {total} ({reasons})")
    if default.against_fewer:
        parts.append(f"another mapping is missing in {default.against_fewer}")
    return "".join(f"; {part}" for part in parts)


def _best_lines(best: BestCase, names: Mapping[str, str], margin: float) -> Iterator[str]:
    """Yield the best case and its command line; nothing where it gains nothing that matters."""
    if best.effect is None or best.reference is None or not best.gains(margin):
        return
    name = names[best.case.key.case_id]
    # Of the reference only what is different.
    reference = names_of([best.case, best.reference])[best.reference.key.case_id]
    value = f"{three_digits(best.value)} {best.objective.unit}"
    change = _effect(best.effect, best.interval)
    yield one_line(f"{name}: {value}, {change} against {reference}{_doubts(best)}", None)
    if best.line:
        yield f"`{one_line(best.line, None)}`"


def _effect(effect: Effect, interval: Interval | None) -> str:
    if interval is None:
        return f"{_signed(effect.ratio)} % by means alone"
    return percents(interval)


def _doubts(best: BestCase) -> str:
    parts = []
    if best.also:
        parts.append(f"not shown to be worse: {plural(len(best.also), 'case')}")
    # What was never run is told elsewhere, and of means alone nothing is shown.
    lost = sum(count for why, count in best.missing.items() if why != "left out")
    lost += len(best.unknown) if best.interval else 0
    if lost:
        parts.append(f"{plural(lost, 'case')} not compared")
    return "".join(f"; {part}" for part in parts)


NOW = "as you start it now"
# What stands before a command that has to be given first.
SETTING = "first, as root:"
_CAVEATS: Mapping[AdviceCaveatCode, str] = {
    "mostly disturbed": "for now: {count} of {runs} runs were disturbed; on a quiet node: "
    "`{next} --fresh`",
    "disturbed": "{count} of {runs} runs {names}",
    "oversubscribed": "{threads} threads on {cpus} CPUs: oversubscribed",
    "unset": "measured without your {names}",
    "setting": f"{SETTING} {{text}}",
    "loaded": "{names}: part of its work at start is in the numbers",
    "placement": "{names}: {lost} of {runs} runs lost to placement",
    "noise": "one run differs from the next by {deviation} (standard deviation)",
    "noisy first runs": "{cases} ruled out after one run: safe up to {most_deviation} of noise",
    "attempts": "runs of {attempts} attempts: what changed between them is in the change",
    "drift": "runs changed over {names}: {change} (95 %: {low} to {high})",
    "slow runs": "slow runs: {best} of {best_runs} of the best, {reference} of {reference_runs} "
    "of now",
}
# Why a case was ruled out, by the race's word for it.
RULED_OUT: Mapping[str, str] = {
    "not best": "another case promised more when the best was chosen",
    "worse": "worse than the best, with the confidence of all such decisions together",
    "far worse": "so far behind after one run that noise is not the reason",
    "not placed": "more than a tenth of its runs lost to placement",
    "same threads": "it starts as many threads as now, whatever it is told",
    "failed": "its run was not good",
    "cannot run": "the node cannot run it now",
    "no time": "no time or run was left for it",
}
_SHARES = ("deviation", "most_deviation")
_CHANGES = ("change", "low", "high")


def advice_headline(advice: Advice) -> str:
    """Return what to do in one line, with the case and its gain."""
    if advice.state.decision in ("unfinished", "no reference"):
        return advice_result(advice)
    case = advice.best if advice.state.decision == "gain" and advice.best else advice.reference
    return f"{case.name}: {advice_result(advice)}"


def advice_result(advice: Advice) -> str:
    """Return the gain of the command, or why it is left as it is, in one line."""
    state = advice.state
    if state.decision == "unfinished":
        most = "" if state.most_runs is None else f" of at most {state.most_runs}"
        limit = duration(advice.rule.within_s)
        within = f" in {duration(state.spent_s)} of at most {limit}" if advice.rule.timed else ""
        runs = plural(advice.runs_made, "run")
        return f"unfinished: {runs}{most}{within}; go on with `{advice.next_command}`"
    if state.decision == "no reference":
        why = f" ({advice.why_no_reference})" if advice.why_no_reference else ""
        again = f"`{advice.next_command} --fresh`"
        return f"no answer: {NOW} it had no good run{why}; mend it, then {again}"
    if state.decision == "gain":
        return joined([f"{_gain(advice)} than {NOW} ({_gain_ends(advice)})", *_of_trial(advice)])
    if not advice.compared:
        return f"{NOW}: no other case could be compared"
    margin = percent(advice.rule.margin)
    shown = f"{NOW}: nothing tried was shown to be better by more than {margin}"
    return joined([shown, *_of_trial(advice)])


def _of_trial(advice: Advice) -> Iterator[str]:
    """Yield how many runs the answer rests on, and whether the node was quiet."""
    if advice.confirmation:
        yield f"{plural(advice.confirmation.pairs, 'run')} of each"
    if advice.caveat("mostly disturbed"):
        yield "the node was not quiet"
    elif advice.disturbed_runs:
        yield f"{advice.disturbed_runs} of {plural(advice.trial_runs, 'run')} disturbed"
    elif advice.trial_runs:
        yield "the node was quiet"


def _gain(advice: Advice) -> str:
    """Return the typical change in words: `13 % less time`."""
    assert advice.difference is not None
    ratio = advice.difference.ratio
    less, more = ("less", "more") if advice.objective.counted else ("lower", "higher")
    return f"{percent(abs(ratio - 1))} {more if ratio > 1 else less} {advice_noun(advice)}"


def advice_noun(advice: Advice) -> str:
    """Return what was raced for in a word or two."""
    noun = advice.objective.noun
    return f"{noun} of region {advice.rule.region}" if advice.rule.region else noun


def _gain_ends(advice: Advice) -> str:
    """Return both ends of the interval of a gain: `95 %: 9 to 17 %`."""
    if advice.gains is None:
        return "no interval"
    both = ends(advice.gains.low, advice.gains.high, lambda end, more: in_percent(end, 2 + more))
    return f"95 %: {' to '.join(both)} %"


def advice_best_tried(advice: Advice) -> str:
    """Return how the best case did that is not recommended; empty without one."""
    if advice.best is None or advice.state.decision in ("gain", "unfinished", "no reference"):
        return ""
    name = f"best tried: {advice.best.name}"
    if advice.difference is None:
        return f"{name}: no room for enough runs"
    change = f"{name}: {advice_noun(advice)} {advice_change(advice.difference.ratio)}"
    if advice.state.p is None and advice.confirmation:
        return f"{change} in {advice.confirmation.pairs} of {MIN_PAIRS} runs that are needed"
    return f"{change}{_reach(advice)}"


def _reach(advice: Advice) -> str:
    interval = advice.confirmation.interval if advice.confirmation else None
    if interval is None:
        return " (no interval: equal values)"
    split = "; not both typically and by the mean" if advice.state.decision == "split" else ""
    return f" (95 %: {advice_interval(interval)}{split})"


def advice_change(ratio: float) -> str:
    """Return a ratio as a change in per cent with its sign: `-12 %`."""
    return f"{signed_in_percent(ratio - 1, 2)} %"


def advice_interval(interval: Interval) -> str:
    """Return both ends of the interval of a ratio as changes: `-17 to -9 %`."""
    low, high = percent_ends(interval.low - 1, interval.high - 1)
    return f"{low.removesuffix(' %')} to {high}"


def advice_more(advice: Advice) -> str:
    """Return what would decide, and the command that goes on; empty where more would not."""
    if not advice.limited_by:
        return ""
    now = advice.state.most_runs if advice.limited_by == "runs" else duration(advice.rule.within_s)
    return (
        f"undecided: raise `{advice.limited_by}` ({now} now) and go on with `{advice.next_command}`"
    )


def advice_caveat(caveat: AdviceCaveat, advice: Advice) -> str:
    """Return a caveat in one line."""
    numbers = {name: _number(name, value) for name, value in caveat.numbers.items()}
    names, text = ", ".join(caveat.names), caveat.text
    template = _CAVEATS[caveat.code]
    return one_line(
        template.format(names=names, text=text, next=advice.next_command, **numbers), None
    )


def _number(name: str, value: float) -> str:
    if name in _SHARES:
        return percent(value)
    return f"{signed_in_percent(value, 2)} %" if name in _CHANGES else f"{value:.0f}"
