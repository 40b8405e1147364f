"""The course of a race: which runs are made next, how long each may take, how many are left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle

from base.errors import StudyError
from configs.repetitions import Race as Rule
from runners.plan.case import Case
from runners.plan.order import PlannedRun
from runners.plan.plan import Plan
from runners.race.race import Key, Race, is_placed, replay, warmup_runs
from runners.race.state import Eliminated, RaceState
from runners.study.history import History

# A case whose first run takes so many times what the shortest one took is far behind, whatever the
# noise: no more of it needs to be waited for. Short programs get LEAST_LIMIT_S.
CUT_AFTER = 2.0
LEAST_LIMIT_S = 1.0
# The table and the number in it of the case with which the others are compared.
REFERENCE = (1, 1)


def entrants_of(plan: Plan) -> list[str]:
    """Return the cases that race, the reference first and what promises most next.

    A table's first mappings go before its others, under the first governor before others. Raises
    StudyError when the study's first case, the reference, or all others cannot run here.
    """
    for item in plan.left_out:
        if (item.table, item.number) == REFERENCE:
            raise StudyError(
                f"the first case of study {plan.study.name}, with which the others are compared, "
                f"cannot run here: {item.reason}"
            )
    if len(plan.cases) < 2:
        raise StudyError(f"study {plan.study.name} has one case that can run here: none to race")
    ordered = sorted(plan.cases, key=lambda case: (case.number, case.table))
    return [case.case_id for case in ordered]


def pending_race_runs(
    plan: Plan, history: History, ruled_out: Callable[[Eliminated], None] | None = None
) -> Iterator[PlannedRun]:
    """Yield the runs that a race still needs, in order.

    Who makes each run, and adds its record to the history before asking for the next, gets just
    those; who makes none gets as many as there may be. `ruled_out` is called with each case that
    makes no more.
    """
    rule = _rule(plan)
    entrants = entrants_of(plan)
    order = 0
    for planned in _warmups(plan, history, entrants[0]):
        order += 1
        if planned.key not in history.done:
            yield planned
    race = Race(entrants, rule, warmup_runs(entrants[0], history.race_runs))
    number = told = 0
    while block := race.next_block():
        number += 1
        made = True
        for case_id, repetition in shuffled(block, plan.study.seed, number):
            planned = PlannedRun(order, number, case_id, repetition, False)
            order += 1
            if planned.key not in history.done:
                yield planned
                made = made and (planned.key in history.done or planned.key in history.skipped)
        if not made:
            most = race.standing().most_runs + plan.study.warmup
            yield from _whichever(entrants, order, most, number + 1)
            return
        race.take(block, history.race_runs)
        out = race.standing().ruled_out
        for one in out[told:]:
            if ruled_out:
                ruled_out(one)
        told = len(out)


def _warmups(plan: Plan, history: History, reference: str) -> Iterator[PlannedRun]:
    """Yield the reference's runs before all others.

    Where none of them could be proved to be where it belongs there is one more, on a node that was
    busy: a second one tells of the program.
    """
    for order in range(plan.study.warmup):
        yield PlannedRun(order, 0, reference, order + 1, True)
    made = warmup_runs(reference, history.race_runs)
    if made and not any(run.reason or is_placed(run) for run in made):
        yield PlannedRun(plan.study.warmup, 0, reference, plan.study.warmup + 1, True)


def standing_of(plan: Plan, history: History) -> RaceState:
    """Return how a race stands by the runs of a history."""
    return replay(entrants_of(plan), _rule(plan), history.race_runs)


def needed_runs(plan: Plan, history: History) -> list[PlannedRun]:
    """Return those of the runs that are left which are needed whatever they show."""
    most = list(pending_race_runs(plan, history))
    first = next((planned.block for planned in most if planned.block > 0), 0)
    return [planned for planned in most if planned.block <= first]


def limited(plan: Plan, history: History, case: Case, planned: PlannedRun) -> Case:
    """Return the case with the time that this run may take.

    A case's first run, where time is what is raced for, is ended when it takes much longer than the
    shortest one of all.
    """
    rule = plan.study.race
    if rule is None:
        return case
    limit_s = case.app.limit_s
    known = [run.elapsed_s for run in history.race_runs.values() if run.value is not None]
    is_reference = (case.table, case.number) == REFERENCE
    if rule.of == "time" and planned.repetition == 1 and known and not is_reference:
        limit_s = min(limit_s, max(LEAST_LIMIT_S, CUT_AFTER * min(known)))
    return replace(case, app=replace(case.app, limit_s=limit_s))


def shuffled(block: Sequence[Key], seed: int, number: int) -> list[Key]:
    """Return a block's runs in the order that the seed gives; a case's repetitions ascend."""

    def place(at: int, key: Key) -> bytes:
        return hashlib.sha256(f"{seed}/r{number}/{key[0]}/{at}".encode()).digest()

    mixed = [key for _, key in sorted((place(at, key), key) for at, key in enumerate(block))]
    ascending = {
        case_id: iter(sorted(n for of, n in block if of == case_id)) for case_id, _ in mixed
    }
    return [(case_id, next(ascending[case_id])) for case_id, _ in mixed]


def _whichever(entrants: Sequence[str], made: int, most: int, block: int) -> Iterator[PlannedRun]:
    """Yield what may come after a block that nobody makes: of which cases nobody knows."""
    for case_id, order in zip(cycle(entrants), range(made, most), strict=False):
        yield PlannedRun(order, block, case_id, order, False)


def _rule(plan: Plan) -> Rule:
    assert plan.study.race is not None
    return plan.study.race
