"""Which runs are made and in which order, also when attempts are cut: until decided, or a race."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.errors import StudyError
from pinstudy.configs.repetitions import ANY, Decide, Race, looks_of
from pinstudy.runners.plan.case import SkippedCase
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.race_state import OVERHEAD_S, Eliminated
from pinstudy.runners.study.agenda import (
    NO_LISTENER,
    Agenda,
    Listener,
    RaceAgenda,
    agenda_of,
    entrants_of,
    shuffled,
)
from pinstudy.runners.study.history import History
from pinstudy.runners.study.machine import TimeBudget, TimeIsUpError
from tests.runners.cases import PUBLISHED, case, study

Record = dict[str, Any]
MEANS = (1.3, 1.0, 1.1, 1.6, 2.6)
CASES = tuple(case(number=number, mapping=mapping) for number, mapping in enumerate(PUBLISHED, 1))
FAILED = {"status": "failed", "reason": "exit status 3", "race_value": None}


@dataclass(frozen=True)
class World:
    """A plan whose runs are made up: the same for the same run, whenever it is made."""

    plan: Plan
    seed: int = 1

    def record(self, planned: PlannedRun) -> Record:
        """Return the record of a run, which takes about as long as MEANS says of its case."""
        draws = random.Random(f"{self.seed}/{planned.key}")
        (number,) = (case.number for case in CASES if case.case_id == planned.case_id)
        elapsed_s = MEANS[number - 1] * draws.gauss(1, 0.02)
        run = {"warmup": planned.warmup, "repetition": planned.repetition, "status": "ok"}
        return run | self.measured(elapsed_s) | {"case_id": planned.case_id}

    def measured(self, elapsed_s: float) -> Record:
        return {"elapsed_s": elapsed_s, "race_value": elapsed_s}

    def history(self, records: Sequence[Record]) -> History:
        """Return what is known by these records."""
        history = History.of(self.plan.study)
        for record in records:
            history.add(record)
        return history

    def agenda(self, records: Sequence[Record] = ()) -> Agenda:
        return agenda_of(self.plan, self.history(records))

    def race(self, records: Sequence[Record] = ()) -> RaceAgenda:
        agenda = self.agenda(records)
        assert isinstance(agenda, RaceAgenda)
        return agenda

    def made(
        self,
        before: Sequence[Record] = (),
        at_most: int | None = None,
        impossible: Collection[str] = (),
        record: Callable[[PlannedRun], Record] | None = None,
        history: History | None = None,
        listener: Listener = NO_LISTENER,
    ) -> list[Record]:
        """Return the records after an attempt that follows others and is cut after `at_most` runs.

        `impossible` are the cases that cannot be run in it; `record` makes other runs than those
        of this world, and `history` is what is known after them. `listener` hears what changes.
        """
        records, known = list(before), history or self.history(before)
        for planned in agenda_of(self.plan, known).pending(listener):
            if planned.case_id in impossible:
                known.skipped.add(planned.key)
                continue
            if at_most is not None and len(records) - len(before) >= at_most:
                break
            records.append(json.loads(json.dumps((record or self.record)(planned))))
            known.add(records[-1])
        return records


def minimum(agenda: Agenda) -> list[PlannedRun]:
    """Return the runs that an agenda surely makes still."""
    return agenda.needed(list(agenda.pending()))


# A study of three cases that goes on until its comparisons are decided; a run takes a second.
DECIDE = 3
BLOCK_S = DECIDE * (1.0 + OVERHEAD_S)


@dataclass(frozen=True)
class Steady(World):
    """Comparisons that are decided after so many repetitions."""

    decided_after: int = 10_000
    looks: list[int] = field(default_factory=list, compare=False)
    timed_out: list[int] = field(default_factory=list, compare=False)

    def measured(self, elapsed_s: float) -> Record:
        del elapsed_s
        return {"elapsed_s": 1.0}

    def look(self, repetitions: int) -> bool:
        self.looks.append(repetitions)
        return repetitions >= self.decided_after

    def ran(self, before: Sequence[Record] = (), at_most: int | None = None) -> list[Record]:
        listener = Listener(decided=self.look, out_of_time=self.timed_out.append)
        return self.made(before, at_most, listener=listener)


def steady(decided_after: int = 10_000, time_budget_s: float | None = None) -> Steady:
    rule = Decide(first=5, most=40, time_budget_s=time_budget_s)
    asked = study(repetitions=rule.most, decide=rule, warmup=1)
    return Steady(Plan(asked, CASES[:DECIDE], (), {}), 1, decided_after)


def repetitions(records: list[Record]) -> int:
    """Return how often each case was run; fails unless that is the same number for all."""
    counts = Counter(record["case_id"] for record in records if not record["warmup"])
    (number,) = set(counts.values())
    assert len(counts) == DECIDE
    return number


def test_results_are_looked_at_whenever_their_number_has_doubled() -> None:
    assert looks_of(5, 80) == [5, 10, 20, 40, 80]
    assert looks_of(5, 50) == [5, 10, 20, 40, 50]
    assert (looks_of(3, 3), looks_of(4, 7)) == ([3], [4, 7])


@pytest.mark.parametrize(
    ("decided_after", "made", "looks"),
    [(1, 5, [5]), (6, 10, [5, 10]), (20, 20, [5, 10, 20]), (10_000, 40, [5, 10, 20])],
)
def test_it_ends_with_the_deciding_look(decided_after: int, made: int, looks: list[int]) -> None:
    world = steady(decided_after)
    assert repetitions(world.ran()) == made
    # After the last repetition nothing is left to decide about.
    assert world.looks == looks


@pytest.mark.parametrize("time_budget_s", [1.0, 40.0, 60.0, 10_000.0])
def test_no_block_is_begun_that_the_time_is_too_short_for(time_budget_s: float) -> None:
    world = steady(time_budget_s=time_budget_s)
    made = world.ran()
    took_s = len(made) / DECIDE * BLOCK_S
    number = repetitions(made)
    assert number >= 5
    assert number == 5 or took_s <= time_budget_s
    assert number == 40 or took_s + BLOCK_S > time_budget_s
    # Whoever waits is told why there are no more.
    assert world.timed_out == ([] if number == 40 else [number])


def test_what_is_left_follows_what_runs_take_and_not_what_was_guessed() -> None:
    world = steady(time_budget_s=60.5 / DECIDE * BLOCK_S)
    left: list[int] = []
    world.made(listener=Listener(expected=lambda runs: left.append(len(runs))))
    # Of 60 runs that fit 18 were made before the first look; each block takes 3.
    assert left == list(range(42, 0, -3))


@given(st.integers(0, 130), st.integers(1, 45))
def test_a_study_that_was_cut_ends_as_one_that_was_not(cut: int, decided_after: int) -> None:
    world = steady(decided_after)
    assert world.ran(world.ran(at_most=cut)) == steady(decided_after).ran()


def test_a_plan_has_the_first_looks_runs_at_least_and_what_fits_at_most() -> None:
    agenda = steady(time_budget_s=60.0).agenda()
    assert len(minimum(agenda)) == DECIDE * (1 + 5)
    # The demo app's hint, by which a plan estimates, is not that of these runs.
    assert DECIDE * (1 + 5) <= len(list(agenda.pending())) <= DECIDE * (1 + 40)
    # The time that is left has all first runs in it: 15 runs took more than 12 s already.
    world = steady(time_budget_s=12.0)
    agenda = world.agenda(world.ran(at_most=DECIDE * (1 + 4)))
    assert agenda.at_most_s(agenda.forecast(list(agenda.pending()))) == pytest.approx(BLOCK_S)


def racing(seed: int = 1, warmup: int = 1, **rule: Any) -> World:  # noqa: ANN401
    """Return a world of five cases that race."""
    asked = study(race=Race(**rule), repetitions=10000, warmup=warmup)
    return World(Plan(asked, CASES, (), {}), seed)


@given(st.integers(0, 10_000), st.lists(st.integers(0, 9), max_size=6))
@settings(max_examples=40)
def test_a_race_that_is_cut_and_continued_makes_the_same_runs(seed: int, cuts: list[int]) -> None:
    world = racing(seed)
    records: list[Record] = []
    for cut in cuts:
        records = world.made(records, cut)
    assert world.made(records) == world.made()


def test_only_the_reference_warms_up_and_every_block_has_it() -> None:
    world = racing(warmup=2)
    planned = list(world.race().pending())
    assert [(run.case_id, run.block) for run in planned[:2]] == [(CASES[0].case_id, 0)] * 2
    assert {run.case_id for run in planned[2:7]} == {case.case_id for case in CASES}
    assert [run.order for run in planned] == list(range(len(planned)))
    warmed = [record["case_id"] for record in world.made() if record["warmup"]]
    assert warmed == [CASES[0].case_id] * 2


def test_a_warm_up_that_is_not_proved_has_a_second_one_and_no_third() -> None:
    world = racing()

    def seen(planned: PlannedRun, proved: bool) -> Record:
        placement = {"placement": "proved" if proved else "unproved"}
        return world.record(planned) | {"race_seen": placement, "order": planned.order}

    records = world.made(record=lambda planned: seen(planned, not planned.warmup))
    assert [(made["warmup"], made["repetition"]) for made in records] == [(True, 1), (True, 2)]
    assert world.race(records).state.decision == "no reference"
    # Who stops between them makes the second one then, and goes on if it is proved, in order.
    second = (CASES[0].case_id, True, 2)
    assert next(world.race(records[:1]).pending()).key == second

    def second_proved(planned: PlannedRun) -> Record:
        return seen(planned, not planned.warmup or planned.repetition == 2)

    at_once = world.made(record=second_proved)
    assert [made["order"] for made in at_once] == list(range(len(at_once)))
    assert world.made(at_once[:4], record=second_proved) == at_once


def test_a_best_that_fails_in_its_trial_is_reported_and_another_is_tried() -> None:
    world = racing(5)
    best, second = CASES[1].case_id, CASES[2].case_id
    # Its first run of the trial.
    first = min(world.race(world.made()).state.confirmation[best])

    def record(planned: PlannedRun) -> Record:
        fails = planned.case_id == best and planned.repetition >= first
        return world.record(planned) | (FAILED if fails else {})

    records = world.made(record=record)
    reported: list[Eliminated] = []
    assert not list(world.race(records).pending(Listener(eliminated=reported.extend)))
    state = world.race(records).state
    assert (state.decision, state.best) == ("gain", second)
    assert [(out.why, out.reason) for out in reported if out.case_id == best] == [
        ("failed", "exit status 3")
    ]
    assert {out.case_id for out in state.eliminated} < {out.case_id for out in reported}
    assert world.made(records[:-3], record=record) == records


def test_each_place_of_a_block_is_each_cases_as_often_and_repetitions_ascend() -> None:
    block = [("a", 3), ("b", 7), ("c", 1), ("c", 2)]
    orders = [shuffled(block, seed, 4) for seed in range(600)]
    assert shuffled(block, 5, 4) == orders[5]
    assert shuffled(block, 5, 6) != orders[5] or shuffled(block, 6, 6) != orders[6]
    for order in orders:
        assert sorted(order) == block
        assert order.index(("c", 1)) < order.index(("c", 2))
    for place in range(4):
        counts = Counter(order[place][0] for order in orders)
        # 150 of 600 are expected of a and b, with a deviation of 10.6.
        assert all(105 < counts[case_id] < 195 for case_id in "ab")


def test_the_best_is_found_by_fewer_runs_than_at_most() -> None:
    world = racing(5)
    records = world.made()
    standing = world.race(records).state
    assert (standing.decision, standing.best) == ("gain", CASES[1].case_id)
    assert standing.most_runs is not None
    assert len(records) - 1 == standing.runs < standing.most_runs
    assert list(world.race(records).pending()) == []


def test_more_runs_continue_where_less_have_ended() -> None:
    records, longer = racing(3, runs=10).made(), racing(3, runs=60)
    assert longer.made(records)[: len(records)] == records
    assert len(longer.made(records)) > len(records)


@given(st.integers(0, 1000), st.integers(0, 60))
@settings(max_examples=30)
def test_wherever_it_stands_what_is_left_is_within_what_was_expected(seed: int, cut: int) -> None:
    world = racing(seed)
    records = world.made((), cut)
    left = len(world.made(records)) - len(records)
    assert len(minimum(world.race(records))) <= left <= len(list(world.race(records).pending()))


def test_a_race_against_time_may_take_all_that_is_left() -> None:
    world = racing(1, time_budget_s=60.0, runs=ANY)
    records = world.made(at_most=12)
    for made in range(len(records)):
        agenda = world.race(records[:made])
        spent_s = sum(OVERHEAD_S + record["elapsed_s"] for record in records[:made])
        ahead = agenda.forecast(agenda.pending())
        assert agenda.at_most_s(ahead) == pytest.approx(60.0 - spent_s)


def test_a_case_that_cannot_run_now_is_out_and_races_once_it_can() -> None:
    world, best = racing(2), CASES[1].case_id
    records = world.made(impossible={best})
    assert all(record["case_id"] != best for record in records)
    standing = world.race(world.made(records)).state
    assert (standing.decision, standing.best) == ("gain", best)

    def record(planned: PlannedRun) -> Record:
        is_reference = planned.case_id == CASES[0].case_id and not planned.warmup
        return world.record(planned) | (FAILED if is_reference else {})

    # The state goes on after it.
    history = world.history([])
    world.made(record=record, history=history, impossible={best})
    agenda = agenda_of(world.plan, history)
    assert isinstance(agenda, RaceAgenda) and agenda.state.decision == "no reference"


def test_a_first_run_is_ended_when_it_takes_much_longer_than_the_shortest_one() -> None:
    world, (first, second) = racing(4), CASES[:2]
    run = PlannedRun(1, 1, second.case_id, 1, False)
    assert world.race().limited(second, run).app.limit_s == 10
    records = world.made((), 1)
    limited = world.race(records).limited(second, run)
    assert limited.app.limit_s == pytest.approx(2 * records[0]["elapsed_s"])
    assert limited.case_id == second.case_id
    # The reference is never cut, nor a case that goes on, nor a race that is not for time.
    for agenda, raced, planned in (
        (world.race(records), first, run._replace(case_id=first.case_id)),
        (world.race(records), second, run._replace(repetition=2)),
        (racing(4, of="energy").race(records), second, run),
    ):
        assert agenda.limited(raced, planned).app.limit_s == 10


def test_what_promises_most_comes_first_and_the_reference_before_all() -> None:
    cases = tuple(
        case(table=table, number=number, threads=threads, mapping=PUBLISHED[number - 1])
        for table, threads in ((1, 8), (2, 4))
        for number in (1, 2, 3)
    )
    plan = Plan(study(race=Race()), cases, (), {})
    first = [case for number in (1, 2, 3) for case in cases if case.number == number]
    assert entrants_of(plan) == [case.case_id for case in first]


def test_without_its_reference_or_anything_to_compare_a_race_is_refused() -> None:
    gone = SkippedCase(CASES[0], "needs 64 CPUs")
    with pytest.raises(StudyError, match=r"first case of study demo.*needs 64 CPUs"):
        entrants_of(replace(racing().plan, cases=CASES[1:], skipped=(gone,)))
    with pytest.raises(StudyError, match="none to race"):
        entrants_of(replace(racing().plan, cases=CASES[:1]))


@pytest.mark.parametrize(
    ("budget_s", "expected_s", "is_stopped"),
    [
        # An hour is more than any test takes between two lines.
        (3600.0, 1.0, False),
        (3600.0, None, False),
        (3600.0, 7200.0, True),
        (0.0, None, True),
        (-1.0, 0.0, True),
    ],
)
def test_after_the_first_run_none_starts_that_would_end_too_late(
    budget_s: float, expected_s: float | None, is_stopped: bool
) -> None:
    budget = TimeBudget(budget_s)
    budget(expected_s)
    try:
        budget(expected_s)
    except TimeIsUpError as error:
        assert is_stopped and "a second start goes on" in str(error)
    else:
        assert not is_stopped
