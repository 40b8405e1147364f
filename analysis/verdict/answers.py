"""To pin or not to pin: the answer for each governor and objective of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from analysis.objectives import OBJECTIVES, Objective
from analysis.results.case import grouped
from analysis.statistics.decision import MIN_TO_DECIDE, Look, Outcome, decide
from analysis.verdict import sentences
from analysis.verdict.caveats import not_compared, unlike_means
from analysis.verdict.comparisons import difference_between
from analysis.verdict.model import CaseFinding, Verdict
from analysis.verdict.phrases import listed
from analysis.verdict.sentences import Evidence
from analysis.verdict.values import Values

FIXED_TIME = (
    "Not compared: the program runs as long as it is told, so that no mapping makes it faster; "
    "what it measures stands in its metrics"
)
# What makes a metric one by which mappings are compared.
_NOT_ASKED = ", which are compared where the app says `better: higher` or `better: lower` of them."


@dataclass(frozen=True)
class Rules:
    """The inputs of verdicts: the equivalence margin, the runs' values by case_id, exclusions.

    `look` is this interim analysis; `mixed` says why nothing can be concluded of
    results that are of several nodes or studies, and is empty for others. `fixed_time` are the
    cases of programs whose run time is an argument. Cases that `raced` have no verdicts: those
    that were worse ended early, by other rules.
    """

    margin: float
    values: Mapping[str, Values]
    look: Look
    mixed: str = ""
    fixed_time: frozenset[str] = frozenset()
    raced: bool = False
    baseline: str | None = None


def verdicts_of(
    cases: Sequence[CaseFinding], objectives: Sequence[Objective], rules: Rules
) -> tuple[Verdict, ...]:
    """Return the verdicts of one table, by governor, co-runner and objective."""
    if rules.raced:
        return ()
    return tuple(
        _verdict(those, objective, objectives, rules)
        for those in grouped(cases, lambda case: (case.governor, case.summary.key.beside))
        for objective in objectives
    )


def _verdict(
    cases: Sequence[CaseFinding],
    objective: Objective,
    objectives: Sequence[Objective],
    rules: Rules,
) -> Verdict:
    verdict = _answered(cases, objective, objectives, rules)
    means_disagree = verdict.answer != "not compared" and any(
        case.comparisons[objective].means_disagree(rules.margin)
        for case in cases
        if objective in case.comparisons
    )
    beside = cases[0].summary.key.beside
    return replace(
        verdict,
        means_disagree=means_disagree,
        unlike_means=unlike_means(objective, _rests_on(verdict, cases)),
        beside=beside,
    )


def _rests_on(verdict: Verdict, cases: Sequence[CaseFinding]) -> Sequence[CaseFinding]:
    """Return the cases whose comparisons make an answer: the best one, else those of its word.

    What is undecided claims nothing.
    """
    best, objective = verdict.best, verdict.objective
    if best and objective in best.comparisons:
        return [best]
    if verdict.answer in ("undecided", "not compared"):
        return []
    word = "equivalent" if verdict.answer == "no difference" else "worse"
    compared = (case for case in cases if objective in case.comparisons)
    return [case for case in compared if case.comparisons[objective].outcome == word]


def _answered(
    cases: Sequence[CaseFinding],
    objective: Objective,
    objectives: Sequence[Objective],
    rules: Rules,
) -> Verdict:
    governor = cases[0].governor
    baseline = next((case for case in cases if case.is_baseline), None)
    compared = [case for case in cases if objective in case.comparisons]
    if rules.mixed:
        return Verdict(objective, governor, "not compared", None, (rules.mixed,))
    is_fixed = any(case.case_id in rules.fixed_time for case in cases)
    printed = [of for of in objectives if of not in OBJECTIVES]
    if is_fixed and objective not in printed:
        return Verdict(objective, governor, "not compared", None, (_fixed_time(printed),))
    if baseline is None or not compared:
        why = not_compared(cases, baseline, objective, rules.baseline)
        return Verdict(objective, governor, "not compared", None, (why,))
    lacking = [case for case in cases if case is not baseline and objective not in case.comparisons]
    others = [of for of in (printed if is_fixed else objectives) if of != objective]
    evidence = Evidence(
        *(objective, tuple(others), baseline, tuple(compared), tuple(lacking)),
        *(rules.margin, rules.look),
    )
    best = _best(compared, objective)
    said = partial(Verdict, objective, governor, beyond=sentences.beyond(evidence, best))
    if best is not None:
        as_good = _as_good(best, compared, objective, rules)
        also = tuple(case for cases in as_good.values() for case in cases)
        recommended = sentences.recommended(evidence, best, as_good)
        return said(answer_of(best), best, recommended, also)
    # A mapping whose runs are in several modes may be the better one.
    if evidence.with_outcome("undecided") or any(objective in case.unclear for case in lacking):
        return said("undecided", None, sentences.undecided(evidence))
    if evidence.with_outcome("equivalent"):
        return said("no difference", None, sentences.no_difference(evidence))
    return said(answer_of(baseline), baseline, sentences.leave(evidence))


def _fixed_time(printed: Sequence[Objective]) -> str:
    """Return why a program that runs for a given time has no verdict, and by what it has one."""
    if not printed:
        return FIXED_TIME + _NOT_ASKED
    return f"{FIXED_TIME}; mappings are compared by {listed([of.noun for of in printed])}."


def _best(compared: Sequence[CaseFinding], objective: Objective) -> CaseFinding | None:
    """Return the case that gains most among those that are better than the baseline."""
    better = [case for case in compared if case.comparisons[objective].outcome == "better"]
    return min(
        better,
        key=lambda case: objective.loss(case.comparisons[objective].difference.log_ratio),
        default=None,
    )


def answer_of(case: CaseFinding) -> str:
    """Return what a case does to its threads, or to its virtual CPUs, as a verdict's answer."""
    bindings = {case.summary.key.binding, case.summary.key.vcpu_binding} - {None}
    for binding, answer in (("pin", "pin"), ("set", "confine"), ("none", "leave")):
        if binding in bindings:
            return answer
    # Of means that were imported it may not be known.
    return "use"


def _as_good(
    best: CaseFinding, compared: Sequence[CaseFinding], objective: Objective, rules: Rules
) -> dict[Outcome, list[CaseFinding]]:
    """Return the cases that are equivalent to the best, undecided against it, or better.

    They are better than the baseline as well, or undecided against it. Each is one test without a
    correction: they only hedge a recommendation.
    """
    by_outcome: dict[Outcome, list[CaseFinding]] = {}
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
            by_outcome.setdefault(outcome, []).append(case)
    return by_outcome
