"""The pending runs of a study, in order: a fixed number, as many as decide, or a race's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby
from typing import Any

from pinstudy.base.errors import StudyError
from pinstudy.configs.repetitions import Decide, looks_of
from pinstudy.configs.repetitions import Race as Rule
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.plan.runs import Forecast, PlannedRun
from pinstudy.runners.records.race.race import Race, is_placed, replay, warmup_runs
from pinstudy.runners.records.race_state import Eliminated, Key, RaceState
from pinstudy.runners.study.history import History

# In a race for time, a case's first run is ended after so many times the shortest run: the case is
# far behind, whatever the noise. The limit is MIN_LIMIT_S at least, for short programs.
CUT_AFTER = 2.0
MIN_LIMIT_S = 1.0
# The table and number of the case that all others are compared with.
REFERENCE = (1, 1)


@dataclass(frozen=True)
class Listener:
    """Callbacks for changes of what is pending.

    `eliminated` gets the cases that go out of a race together. `decided` returns whether every
    comparison is decided after so many repetitions of each case, `out_of_time` gets their number
    where a study has no time for more. `expected` gets the pending runs as each block of a race
    begins: only that block is certain, the runs after it are a forecast, which the next block
    corrects.
    """

    eliminated: Callable[[Sequence[Eliminated]], None] = lambda _: None
    expected: Callable[[list[PlannedRun]], None] = lambda _: None
    decided: Callable[[int], bool] = lambda _: False
    out_of_time: Callable[[int], None] = lambda _: None


NO_LISTENER = Listener()


class Agenda:
    """The runs of a plan that are not in its history: all of them, or fewer in a derived class."""

    def __init__(self, plan: Plan, history: History) -> None:
        self.plan, self.history = plan, history

    def pending(self, listener: Listener = NO_LISTENER) -> Iterator[PlannedRun]:  # noqa: ARG002
        """Yield the pending runs, in order.

        Later runs may depend on the records of earlier ones. A caller that makes each run, and adds
        its record to the history before it takes the next, gets only the runs that are needed. A
        caller that makes none gets as many as there can be.
        """
        return (planned for planned in self.plan.runs if planned.key not in self.history.done)

    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return the pending runs that are needed whatever the results are."""
        return pending

    @property
    def done(self) -> int:
        """How many runs of the plan were made."""
        return sum(1 for planned in self.plan.runs if planned.key in self.history.done)

    def forecast(self, left: Iterable[PlannedRun]) -> Forecast:
        """Return the forecast for these runs from the history's times and the apps' own hints."""
        cases = self.plan.cases
        means_s = {case.case_id: self.history.mean_s(case.case_id) for case in cases}
        pending = (planned.case_id for planned in left)
        return Forecast(cases, pending, means_s, self.plan.speeds)

    def at_most_s(self, ahead: Forecast) -> float | None:
        """Return how many seconds the runs of a forecast may take; None without an estimate."""
        return self.history.within_limit_s(ahead.pending_s)

    def limited(self, case: Case, planned: PlannedRun) -> Case:  # noqa: ARG002
        """Return the case with the time limit of this run."""
        return case


class DecideAgenda(Agenda):
    """Blocks until the listener finds every comparison decided, or no time is left."""

    def __init__(self, plan: Plan, history: History, rule: Decide) -> None:
        super().__init__(plan, history)
        self._first = rule.first
        self._looks = frozenset(looks_of(rule.first, rule.most))

    def pending(self, listener: Listener = NO_LISTENER) -> Iterator[PlannedRun]:
        """Yield the pending runs, in order; the first repetitions are made in any case.

        A block that was begun is made to its end: comparisons are within blocks.
        """
        done = self.history.done
        yielded: list[PlannedRun] = []
        for number, runs in groupby(self.plan.runs, lambda planned: planned.block):
            if number in self.history.repeated:
                # The other cases were decided.
                continue
            block = list(runs)
            left = [planned for planned in block if planned.key not in done]
            if number > self._first and len(left) == len(block):
                if number - 1 in self._looks and listener.decided(number - 1):
                    return
                if not self._has_time_for(left, yielded):
                    listener.out_of_time(number - 1)
                    return
                # Who makes no runs has no use for it, and has a plan of hundreds of blocks to list.
                if listener is not NO_LISTENER:
                    listener.expected(self._fitting(number, left))
            yielded += left
            yield from left

    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return the pending runs before the first look."""
        return [planned for planned in pending if planned.block <= self._first]

    def at_most_s(self, ahead: Forecast) -> float | None:
        """Return how many seconds the runs of a forecast may take: the first ones all they need."""
        first = (planned for planned in self.plan.runs if planned.block <= self._first)
        least = self.forecast(run for run in first if run.key not in self.history.done).pending_s
        most = super().at_most_s(ahead)
        return None if most is None or least is None else max(most, least)

    def _fitting(self, number: int, block: list[PlannedRun]) -> list[PlannedRun]:
        """Return the pending runs from a block on that there is time for, by what runs take now."""
        ahead = [run for run in self.plan.runs if run.block >= number]
        block_s = self.forecast(block).pending_s
        if self.history.limit_s is None or not block_s:
            return ahead
        left_s = self.history.limit_s - self.history.spent_s
        return ahead[: max(1, int(left_s / block_s)) * len(block)]

    def _has_time_for(self, block: list[PlannedRun], yielded: list[PlannedRun]) -> bool:
        """Return whether a block's runs fit; of a plan, earlier ones have not been made yet."""
        limit_s = self.history.limit_s
        if limit_s is None:
            return True
        ahead = [planned for planned in yielded if planned.key not in self.history.done]
        expected_s = self.forecast([*ahead, *block]).pending_s
        return self.history.spent_s + (expected_s or 0.0) <= limit_s


class RaceAgenda(Agenda):
    """A race: the slower half ends, round by round; the best is tried against the reference."""

    def __init__(self, plan: Plan, history: History, rule: Rule) -> None:
        """Raises StudyError when the reference, or all others, cannot run here."""
        super().__init__(plan, history)
        self._rule = rule
        self._entrants = entrants_of(plan)

    def pending(self, listener: Listener = NO_LISTENER) -> Iterator[PlannedRun]:
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
        most = race.expected_runs + self.plan.study.warmup
        number = 0
        reported: list[Eliminated] = []
        while block := race.next_block():
            number += 1
            keys = shuffled(block, self.plan.study.seed, number)
            runs = [PlannedRun(order + n, number, *key, False) for n, key in enumerate(keys)]
            order += len(runs)
            if left := [planned for planned in runs if planned.key not in done]:
                after = list(self._placeholders(order, most, number + 1))
                listener.expected(left + after)
                yield from left
                if not all(planned.key in done or planned.key in skipped for planned in left):
                    yield from after
                    return
            race.take(block, self.history.race_runs)
            if out := [case for case in race.eliminated if case not in reported]:
                listener.eliminated(out)
            reported = list(race.eliminated)

    def needed(self, pending: list[PlannedRun]) -> list[PlannedRun]:
        """Return the pending warm-up runs and the next block."""
        first = next((planned.block for planned in pending if planned.block > 0), 0)
        return [planned for planned in pending if planned.block <= first]

    def at_most_s(self, ahead: Forecast) -> float | None:
        """Return how many seconds the race may take: all that are left where time alone limits it.

        How many runs there will be is not known then: faster cases make more of them.
        """
        return self.history.within_limit_s(None if self._rule.timed else ahead.pending_s)

    @property
    def done(self) -> int:
        """How many runs were made, warm-up runs included."""
        return len(self.history.race_runs)

    @property
    def state(self) -> RaceState:
        """The state of the race after the runs of the history, and those that were skipped."""
        history = self.history
        skipped = {(case_id, number) for case_id, warmup, number in history.skipped if not warmup}
        return replay(self._entrants, self._rule, history.race_runs, skipped)

    def limited(self, case: Case, planned: PlannedRun) -> Case:
        """Return the case with the time limit of this run.

        In a race for time, the first run of a case other than the reference is ended when it takes
        much longer than the shortest run of all.
        """
        is_reference = (case.table, case.number) == REFERENCE
        if not self._rule.of_run_time or planned.repetition != 1 or is_reference:
            return case
        runs = self.history.race_runs.values()
        known = [run.elapsed_s for run in runs if run.value is not None]
        if not known:
            return case
        limit_s = min(case.app.limit_s, max(MIN_LIMIT_S, CUT_AFTER * min(known)))
        return replace(case, app=replace(case.app, limit_s=limit_s))

    def _warmups(self) -> Iterator[PlannedRun]:
        """Yield the reference's warm-up runs.

        When the placement of all of them is unproved or violated, one more follows: the node may
        have been busy, and a second failure is due to the program.
        """
        reference, warmup = self._entrants[0], self.plan.study.warmup
        for order in range(warmup):
            yield PlannedRun(order, 0, reference, order + 1, True)
        # The additional one does not count: a resume has to plan it again.
        runs = self.history.race_runs.items()
        planned = [run for key, run in runs if key[0] == reference and -warmup <= key[1] < 0]
        if planned and not any(run.reason or is_placed(run) for run in planned):
            yield PlannedRun(warmup, 0, reference, warmup + 1, True)

    def _placeholders(self, first: int, most: int, block: int) -> Iterator[PlannedRun]:
        """Yield placeholder runs for the forecast, up to `most` runs in all."""
        for case_id, order in zip(cycle(self._entrants), range(first, most), strict=False):
            yield PlannedRun(order, block, case_id, order, False)


def agenda_of(plan: Plan, history: History) -> Agenda:
    """Return the agenda that a plan's study asks for."""
    if plan.study.race:
        return RaceAgenda(plan, history, plan.study.race)
    if plan.study.decide:
        return DecideAgenda(plan, history, plan.study.decide)
    return Agenda(plan, history)


def repetition_rule(plan: Plan) -> dict[str, Any] | None:
    """Return the `repetition_rule` of a study's records; None for a fixed number of repetitions."""
    study, race, decide = plan.study, plan.study.race, plan.study.decide
    if plan.again:
        return {"undecided": {"look": plan.again.look}}
    if race:
        rule = {
            "of": race.of,
            "better": "higher" if race.higher else "lower",
            "margin": race.margin,
            "time_budget_s": race.time_budget_s,
            "runs": race.runs,
            # Cases without time to race have no other trace in the records.
            "cases": len(plan.cases),
        }
        return {"race": rule | ({"region": race.region} if race.region else {})}
    if decide:
        limits = {
            "first": decide.first,
            "max": study.repetitions,
            "time_budget_s": decide.time_budget_s,
        }
        return {"decide": limits}
    return None


def compared_with(cases: Iterable[Case]) -> dict[str, frozenset[str]]:
    """Return the cases that are compared with each baseline, by its case_id.

    The cases of a table, governor, co-runner and guest's boot have as baseline their first one that
    is left to the OS scheduler: every CPU, binding none. Without one they are not compared within
    blocks.
    """
    groups: dict[tuple[int, str, str, str], list[Case]] = {}
    for case in cases:
        co_runner = case.co_runner.program_label if case.co_runner else ""
        key = case.table, case.governor, co_runner, case.engine.boot
        groups.setdefault(key, []).append(case)
    compared = {}
    for group in groups.values():
        free = next((case for case in group if _is_unbound(case)), None)
        if free:
            compared[free.case_id] = frozenset(case.case_id for case in group if case is not free)
    return compared


def _is_unbound(case: Case) -> bool:
    return (case.mapping.selection, case.mapping.binding) == ("all", "none")


def entrants_of(plan: Plan) -> list[str]:
    """Return the cases that race, the reference first and the most promising next.

    The first mappings of all tables come first, and the first governor before others. Raises
    StudyError when the study's first case, the reference, or all others cannot run here.
    """
    for item in plan.skipped:
        if (item.case.table, item.case.number) == REFERENCE:
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
        case_id: iter(sorted(n for case, n in block if case == case_id)) for case_id, _ in mixed
    }
    return [(case_id, next(ascending[case_id])) for case_id, _ in mixed]
