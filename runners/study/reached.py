"""How precisely a study's cases are known, in words: which are, and which are not after all."""

from __future__ import annotations

from dataclasses import dataclass

from base.text import plural
from configs.model import Precision
from runners.plan.case import Case
from runners.plan.plan import Plan
from runners.study.history import History
from runners.study.precision import CasePrecision, percent


@dataclass(frozen=True)
class _Outcome:
    """A case after so many repetitions, good or not."""

    case: Case
    known: CasePrecision
    repetitions: int


def precision_lines(plan: Plan, history: History) -> list[str]:
    """Return a line for the cases that are known precisely enough, and one for each other.

    There is none where no precision is asked for.
    """
    wanted = plan.study.precision
    if wanted is None:
        return []
    made = _repetitions_made(history)
    outcomes = [
        _Outcome(case, history.known(case.case_id), made.get(case.case_id, 0))
        for case in plan.cases
    ]
    reached = [outcome for outcome in outcomes if outcome.known.reached]
    others = [outcome for outcome in outcomes if not outcome.known.reached]
    return [
        _of_reached(wanted, reached, len(outcomes)),
        *_of_energy(wanted, outcomes),
        *(_of_other(outcome, plan.study.repetitions) for outcome in others),
    ]


def _repetitions_made(history: History) -> dict[str, int]:
    made: dict[str, int] = {}
    for case_id, warmup, _ in history.done:
        if not warmup:
            made[case_id] = made.get(case_id, 0) + 1
    return made


def _of_reached(wanted: Precision, reached: list[_Outcome], cases: int) -> str:
    counts = [outcome.repetitions for outcome in reached]
    after = ""
    if counts:
        least, most = min(counts), max(counts)
        after = f", after {most if least == most else f'{least} to {most}'} repetitions"
    aim = f"±{percent(wanted.half_width)} of the mean {' and '.join(wanted.of)}"
    return f"precision: {len(reached)} of {cases} cases reached {aim} (95 % confidence){after}"


def _of_energy(wanted: Precision, outcomes: list[_Outcome]) -> list[str]:
    if "energy" not in wanted.of:
        return []
    without = [
        outcome
        for outcome in outcomes
        if outcome.known.runs and "energy" not in outcome.known.judged_by
    ]
    if not without:
        return []
    return [f"precision: energy was not measured in {len(without)} of them: time alone decided"]


def _of_other(outcome: _Outcome, most: int) -> str:
    known = outcome.known
    widths = " and ".join(f"{word} ±{percent(width)}" for word, width in known.half_widths.items())
    good = plural(known.runs, "good run")
    state = "not reached" if outcome.repetitions >= most else "not finished"
    found = f"{widths} by {good}" if widths else good
    return f"precision {state} after {outcome.repetitions}: {outcome.case.label}: {found}"
