"""Short templates for what findings say, one for each kind of note and decision.

A template is one clause of the field's words; numbers are rounded here and nowhere before. What
needs a second clause is a second note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from analysis.format.numbers import fixed, in_percent, percent, percent_ends
from analysis.objectives import TIME, Objective
from analysis.results.case import Neighbour
from analysis.statistics.unlike import SlowRuns
from analysis.verdict.caveats import loaded_at_start, modes_in_words, unclear_in_words
from analysis.verdict.model import CaseFinding, Comparison, Verdict
from analysis.verdict.phrases import best_change, do, needed
from base.text import one_line, plural
from runners.records.disturbances import SHARED

_MAX_NEIGHBOURS = 3
# Deviations whose ratio is larger have no second digit.
_WHOLE_FROM = 10
_DECISIONS: Mapping[str, str] = {
    "no difference": "no mapping gains",
    "undecided": "undecided",
    "not compared": "not compared",
}


def decision(verdict: Verdict) -> str:
    """Return a configuration's decision: what to do, or that nothing is known to gain."""
    if verdict.best is None and verdict.answer in _DECISIONS:
        return _DECISIONS[verdict.answer]
    if verdict.best is None:
        return "leave threads unpinned" if verdict.answer == "leave" else verdict.answer
    return one_line(f"{do(verdict.best.summary)} ({verdict.best.full_mapping})")


def decision_notes(verdict: Verdict, compared: int) -> Iterator[str]:
    """Yield what a decision gains, what would do as well, and why it may not hold.

    Its gain was told because it is the largest of those `compared`: its interval covers that.
    """
    best = verdict.best
    if best is None:
        if verdict.answer == "not compared":
            # What the rows do not tell: a spread is missing, or the program ends when it is told.
            yield from (said.split("; ")[0] for said in verdict.sentences)
        return
    if comparison := best.comparisons.get(verdict.objective):
        gain = best_change(comparison, compared)
        yield f"gain: {gain.what} ({gain.with_level})"
    if also := [case.full_mapping for case in verdict.also]:
        yield one_line(f"as good, or not told from it: {', '.join(also)}")
    if verdict.unlike_means > 1:
        yield (
            "not sure: only means are known, of runs that spread up to "
            f"{_fold(verdict.unlike_means)} times as much as others"
        )


def row_notes(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective, margin: float
) -> Iterator[str]:
    """Yield what a reader must know of a row of a configuration's table, the gravest first."""
    if case.summary.was_skipped:
        yield f"left out: {case.summary.circumstances.skip_reason or 'no reason given'}"
        return
    yield from _of_runs(case, objective)
    comparison = case.comparisons.get(objective)
    if comparison is not None and baseline is not None:
        if tool := loaded_at_start(case.summary, baseline.summary):
            yield f"{tool} is loaded into one of both, and its start is in the numbers"
        yield from _of_comparison(comparison, objective, margin)


def _of_runs(case: CaseFinding, objective: Objective) -> Iterator[str]:
    """Yield what is known of a case's own runs."""
    if by_cause := case.lost_of(objective).by_cause:
        counts = ", ".join(f"{count} {cause}" for cause, count in by_cause.items())
        yield f"lost: {counts}"
    if case.out_of_turn:
        yield "not made in turn with the baseline"
    if objective not in case.samples:
        reasons = case.summary.circumstances.reasons.get(objective.field, ())
        yield f"not measured: {'; '.join(reasons) or 'no reason given'}"
    yield from _of_values(case, objective)
    yield from _disturbed(case)


def _disturbed(case: CaseFinding) -> Iterator[str]:
    """Yield how many runs were disturbed, by whom most often, and how much longer those took."""
    happened, n = case.summary.circumstances, case.summary.n
    for name, count in happened.disturbed.items():
        yield f"{count} of {n} runs {name}"
        if name == SHARED and happened.neighbours:
            tasks = sorted(happened.neighbours.items(), key=lambda task: -task[1].runs)
            yield one_line(f"most often {', '.join(map(_neighbour, tasks[:_MAX_NEIGHBOURS]))}")
        if difference := case.disturbed_against_others.get(name):
            share, interval = difference.ratio - 1, difference.interval()
            low, high = percent_ends(interval.low - 1, interval.high - 1)
            sign = "+" if share > 0 else "-"
            yield f"these took {sign}{percent(abs(share))} against the others ({low} to {high})"


def _neighbour(task: tuple[str, Neighbour]) -> str:
    command, seen = task
    return f"{command} ({plural(seen.runs, 'run')}, up to {seen.most_s:.2f} s)"


def _of_values(case: CaseFinding, objective: Objective) -> Iterator[str]:
    """Yield how the values of a case's runs lie: modes, slow runs, outliers."""
    if modes := case.modes.get(objective):
        yield f"several modes: {modes_in_words(modes, objective)}"
    if objective in case.unclear:
        if objective not in case.modes:
            yield f"several modes: {unclear_in_words(case)[objective]}"
        yield "no outcome: chance decides which mode is typical"
    if objective == TIME and case.slow is not None and case.slow.count:
        yield _slow(case.slow)
    for outlier in case.outliers:
        if outlier.objective == objective:
            yield f"outlier: run {outlier.repetition}, {_value(outlier.value, objective)}"


def _of_comparison(comparison: Comparison, objective: Objective, margin: float) -> Iterator[str]:
    """Yield what limits a comparison with the baseline, and what would decide it."""
    if comparison.means_disagree(margin) and comparison.mean_ratio is not None:
        yield f"{change(comparison.mean_ratio)} by the means, which rare runs move"
    if comparison.unlike_means > 1:
        yield f"means alone, of runs that spread {_fold(comparison.unlike_means)} times as much"
    elif comparison.spread_times is not None:
        yield f"spreads {_fold(comparison.spread_times)} times as much as the baseline"
    if objective == TIME and comparison.p_slow is not None and comparison.p_slow <= 0.05:
        yield f"another share of slow runs than the baseline (p = {comparison.p_slow:.2g})"
    if comparison.across_attempts:
        yield "no attempt made runs of both"
    if comparison.difference.units > 1:
        yield f"pairs of {comparison.difference.units} boots or days, which the interval covers"
    if comparison.outcome == "undecided":
        yield from needed(comparison)


def _slow(slow: SlowRuns) -> str:
    least, most = (in_percent(share, 2) for share in (slow.least, slow.most))
    longer = least if least == most else f"{least} to {most}"
    return f"{slow.count} of {slow.n} runs slow, {longer} % beyond the median"


def _value(value: float, objective: Objective) -> str:
    digits = np.format_float_positional(value, precision=4, fractional=False, trim="-")
    return f"{digits} {objective.unit}".rstrip()


def _fold(times: float) -> str:
    if times < 1:
        return f"1/{_fold(1 / times)}"
    return fixed(times, 0 if times >= _WHOLE_FROM else 1)


def change(ratio: float) -> str:
    """Return a ratio as a change in per cent, with its sign: `+25 %`."""
    share = ratio - 1
    return f"{'+' if share > 0 else '-' if share < 0 else ''}{in_percent(abs(share), 3)} %"


def p_value(p: float) -> str:
    """Return a p-value with two digits; none is told below a thousandth."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"
