"""To pin or not to pin: the decision for each configuration and objective of a table, as data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pinstudy.analysis.format.numbers import mean_count
from pinstudy.analysis.objectives import EDP, ENERGY, OBJECTIVES, TIME, Objective
from pinstudy.analysis.results.baselines import leaves_all
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.statistics.decision import (
    MIN_TO_DECIDE,
    Look,
    Outcome,
    decide,
    interval_of_selected,
)
from pinstudy.analysis.verdict.case_caveats import why_not_compared
from pinstudy.analysis.verdict.comparisons import difference_between
from pinstudy.analysis.verdict.model import (
    AsGood,
    CaseFinding,
    Caveat,
    Choice,
    Comparison,
    Decision,
    Gain,
    LargestGain,
    MeasureChange,
    TableFindings,
    baseline_in,
    objectives_in,
)
from pinstudy.analysis.verdict.values import Values
from pinstudy.runners.node.topology import KIND_ORDER

# Smaller differences of shares of CPU time do not go with a gain.
MIN_SHARE = 0.001
# Relative differences of means below this are none: of counts, whose spread is large, and of
# frequencies, whose is small.
MIN_COUNT_CHANGE = 0.05
MIN_FREQUENCY_CHANGE = 0.005


@dataclass(frozen=True)
class Rules:
    """The inputs of decisions: the equivalence margin, the runs' values by case_id, exclusions.

    `look` is this interim analysis; `mixed` names the nodes or studies where results are of
    several, of which nothing can be concluded. `fixed_time` are the cases of programs whose run
    time is an argument. Cases that `raced` have no decisions: those that were worse ended early, by
    other rules. `baseline` is the mapping that the user named.
    """

    margin: float
    values: Mapping[str, Values]
    look: Look
    mixed: tuple[str, ...] = ()
    fixed_time: frozenset[str] = frozenset()
    raced: bool = False
    baseline: str | None = None


def decisions_of(
    cases: Sequence[CaseFinding], objectives: Sequence[Objective], rules: Rules
) -> tuple[Decision, ...]:
    """Return the decisions of one table, by configuration and objective."""
    if rules.raced:
        return ()
    return tuple(
        _decision(configuration, objective, objectives, rules)
        for configuration in grouped(
            cases, lambda case: (case.governor, case.summary.key.co_runner)
        )
        for objective in objectives
    )


def _decision(
    cases: Sequence[CaseFinding],
    objective: Objective,
    objectives: Sequence[Objective],
    rules: Rules,
) -> Decision:
    place = objective, cases[0].governor, cases[0].summary.key.co_runner
    baseline = baseline_in(cases)
    compared = [case for case in cases if objective in case.comparisons]
    lacking = tuple(_lacking(cases, baseline, compared, objective, objectives, rules))
    if rules.mixed or baseline is None or not compared:
        return Decision(*place, "not compared", lacking=lacking)
    if better := _with_outcome(compared, objective, "better"):
        best = better[0]
        return Decision(
            *place,
            choice_of(best),
            best,
            _gain(best.comparisons[objective], len(compared)),
            tuple(_as_good(best, compared, objective, rules)),
            lacking,
            best,
            tuple(accompanying(best, baseline)),
            unlike_means(objective, [best]),
        )
    worse = _with_outcome(compared, objective, "worse")
    explained = worse[0] if worse else None
    goes_with = tuple(accompanying(explained, baseline)) if explained else ()
    # A mapping whose runs are in several modes may be the better one.
    unclear = any(objective in case.unclear for case in cases if case not in compared)
    if unclear or _with_outcome(compared, objective, "undecided"):
        return Decision(
            *place, "undecided", lacking=lacking, explained=explained, goes_with=goes_with
        )
    same = _with_outcome(compared, objective, "equivalent")
    return Decision(
        *place,
        choice_of(baseline),
        baseline,
        None,
        tuple(AsGood(case, "equivalent") for case in same),
        lacking,
        explained,
        goes_with,
        unlike_means(objective, same or worse),
    )


def _with_outcome(
    compared: Sequence[CaseFinding], objective: Objective, outcome: Outcome
) -> list[CaseFinding]:
    cases = [case for case in compared if case.comparisons[objective].outcome == outcome]
    return sorted(cases, key=lambda case: case.comparisons[objective].loss)


def choice_of(case: CaseFinding) -> Choice:
    """Return what a case does to its threads, or to its virtual CPUs."""
    bindings = case.summary.key.bindings
    if "pin" in bindings:
        return "pin"
    if "set" in bindings:
        return "confine"
    # Of means that were imported it may not be known.
    return "leave" if "none" in bindings else "use"


def _gain(comparison: Comparison, among: int) -> Gain:
    """Return the gain of the best of several cases.

    It was told because it is the largest, and large: its interval takes both into account.
    """
    difference = comparison.difference
    interval = None
    if difference.standard_error > 0:
        interval = interval_of_selected(difference, comparison.p_different, among)
    return Gain(difference.ratio, interval, among)


def unlike_means(objective: Objective, cases: Sequence[CaseFinding]) -> float:
    """Return how many times a deviation is another at most, of cases whose means are compared."""
    found = (case.comparisons[objective] for case in cases if objective in case.comparisons)
    return max((comparison.unlike_means for comparison in found), default=1.0)


def _as_good(
    best: CaseFinding, compared: Sequence[CaseFinding], objective: Objective, rules: Rules
) -> Iterator[AsGood]:
    """Yield the cases that are equivalent to the best, undecided against it, or better.

    They are better than the baseline as well, or undecided against it. Each is one test without a
    correction: they only hedge a decision.
    """
    for case in compared:
        mine = case.comparisons[objective].outcome
        if case is best or mine not in ("better", "undecided"):
            continue
        difference = difference_between(case.summary, best.summary, rules.values, objective)
        outcome: Outcome = "undecided"
        if difference is not None and difference.n >= MIN_TO_DECIDE:
            outside, different = difference.p_outside(rules.margin), difference.p_different
            outcome = decide(objective.loss(difference.log_ratio), different, outside)
        # What is undecided against the baseline can be no more than undecided here.
        if outcome == "equivalent" and mine == "undecided":
            outcome = "undecided"
        if outcome != "worse":
            yield AsGood(case, outcome)


def _lacking(
    cases: Sequence[CaseFinding],
    baseline: CaseFinding | None,
    compared: Sequence[CaseFinding],
    objective: Objective,
    objectives: Sequence[Objective],
    rules: Rules,
) -> Iterator[Caveat]:
    printed = [name for name in objectives if name not in OBJECTIVES]
    if rules.mixed:
        yield Caveat("several results", (), {"names": rules.mixed})
    elif objective not in printed and any(case.case_id in rules.fixed_time for case in cases):
        yield Caveat("fixed time", (), {"compared_by": tuple(name.noun for name in printed)})
    elif not any(objective in case.samples for case in cases):
        yield _no_values(cases, objective)
    elif baseline is None:
        yield _no_baseline(cases, rules.baseline)
    elif not baseline.has_usable(objective):
        yield from why_not_compared(baseline, baseline, objective)
        yield Caveat("no use of the baseline", (baseline.case_id,))
    else:
        others = [case for case in cases if case is not baseline and case not in compared]
        if not compared and not any(objective in case.samples for case in others):
            yield Caveat("only case", (baseline.case_id,))
            return
        for case in others:
            # What was left out has its own row.
            if not case.summary.was_skipped:
                yield from why_not_compared(case, baseline, objective)


def _no_values(cases: Sequence[CaseFinding], objective: Objective) -> Caveat:
    if not any(case.samples for case in cases):
        return Caveat("no usable run", _ids(cases), {"excluded": _excluded(cases)})
    for factor in (ENERGY, TIME) if objective == EDP else ():
        if not any(factor in case.samples for case in cases):
            return Caveat("factor not measured", (), {"measure": factor.noun})
    if any(case.summary.stat(objective.field).n for case in cases):
        return Caveat("zero or less", _ids(cases))
    reasons = dict.fromkeys(
        reason for case in cases for reason in case.summary.reasons_of(objective.field)
    )
    return Caveat("not measured", (), {"reasons": tuple(reasons)})


def _no_baseline(cases: Sequence[CaseFinding], named: str | None) -> Caveat:
    """Return why there is no baseline; `named` is the user's mapping for it."""
    if named is None:
        candidates = [case for case in cases if leaves_all(case.summary)]
    else:
        candidates = [case for case in cases if case.mapping == named]
    if candidates:
        return Caveat("no usable run", _ids(candidates), {"excluded": _excluded(candidates)})
    if named is not None:
        return Caveat("no such baseline", (), {"mapping": named})
    return Caveat("no baseline")


def _ids(cases: Sequence[CaseFinding]) -> tuple[str, ...]:
    return tuple(case.case_id for case in cases)


def _excluded(cases: Sequence[CaseFinding]) -> dict[str, int]:
    """Return how many runs of these cases ended otherwise than well, by status."""
    counts: Counter[str] = Counter()
    for case in cases:
        counts.update(case.summary.circumstances.excluded)
    return dict(counts)


def accompanying(case: CaseFinding, baseline: CaseFinding) -> Iterator[MeasureChange]:
    """Yield what else differs than the objectives, of the measures that both cases have.

    These are means without a test, and no causes.
    """
    for measure in ("migrations", "vcpu_migrations"):
        mine, theirs = _mean(case, measure), _mean(baseline, measure)
        if _differ(mine, theirs, MIN_COUNT_CHANGE) and mean_count(mine) != mean_count(theirs):
            yield MeasureChange(measure, None, theirs, mine)
    shares = case.summary.means_by_kind("residency")
    of_baseline = baseline.summary.means_by_kind("residency")
    known = [kind for kind in reversed(KIND_ORDER) if kind in shares and kind in of_baseline]
    # The share of the last kind, the best cores, follows from the others; alone it is named.
    for kind in known[:-1] or known:
        if abs(shares[kind] - of_baseline[kind]) >= MIN_SHARE:
            yield MeasureChange("residency", kind, of_baseline[kind], shares[kind])
    for measure, least in (
        ("freq_mean_ghz", MIN_FREQUENCY_CHANGE),
        ("cache_misses", MIN_COUNT_CHANGE),
    ):
        mine, theirs = _mean(case, measure), _mean(baseline, measure)
        if theirs > 0 and _differ(mine, theirs, least):
            yield MeasureChange(measure, None, theirs, mine)


def _mean(case: CaseFinding, measure: str) -> float:
    return case.summary.stats[measure].mean


def _differ(mine: float, theirs: float, least: float) -> bool:
    """Return whether two means differ by that share of the larger one; False where one is NaN."""
    return not math.isnan(mine + theirs) and (
        abs(mine - theirs) >= least * max(abs(mine), abs(theirs)) > 0
    )


def largest_gains(tables: Sequence[TableFindings]) -> Iterator[LargestGain]:
    """Yield the largest gain in each objective, widened for all among which it was chosen."""
    for objective in objectives_in(tables):
        found = [
            (table, decision.best)
            for table in tables
            for decision in table.decisions
            if decision.objective.identity == objective.identity and decision.gain and decision.best
        ]
        if not found:
            continue
        table, best = min(found, key=lambda pair: pair[1].comparisons[objective].loss)
        among = sum(
            case.comparisons[objective].objective.identity == objective.identity
            for other in tables
            for case in other.cases
            if objective in case.comparisons
        )
        yield LargestGain(objective, table, best, _gain(best.comparisons[objective], among))
