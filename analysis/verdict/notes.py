"""Short templates for what findings say, one for each kind of note and decision.

A template is one clause of the field's words; numbers are rounded here and nowhere before. What
needs a second clause is a second note.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.format.numbers import in_percent, percent_ends, signed_in_percent
from analysis.objectives import TIME, Objective
from analysis.results.case import Neighbour
from analysis.statistics.decision import ALPHA
from analysis.statistics.unlike import SlowRuns
from analysis.verdict.caveats import (
    fold,
    loaded_at_start,
    modes_in_words,
    unclear_in_words,
    with_unit,
)
from analysis.verdict.model import CaseFinding, Comparison, Verdict
from analysis.verdict.phrases import best_change, do, needed
from base.text import one_line, plural
from runners.records.disturbances import SHARED

_MAX_NEIGHBOURS = 3


def decision(verdict: Verdict) -> str:
    """Return a configuration's decision: what to do, or that nothing is known to gain."""
    if verdict.best is None:
        return "no mapping gains" if verdict.answer == "no difference" else verdict.answer
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
            f"{fold(verdict.unlike_means)} times as much as others"
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
            interval = difference.interval()
            low, high = percent_ends(interval.low - 1, interval.high - 1)
            change = signed_in_percent(difference.ratio - 1, 2)
            yield f"these took {change} % against the others ({low} to {high})"


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
            yield f"outlier: run {outlier.repetition}, {with_unit(outlier.value, objective)}"


def _of_comparison(comparison: Comparison, objective: Objective, margin: float) -> Iterator[str]:
    """Yield what limits a comparison with the baseline, and what would decide it."""
    if comparison.means_disagree(margin) and comparison.mean_ratio is not None:
        change = signed_in_percent(comparison.mean_ratio - 1, 3)
        yield f"{change} % by the means, which rare runs move"
    if comparison.unlike_means > 1:
        yield f"means alone, of runs that spread {fold(comparison.unlike_means)} times as much"
    elif comparison.spread_times is not None:
        yield f"spreads {fold(comparison.spread_times)} times as much as the baseline"
    if objective == TIME and comparison.p_slow is not None and comparison.p_slow <= ALPHA:
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


def p_value(p: float) -> str:
    """Return a p-value with two digits; none is told below a thousandth."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"
