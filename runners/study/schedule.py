"""Which runs of a study are left, and in which order: each so often, to a precision, or a race."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby
from typing import Any

from base.errors import StudyError
from configs.repetitions import Precision
from configs.repetitions import Race as Rule
from runners.plan.case import Case
from runners.plan.order import PlannedRun
from runners.plan.plan import Plan
from runners.race.race import Key, Race, is_placed, replay, warmup_runs
from runners.race.state import Eliminated, RaceState
from runners.study.history import History
from runners.study.stopping import Stopping

# A case whose first run takes so many times what the shortest one took is far behind, whatever the
# noise: no more of it needs to be waited for. Short programs get MIN_LIMIT_S.
CUT_AFTER = 2.0
MIN_LIMIT_S = 1.0
# The table and the number in it of the case with which the others are compared.
REFERENCE = (1, 1)


def _unheard(_: Any) -> None:  # noqa: ANN401 - a case or what became of it
    return


@dataclass(frozen=True)
class Listener:
    """What is called when a case makes no more runs.

    `ended` is given a case that is known precisely enough, `eliminated` one that loses a race.
    """

    ended: Callable[[str], None] = _unheard
    eliminated: Callable[[Eliminated], None] = _unheard


NOBODY = Listener()


class Schedule(ABC):
    """The runs of a plan that its history does not have.

    With `known_by_block` only the runs of the next block are sure, and what comes after it is known
    when that block begins.
    """

    known_by_block = False

    def __init__(self, plan: Plan, history: History) -> None:
        self.plan, self.history = plan, history

    @abstractmethod
    def pending(self, listener: Listener = NOBODY) -> Iterator[PlannedRun]:
        """Yield the runs that are still to be made, in order.

        What comes later may depend on what comes before: who makes each run, and adds its record to
        the history before asking for the next, gets just those that are needed, and who makes none
        gets as many as there may be.
        """

    @abstractmethod
    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return those of the pending runs that are made whatever they show."""

    @property
    def done(self) -> int:
        """How many runs of the plan were made."""
        return sum(1 for planned in self.plan.runs if planned.key in self.history.done)

    def limited(self, case: Case, planned: PlannedRun) -> Case:  # noqa: ARG002
        """Return the case with the time that one of its runs may take."""
        return case


class FixedSchedule(Schedule):
    """Each case equally often."""

    def pending(self, listener: Listener = NOBODY) -> Iterator[PlannedRun]:  # noqa: ARG002
        """Yield the runs that are still to be made, in order."""
        return (planned for planned in self.plan.runs if planned.key not in self.history.done)

    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return all of them."""
        return pending


class PrecisionSchedule(Schedule):
    """Each case until it is known as precisely as asked for."""

    def __init__(self, plan: Plan, history: History, wanted: Precision) -> None:
        super().__init__(plan, history)
        self._wanted = wanted
        alone = plan.study.order == "sequential"
        self._within = {case.case_id: case.case_id if alone else case.boot for case in plan.cases}

    def pending(self, listener: Listener = NOBODY) -> Iterator[PlannedRun]:
        """Yield the runs that are still to be made, in order; cases end as their runs come in."""
        history = self.history
        stopping = Stopping(self.plan.cases, self._wanted)
        for (_, number), runs in groupby(self.plan.runs, self._block_of):
            block = [planned for planned in runs if planned.case_id not in stopping.stopped]
            for planned in block:
                if planned.key not in history.done:
                    yield planned
            if number == 0:
                continue
            for case_id in stopping.block_ended(block, history.good, history.done, history.skipped):
                listener.ended(case_id)

    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return the runs of blocks that no case can end before."""
        last: dict[str, int] = {}
        needed = []
        for planned in pending:
            where, number = self._block_of(planned)
            # At the end of the first block that is not complete its cases may all end.
            if number <= last.setdefault(where, max(number, self._wanted.least)):
                needed.append(planned)
        return needed

    def _block_of(self, planned: PlannedRun) -> tuple[str, int]:
        """Return a run's block: in which boot or, in sequence, case; and its number there.

        Warm-up runs are in block 0.
        """
        return self._within[planned.case_id], planned.block


class RaceSchedule(Schedule):
    """Cases that are reliably worse end early, and the best one is tried against the reference."""

    known_by_block = True

    def __init__(self, plan: Plan, history: History, rule: Rule) -> None:
        """Raises StudyError when the reference, or all others, cannot run here."""
        super().__init__(plan, history)
        self._rule = rule
        self._entrants = entrants_of(plan)

    def pending(self, listener: Listener = NOBODY) -> Iterator[PlannedRun]:
        """Yield the runs that the race still needs, in order."""
        done, skipped = self.history.done, self.history.skipped
        order = 0
        for planned in self._warmups():
            order += 1
            if planned.key not in done:
                yield planned
        race = Race(
            self._entrants, self._rule, warmup_runs(self._entrants[0], self.history.race_runs)
        )
        number = told = 0
        while block := race.next_block():
            number += 1
            made = True
            for case_id, repetition in shuffled(block, self.plan.study.seed, number):
                planned = PlannedRun(order, number, case_id, repetition, False)
                order += 1
                if planned.key not in done:
                    yield planned
                    made = made and (planned.key in done or planned.key in skipped)
            if not made:
                most = race.state().most_runs + self.plan.study.warmup
                yield from self._placeholders(order, most, number + 1)
                return
            race.take(block, self.history.race_runs)
            eliminated = race.state().eliminated
            for one in eliminated[told:]:
                listener.eliminated(one)
            told = len(eliminated)

    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return the warm-up runs and the block that comes next."""
        first = next((planned.block for planned in pending if planned.block > 0), 0)
        return [planned for planned in pending if planned.block <= first]

    @property
    def done(self) -> int:
        """How many runs were made, warm-up runs included."""
        return len(self.history.race_runs)

    @property
    def state(self) -> RaceState:
        """How the race stands by the runs of the history."""
        return replay(self._entrants, self._rule, self.history.race_runs)

    def limited(self, case: Case, planned: PlannedRun) -> Case:
        """Return the case with the time that one of its runs may take.

        A case's first run, where time is what is raced for, is ended when it takes much longer than
        the shortest one of all.
        """
        limit_s = case.app.limit_s
        runs = self.history.race_runs.values()
        known = [run.elapsed_s for run in runs if run.value is not None]
        is_reference = (case.table, case.number) == REFERENCE
        if self._rule.of == "time" and planned.repetition == 1 and known and not is_reference:
            limit_s = min(limit_s, max(MIN_LIMIT_S, CUT_AFTER * min(known)))
        return replace(case, app=replace(case.app, limit_s=limit_s))

    def _warmups(self) -> Iterator[PlannedRun]:
        """Yield the reference's runs before all others.

        Where none of them could be proved to be where it belongs there is one more, on a node that
        was busy: a second one tells of the program.
        """
        reference, warmup = self._entrants[0], self.plan.study.warmup
        for order in range(warmup):
            yield PlannedRun(order, 0, reference, order + 1, True)
        made = warmup_runs(reference, self.history.race_runs)
        if made and not any(run.reason or is_placed(run) for run in made):
            yield PlannedRun(warmup, 0, reference, warmup + 1, True)

    def _placeholders(self, made: int, most: int, block: int) -> Iterator[PlannedRun]:
        """Yield runs for the forecast, in the place of those that are not known yet."""
        for case_id, order in zip(cycle(self._entrants), range(made, most), strict=False):
            yield PlannedRun(order, block, case_id, order, False)


def schedule_of(plan: Plan, history: History) -> Schedule:
    """Return the schedule that a plan's study asks for."""
    if plan.study.race:
        return RaceSchedule(plan, history, plan.study.race)
    if plan.study.precision:
        return PrecisionSchedule(plan, history, plan.study.precision)
    return FixedSchedule(plan, history)


def entrants_of(plan: Plan) -> list[str]:
    """Return the cases that race, the reference first and what promises most next.

    A table's first mappings go before its others, under the first governor before others. Raises
    StudyError when the study's first case, the reference, or all others cannot run here.
    """
    for item in plan.skipped:
        if (item.table, item.number) == REFERENCE:
            raise StudyError(
                f"the first case of study {plan.study.name}, with which the others are compared, "
                f"cannot run here: {item.reason}"
            )
    if len(plan.cases) < 2:
        raise StudyError(f"study {plan.study.name} has one case that can run here: none to race")
    ordered = sorted(plan.cases, key=lambda case: (case.number, case.table))
    return [case.case_id for case in ordered]


def shuffled(block: Sequence[Key], seed: int, number: int) -> list[Key]:
    """Return a block's runs in the order that the seed gives; a case's repetitions ascend."""

    def place(at: int, key: Key) -> bytes:
        return hashlib.sha256(f"{seed}/r{number}/{key[0]}/{at}".encode()).digest()

    mixed = [key for _, key in sorted((place(at, key), key) for at, key in enumerate(block))]
    ascending = {
        case_id: iter(sorted(n for of, n in block if of == case_id)) for case_id, _ in mixed
    }
    return [(case_id, next(ascending[case_id])) for case_id, _ in mixed]
