"""A study that repeats until a precision is reached: which runs it makes, also when it is cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from configs.mapping import Mapping
from configs.repetitions import Precision
from runners.plan.case import Case
from runners.plan.engines.base import ON_NODE, Engine
from runners.plan.engines.guest import Vcpus
from runners.plan.plan import Plan
from runners.plan.runs import PlannedRun
from runners.study.history import History
from runners.study.schedule import schedule_of
from tests.runners.cases import PUBLISHED, UNPINNED, case, study
from tests.runners.study.attempts import World, minimum

MOST = 14


@dataclass(frozen=True)
class Noisy(World):
    """Runs of about a second, of which some fail; each case has a noise of its own."""

    deviation: float
    failing: float

    def measured(self, planned: PlannedRun) -> dict[str, Any]:
        draws = random.Random(f"{self.seed}/{planned.key}")
        failed = draws.random() < self.failing
        # Each case has a noise of its own, so that they end at different blocks.
        own = self.deviation * random.Random(f"{self.seed}/{planned.case_id}").uniform(0.1, 2)
        return {
            "status": "failed" if failed else "ok",
            "elapsed_s": max(1e-3, draws.gauss(1.0, own)),
        }

    @cached_property
    def uncut(self) -> list[dict[str, Any]]:
        return self.made()

    def repetitions(self) -> Counter[str]:
        """Return how often each case was run without a cut, warm-up runs left aside."""
        return Counter(record["case_id"] for record in self.uncut if not record["warmup"])


def keys(records: Sequence[dict[str, Any]]) -> list[tuple[str, bool, int]]:
    return [(r["case_id"], r["warmup"], r["repetition"]) for r in records]


def plan_of(order: str, seed: int, precision: Precision | None, guests: bool) -> Plan:
    """Return a plan of two tables under two governors, or of two tables in two boots of a guest."""
    cases = []
    boots: list[tuple[Engine, str]]
    if guests:
        boots = [
            (Vcpus(mapping, (0, 1), 2, 512), "current")
            for mapping in (UNPINNED, Mapping("pcores-set", "pcores", "set"))
        ]
    else:
        boots = [(ON_NODE, "performance"), (ON_NODE, "powersave")]
    for table in (1, 2):
        for engine, governor in boots:
            for number, mapping in enumerate(PUBLISHED[:3], 1):
                cases.append(
                    case(
                        table=table,
                        number=number,
                        threads=table,
                        mapping=mapping,
                        governor=governor,
                        engine=engine,
                    )
                )
    asked = study(repetitions=MOST, order=order, seed=seed, precision=precision)
    return Plan(asked, tuple(cases), (), {})


WORLDS = st.builds(
    lambda order, seed, precision, guests, deviation, failing: Noisy(
        plan_of(order, seed, precision, guests), seed, deviation, failing
    ),
    st.sampled_from(["randomised-blocks", "sequential"]),
    st.integers(0, 10**6),
    st.builds(Precision, st.integers(3, 6), st.sampled_from([0.005, 0.01, 0.02])),
    st.booleans(),
    st.sampled_from([0.0, 0.01, 0.02]),
    st.sampled_from([0.0, 0.2, 1.0]),
)


def group(one: Case) -> tuple[object, ...]:
    return one.table, one.governor, one.engine


def is_baseline(one: Case) -> bool:
    return one.mapping == UNPINNED


def precise_from(world: Noisy, case_id: str) -> Callable[[int], bool]:
    """Return whether a case is known precisely after so many repetitions, as scipy says it."""
    asked = world.plan.study.precision
    assert asked
    runs = {planned.repetition: planned for planned in world.plan.runs
            if planned.case_id == case_id and not planned.warmup}  # fmt: skip

    def precise(after: int) -> bool:
        records = [world.record(runs[repetition]) for repetition in range(1, after + 1)]
        times = [record["elapsed_s"] for record in records if record["status"] == "ok"]
        if len(times) < asked.least:
            return False
        half_width = stats.t.ppf(0.975, len(times) - 1) * stats.sem(times) / np.mean(times)
        # The quantile of the runners is up to 0.75 % smaller: nothing may hang on that.
        assume(abs(half_width / asked.half_width - 1) > 0.01)
        return bool(half_width <= asked.half_width)

    return precise


@settings(max_examples=50)
@given(WORLDS, st.lists(st.integers(0, 60), max_size=4))
def test_a_study_that_is_cut_anywhere_makes_the_same_runs(world: Noisy, cuts: list[int]) -> None:
    records: list[dict[str, Any]] = []
    for cut in cuts:
        records = world.made(records, at_most=cut)
    records = world.made(records)
    assert keys(records) == keys(world.uncut)
    assert world.made(records) == records


@settings(max_examples=50)
@given(WORLDS, st.data())
def test_a_case_that_could_not_run_at_first_changes_nothing_in_the_end(
    world: Noisy, data: st.DataObject
) -> None:
    every = [one.case_id for one in world.plan.cases]
    impossible = data.draw(st.sets(st.sampled_from(every)))
    first = world.made(impossible=impossible, at_most=data.draw(st.integers(0, 200)))
    assert set(keys(first)) <= set(keys(world.uncut))
    assert sorted(keys(world.made(first))) == sorted(keys(world.uncut))


@settings(max_examples=50)
@given(WORLDS)
def test_each_case_ends_at_the_first_block_at_which_it_is_precise(world: Noisy) -> None:
    made = world.repetitions()
    sequential = world.plan.study.order == "sequential"
    for one in world.plan.cases:
        precise = precise_from(world, one.case_id)
        others = [
            made[other.case_id]
            for other in world.plan.cases
            if is_baseline(one) and not sequential and other is not one
            and group(other) == group(one)
        ]  # fmt: skip
        first = max([3, *others])
        expected = next((count for count in range(first, MOST) if precise(count)), MOST)
        assert made[one.case_id] == expected


@settings(max_examples=50)
@given(WORLDS, st.integers(0, 200))
def test_what_is_left_is_between_what_was_said(world: Noisy, cut: int) -> None:
    before = world.made(at_most=cut)
    history = world.history(before)
    left = len(world.uncut) - len(before)
    assert (
        len(minimum(schedule_of(world.plan, history)))
        <= left
        <= len(list(schedule_of(world.plan, history).pending()))
    )
    if left:
        assert minimum(schedule_of(world.plan, history))


@settings(max_examples=50)
@given(WORLDS)
def test_steady_cases_make_the_fewest_runs_and_failing_ones_the_most(world: Noisy) -> None:
    asked = world.plan.study.precision
    assert asked
    steady = replace(world, deviation=0.0, failing=0.0)
    assert set(steady.repetitions().values()) == {asked.least}
    fewest = minimum(schedule_of(steady.plan, History()))
    assert sorted(keys(steady.uncut)) == sorted(planned.key for planned in fewest)
    failing = replace(world, failing=1.0)
    assert set(failing.repetitions().values()) == {MOST}


@settings(max_examples=50)
@given(WORLDS)
def test_a_plain_number_is_made_whatever_the_times_are(world: Noisy) -> None:
    plan = plan_of("randomised-blocks", world.seed, None, guests=False)
    plain = replace(world, plan=plan)
    assert keys(plain.uncut) == [planned.key for planned in plan.runs]
    assert (
        minimum(schedule_of(plan, History()))
        == list(schedule_of(plan, History()).pending())
        == plan.runs
    )


def test_a_baseline_that_lacks_its_run_of_a_block_may_still_need_more() -> None:
    plan = plan_of("randomised-blocks", 1, Precision(3, 0.01), guests=False)
    world = Noisy(plan, 1, 0.0, 0.0)
    baseline = plan.cases[0].case_id
    # A failed run each: the others end at block 4, where the baseline may jump.
    before = []
    for block in range(5):
        for planned in plan.runs:
            if planned.block == block and (block < 4 or planned.case_id != baseline):
                before.append(world.record(planned))
                if block == 3 and planned.case_id != baseline:
                    before[-1]["status"] = "failed"
    history = world.history(before)
    left = Counter(planned.case_id for planned in schedule_of(plan, history).pending())
    assert left == {baseline: MOST - 3}


def test_an_interrupted_run_is_made_again_and_decides_nothing() -> None:
    plan = plan_of("randomised-blocks", 1, Precision(3, 0.01), guests=False)
    world = Noisy(plan, 1, 0.0, 0.0)
    before = world.uncut[:-1]
    before.append(world.uncut[-1] | {"status": "interrupted"})
    assert keys(world.made(before)) == [*keys(before), keys(world.uncut)[-1]]


def test_of_two_records_of_a_run_the_first_counts() -> None:
    plan = plan_of("randomised-blocks", 1, Precision(3, 0.01), guests=False)
    world = Noisy(plan, 1, 0.0, 0.0)
    again = [record | {"elapsed_s": 10.0 ** record["repetition"]} for record in world.uncut]
    assert world.made([*world.uncut, *again]) == [*world.uncut, *again]
