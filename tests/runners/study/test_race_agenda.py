"""The course of a race through plans and histories: what is run, also when attempts are cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import StudyError
from configs.repetitions import Race
from runners.plan.case import SkippedCase
from runners.plan.plan import Plan
from runners.plan.runs import PlannedRun
from runners.records.race_state import Eliminated
from runners.study.agenda import Listener, RaceAgenda, entrants_of, shuffled
from runners.study.history import History
from tests.runners.cases import PUBLISHED, case, study
from tests.runners.study.attempts import World, minimum

MEANS = (1.3, 1.0, 1.1, 1.6, 2.6)
CASES = tuple(
    case(number=number, mapping=mapping) for number, mapping in enumerate(PUBLISHED, start=1)
)


def plan_of(rule: Race | None = None, warmup: int = 1) -> Plan:
    """Return a plan of five cases that race."""
    asked = study(race=rule or Race(), repetitions=10000, warmup=warmup)
    return Plan(asked, CASES, (), {})


def agenda_of(plan: Plan, history: History) -> RaceAgenda:
    assert plan.study.race
    return RaceAgenda(plan, history, plan.study.race)


class Racing(World):
    """Runs that take about as long as MEANS says of their cases."""

    def measured(self, planned: PlannedRun) -> dict[str, Any]:
        draws = random.Random(f"{self.seed}/{planned.key}")
        number = next(case.number for case in CASES if case.case_id == planned.case_id)
        elapsed_s = MEANS[number - 1] * draws.gauss(1, 0.02)
        return {"elapsed_s": elapsed_s, "race_value": elapsed_s}

    def agenda(self, records: Sequence[dict[str, Any]]) -> RaceAgenda:
        return agenda_of(self.plan, self.history(records))


@given(st.integers(0, 10_000), st.lists(st.integers(0, 9), max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_race_that_is_cut_and_continued_makes_the_same_runs(seed: int, cuts: list[int]) -> None:
    world = Racing(plan_of(), seed)
    records: list[dict[str, Any]] = []
    for cut in cuts:
        records = world.made(records, cut)
    assert world.made(records) == world.made()


def test_only_the_reference_warms_up_and_every_block_has_it() -> None:
    world = Racing(plan_of(warmup=2), 1)
    planned = list(world.agenda([]).pending())
    assert [(run.case_id, run.block) for run in planned[:2]] == [(CASES[0].case_id, 0)] * 2
    assert {run.case_id for run in planned[2:7]} == {case.case_id for case in CASES}
    assert [run.order for run in planned] == list(range(len(planned)))
    records = world.made()
    assert sum(record["warmup"] for record in records) == 2
    assert all(record["case_id"] == CASES[0].case_id for record in records if record["warmup"])


def test_a_warm_up_that_is_not_proved_has_a_second_one_and_no_third() -> None:
    world = Racing(plan_of(), 1)

    def record(planned: PlannedRun) -> dict[str, Any]:
        seen = {"placement": "unproved" if planned.warmup else "proved"}
        return world.record(planned) | {"race_seen": seen}

    records = world.made(record=record)
    assert [(made["warmup"], made["repetition"]) for made in records] == [(True, 1), (True, 2)]
    assert world.agenda(records).state.decision == "no reference"
    # Who stops between them makes the second one then, and who finds it proved goes on.
    assert next(world.agenda(records[:1]).pending()).key == (
        CASES[0].case_id, True, 2,
    )  # fmt: skip
    proved = [records[0], records[1] | {"race_seen": {"placement": "proved"}}]
    assert next(world.agenda(proved).pending()).block == 1


def test_runs_keep_their_order_after_a_second_warm_up() -> None:
    world = Racing(plan_of(), 1)

    def record(planned: PlannedRun) -> dict[str, Any]:
        unproved = planned.warmup and planned.repetition == 1
        seen = {"placement": "unproved" if unproved else "proved"}
        return world.record(planned) | {"race_seen": seen, "order": planned.order}

    at_once = world.made(record=record)
    stopped = world.made((), 4, record=record)
    resumed = world.made(stopped, record=record)
    assert [made["order"] for made in at_once] == list(range(len(at_once)))
    assert resumed == at_once


def test_a_best_that_fails_in_its_trial_is_reported_and_another_is_tried() -> None:
    world = Racing(plan_of(), 5)
    best, second = CASES[1].case_id, CASES[2].case_id
    sound = world.agenda(world.made()).state
    # Its first run of the trial.
    first = min(sound.confirmation[best])

    def record(planned: PlannedRun) -> dict[str, Any]:
        fails = planned.case_id == best and planned.repetition >= first
        failed = {"status": "failed", "reason": "exit status 3", "race_value": None}
        return world.record(planned) | (failed if fails else {})

    records = world.made(record=record)
    reported: list[Eliminated] = []
    assert not list(world.agenda(records).pending(Listener(eliminated=reported.extend)))
    state = world.agenda(records).state
    assert (state.decision, state.best) == ("gain", second)
    assert [(one.why, one.reason) for one in reported if one.case_id == best] == [
        ("failed", "exit status 3")
    ]
    assert {one.case_id for one in state.eliminated} < {one.case_id for one in reported}
    stopped = world.made((), len(records) - 3, record=record)
    assert world.made(stopped, record=record) == records


def test_each_place_of_a_block_is_each_cases_as_often_and_repetitions_ascend() -> None:
    block = [("a", 3), ("b", 7), ("c", 1), ("c", 2)]
    orders = [shuffled(block, seed, 4) for seed in range(600)]
    assert shuffled(block, 5, 4) == orders[5]
    assert shuffled(block, 5, 6) != orders[5] or shuffled(block, 6, 6) != orders[6]
    for order in orders:
        assert sorted(order) == block
        assert order.index(("c", 1)) < order.index(("c", 2))
    for place in range(4):
        of = Counter(order[place][0] for order in orders)
        # 150 of 600 are expected of a and b, with a deviation of 10.6.
        assert all(105 < of[case_id] < 195 for case_id in "ab")


def test_the_best_is_found_by_fewer_runs_than_at_most() -> None:
    world = Racing(plan_of(), 5)
    records = world.made()
    standing = world.agenda(records).state
    assert (standing.decision, standing.best) == ("gain", CASES[1].case_id)
    assert standing.most_runs is not None
    assert len(records) - 1 == standing.runs < standing.most_runs
    assert list(world.agenda(records).pending()) == []


def test_more_time_or_more_runs_continue_where_less_have_ended() -> None:
    short = Racing(plan_of(Race(runs=10)), 3)
    records = short.made()
    longer = Racing(plan_of(Race(runs=60)), 3)
    assert longer.made(records)[: len(records)] == records
    assert len(longer.made(records)) > len(records)


@given(st.integers(0, 1000), st.integers(0, 60))
@settings(max_examples=30, deadline=None)
def test_wherever_it_stands_what_is_left_is_within_what_was_expected(seed: int, cut: int) -> None:
    world = Racing(plan_of(), seed)
    records = world.made((), cut)
    history = world.history(records)
    left = len(world.made(records)) - len(records)
    assert len(minimum(agenda_of(world.plan, history))) <= left
    assert left <= len(list(agenda_of(world.plan, history).pending()))


def test_a_case_that_cannot_run_now_is_out_and_races_once_it_can() -> None:
    world = Racing(plan_of(), 2)
    best = CASES[1].case_id
    records = world.made((), None, {best})
    assert all(record["case_id"] != best for record in records)
    records = world.made(records)
    standing = world.agenda(records).state
    assert (standing.decision, standing.best) == ("gain", best)


def test_the_state_goes_on_after_a_case_that_cannot_run_now() -> None:
    world = Racing(plan_of(), 2)
    history = world.history([])

    def record(planned: PlannedRun) -> dict[str, Any]:
        failed = {"status": "failed", "reason": "exit status 1", "race_value": None}
        is_reference = planned.case_id == CASES[0].case_id and not planned.warmup
        return world.record(planned) | (failed if is_reference else {})

    world.made(record=record, history=history, impossible={CASES[1].case_id})
    assert agenda_of(world.plan, history).state.decision == "no reference"


def test_a_first_run_is_ended_when_it_takes_much_longer_than_the_shortest_one() -> None:
    world = Racing(plan_of(), 4)
    first, second = CASES[0], CASES[1]
    one = PlannedRun(1, 1, second.case_id, 1, False)
    assert world.agenda([]).limited(second, one).app.limit_s == 10
    history = world.history(world.made((), 1))
    agenda = agenda_of(world.plan, history)
    shortest_s = min(run.elapsed_s for run in history.race_runs.values())
    assert agenda.limited(second, one).app.limit_s == pytest.approx(2 * shortest_s)
    assert agenda.limited(second, one).case_id == second.case_id
    # The reference is never cut, nor a case that goes on.
    assert agenda.limited(first, one._replace(case_id=first.case_id)).app.limit_s == 10
    assert agenda.limited(second, one._replace(repetition=2)).app.limit_s == 10
    by_energy = agenda_of(plan_of(Race(of="energy")), history)
    assert by_energy.limited(second, one).app.limit_s == 10


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
    plan = plan_of()
    gone = SkippedCase(CASES[0], "needs 64 CPUs")
    with pytest.raises(StudyError, match=r"first case of study demo.*needs 64 CPUs"):
        entrants_of(replace(plan, cases=CASES[1:], skipped=(gone,)))
    with pytest.raises(StudyError, match="none to race"):
        entrants_of(replace(plan, cases=CASES[:1]))
