"""Findings in words: one short template a code, for terminal, Markdown and report.

They decide nothing. A template is one clause; what needs a second clause is a second note. Numbers
are rounded here and nowhere before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pinstudy.analysis.findings.glance import decision_overview
from pinstudy.analysis.format.numbers import (
    NOTHING,
    ends,
    energy_decimals,
    fixed,
    in_percent,
    mean_count,
    metric_decimals,
    percent_ends,
    signed_percent,
    signed_percents,
    time_decimals,
)
from pinstudy.analysis.measures import BY_FIELD
from pinstudy.analysis.objectives import EDP, ENERGY, TIME, Objective
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import WIDEST, Interval
from pinstudy.analysis.verdict.model import (
    Caveat,
    Comparison,
    Decision,
    Findings,
    Gain,
    LargestGain,
    MeasureChange,
    TableFindings,
)
from pinstudy.analysis.words.mappings import instruction
from pinstudy.analysis.words.programs import program_names
from pinstudy.base.text import one_line, plural
from pinstudy.base.units import duration

QUESTION = "To pin or not to pin?"
_MAX_NEIGHBOURS = 3
# So many times are whole, because more digits of a ratio of deviations are not known.
_WHOLE_FROM = 10
Facts = Mapping[str, Any]

RATIO_DECIMALS = 3
MAX_RATIO_DECIMALS = 9


def _percent_of(ratio: float, digits: int = 2) -> str:
    return signed_percent(ratio - 1, digits)


def _counts(by_cause: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in by_cause.items())


def _because(reasons: Sequence[str]) -> str:
    return "; ".join(reasons) or "no reason given"


def with_unit(value: float, unit: str) -> str:
    """Return a value with four digits that count, and without an exponent."""
    digits = np.format_float_positional(value, precision=4, fractional=False, trim="-")
    return f"{digits} {unit}".rstrip()


def modes_text(n: int, noun: str, modes: Iterable[tuple[int, str]]) -> str:
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


def _outliers(facts: Facts) -> str:
    runs = ", ".join(map(str, facts["repetitions"]))
    if len(facts["repetitions"]) == 1:
        return f"outlier: run {runs}, {with_unit(facts['most'], facts['unit'])}"
    least, most = (with_unit(facts[name], "") for name in ("least", "most"))
    return f"outliers: runs {runs}, {least} to {most} {facts['unit']}".rstrip()


def _lost_too_many(facts: Facts) -> str:
    runs = f" of {plural(facts['runs'], 'run')}" if facts["runs"] is not None else " runs"
    return f"not compared: {facts['lost']}{runs} lost, more than a tenth"


def _equal_values(facts: Facts) -> str:
    mine, theirs = (with_unit(facts[name], facts["unit"]) for name in ("value", "baseline_value"))
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
    "case before": lambda facts: (
        f"times depend on the case before (up to {signed_percent(facts['change'], 2)} after "
        f"{facts['label']})"
    ),
    "moved by the case before": lambda facts: (
        f"the order of runs moved this by {signed_percent(facts['shift'], 2)}: use "
        "`order: balanced`"
    ),
    # Of its values.
    "modes": lambda facts: "several modes: " + modes_text(
        facts["n"], "", ((mode["runs"], with_unit(mode["about"], facts["unit"]))
                         for mode in facts["modes"]),
    ),
    "modes of pairs": lambda facts: "several modes: " + modes_text(
        facts["n"], " pairs", ((mode["pairs"], _percent_of(mode["ratio"]))
                               for mode in facts["modes"]),
    ),
    "modes on the card": "several modes: {said}",
    "no typical value": "no outcome: chance decides which mode is typical",
    "slow runs": lambda facts: (
        f"{facts['runs']} of {facts['n']} runs slow, {_longer(facts)} % beyond the median"
    ),
    "many slow runs": "so many slow runs leave uncertain what is typical",
    "outliers": _outliers,
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
    "unlike power supply": lambda facts: (
        f"ran on {' and '.join(facts['supplies'])}, the baseline on "
        f"{' and '.join(facts['baseline_supplies'])}"
    ),
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
        "and interim analyses"
    ),
    "more repetitions": "{half} to {most} more repetitions would decide",
    "more boots": "more boots or days would tell more than more repetitions",
    "boots that cost least": lambda facts: (
        f"{facts['boots']} boots x {plural(facts['runs'], 'run')} cost least for "
        f"±{in_percent(facts['margin'], 6)} %: {duration(facts['cost_s'])} in all"
    ),
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
    return one_line(f"{instruction(found.best.summary)} ({found.best.full_mapping})")


def decision_notes(found: Decision) -> Iterator[str]:
    """Yield what a decision gains, what would do as well, and its doubts."""
    if found.gain:
        yield f"gain: {gain_text(found.gain)}"
    for outcome, start in (
        ("equivalent", "equivalent"),
        ("undecided", "not distinguishable"),
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
    if interval.tells_nothing:
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
        return f"{measure.noun} {_percent_of(values[1] / values[0])}"
    else:
        first, second = map(mean_count, values)
    return f"{measure.noun} {first} to {second} {measure.unit}".rstrip()


def decision_lines(findings: Findings) -> list[str]:
    """Return the decisions in a line for each objective, and where most is gained.

    Of cases that raced it is what their advice says.
    """
    if findings.raced:
        return list(findings.decision_lines)
    found = [decision for table in findings.tables for decision in table.decisions]
    by_objective = list(grouped(found, lambda decision: decision.objective.identity))
    lines = [line for decisions in by_objective for line in _decisions(findings, decisions)]
    # Of one configuration its table has it.
    several = any(len(decisions) > 1 for decisions in by_objective)
    gains = findings.largest_gains if several else ()
    name_of = program_names([table.key for table in findings.tables])
    return [*lines, *(_largest_gain(gain, name_of) for gain in gains)] or ["Decision: not compared"]


def _decisions(findings: Findings, found: Sequence[Decision]) -> Iterator[str]:
    """Yield the decisions of an objective, counted, or why nothing is compared."""
    start, total = f"Decision, {found[0].objective.noun}: ", plural(len(found), "configuration")
    overview = decision_overview(findings, {}, found[0].objective)
    if overview.total:
        if len(found) == 1:
            yield f"{start}{decision(found[0])}"
            return
        parts = [
            f"{instruction.act} ({instruction.mapping}) in {len(instruction.configurations)}"
            for instruction in overview.instructions
        ]
        parts += [f"undecided in {overview.undecided}"] * bool(overview.undecided)
        left = len(found) - overview.total
        parts += [f"not compared in {left}"] * bool(left)
        yield one_line(f"{start}{', '.join(parts)} of {total}", None)
        return
    # Rows say what a single case lacks.
    notes = Counter(note(caveat) for item in found for caveat in _of_all(item))
    where = f" in {total}" if len(found) > 1 else ""
    reasons = (
        text if count == len(found) else f"{text} (in {count})" for text, count in notes.items()
    )
    yield f"{start}not compared{where}{': ' * bool(notes)}{'; '.join(reasons)}"


def _largest_gain(largest: LargestGain, name_of: Callable[[TableKey], str]) -> str:
    key = largest.case.summary.key
    co_runner = f", beside {key.co_runner}" if key.co_runner else ""
    under = f" [{key.setting_words}]" if key.setting_words else ""
    read = largest.case.summary.circumstances.governors_read
    governor = (
        f"{key.governor} ({', '.join(read)})"
        if key.governor == "current" and read
        else (key.governor)
    )
    return one_line(
        f"Largest gain, {largest.objective.noun}: {name_of(largest.table.key)}, "
        f"{largest.table.key.threads_in_words}, {governor}{co_runner}: "
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


def objective_decimals(objective: Objective, values: Iterable[float]) -> int:
    """Return the decimals of an objective's values in one table."""
    if objective in (ENERGY, EDP):
        return energy_decimals(values)
    return time_decimals(values) if objective == TIME else metric_decimals(values)


def ratio_decimals(ratio: float) -> int:
    """Return the decimals of a ratio: three, or more so that a small one has three digits."""
    if not 0 < ratio < 1:
        return RATIO_DECIMALS
    return min(MAX_RATIO_DECIMALS, max(RATIO_DECIMALS, 2 - math.floor(math.log10(ratio))))


def ratio_text(ratio: float) -> str:
    """Return a ratio with the decimals of `ratio_decimals`."""
    return fixed(ratio, ratio_decimals(ratio))


def ratio_interval(difference: Difference) -> str:
    """Return a ratio's interval; nothing without spread, or where it says next to nothing."""
    interval = difference.known_interval()
    if interval is None or interval.tells_nothing:
        return NOTHING
    return interval_of(interval, ratio_decimals(interval.low))


def outcome_text(comparison: Comparison) -> str:
    """Return a comparison's outcome, with how many more repetitions would decide."""
    if comparison.outcome != "undecided" or not comparison.more:
        return comparison.outcome
    return f"undecided (+{comparison.more.half} to {comparison.more.most})"


def interval_of(interval: Interval | None, decimals: int) -> str:
    """Return both ends of an interval with these decimals, or more where both would look equal.

    Nothing where there is none.
    """
    if interval is None:
        return NOTHING
    both = ends(interval.low, interval.high, lambda end, more: fixed(end, decimals + more))
    return " to ".join(both)
