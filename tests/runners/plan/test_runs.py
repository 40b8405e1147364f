"""Runs are made in randomised complete blocks, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.results.turns import Made, are_in_turn
from runners.plan.case import Case
from runners.plan.runs import Forecast, PlannedRun, plan_groups, plan_order
from runners.records.race_state import OVERHEAD_S
from tests.runners.cases import DEMO, SMALL, case

CASES = ["a", "b", "c", "d", "e"]


def test_each_block_is_a_complete_pass_over_all_cases() -> None:
    runs = plan_order(CASES, repetitions=4, warmup=1, order="randomised-blocks", seed=7)
    assert [run.order for run in runs] == list(range(25))
    assert [run.block for run in runs] == [block for block in range(5) for _ in CASES]
    for block in range(5):
        of_block = [run for run in runs if run.block == block]
        assert sorted(run.case_id for run in of_block) == CASES
        assert all(run.warmup == (block == 0) for run in of_block)


def test_the_seed_decides_the_order_and_blocks_differ() -> None:
    def order(seed: int) -> list[str]:
        return [run.case_id for run in plan_order(CASES, 10, 0, "randomised-blocks", seed)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert len({tuple(order(1)[start : start + 5]) for start in range(0, 50, 5)}) > 5


def test_positions_are_fair() -> None:
    # Each of 5 cases comes first in 1/5 of 2000 blocks: 400, standard deviation 17.9.
    runs = plan_order(CASES, 2000, 0, "randomised-blocks", 3)
    first = Counter(run.case_id for run in runs[::5])
    assert all(400 - 5 * 17.9 < first[case] < 400 + 5 * 17.9 for case in CASES)


def test_sequential_keeps_a_case_together_with_its_warmup_first() -> None:
    runs = plan_order(["a", "b"], 2, 1, "sequential", 1)
    assert [(run.case_id, run.warmup, run.repetition) for run in runs] == [
        ("a", True, 1),
        ("a", False, 1),
        ("a", False, 2),
        ("b", True, 1),
        ("b", False, 1),
        ("b", False, 2),
    ]


@given(st.sets(st.text("abcdef", min_size=1), min_size=2, max_size=8), st.integers(0, 9))
def test_a_case_that_leaves_does_not_reorder_the_others(cases: set[str], seed: int) -> None:
    gone = min(cases)
    everyone = [r.key for r in plan_order(sorted(cases), 3, 1, "randomised-blocks", seed)]
    others = [r.key for r in plan_order(sorted(cases - {gone}), 3, 1, "randomised-blocks", seed)]
    assert [key for key in everyone if key[0] != gone] == others


def grouped(names: dict[str, int]) -> dict[str, list[str]]:
    """Return so many cases for each name, called after it."""
    return {name: [f"{name}/{number}" for number in range(count)] for name, count in names.items()}


def group_of(run: PlannedRun) -> str:
    return run.case_id.rpartition("/")[0]


GROUPS = st.dictionaries(st.text("abcdef", min_size=1), st.integers(1, 4), max_size=6).map(grouped)
ORDERS = st.sampled_from(["randomised-blocks", "sequential"])


@given(GROUPS, st.integers(1, 4), st.integers(0, 2), ORDERS, st.integers(0, 9))
def test_groups_take_turns_and_every_run_is_made_once(
    groups: dict[str, list[str]], repetitions: int, warmup: int, order: str, seed: int
) -> None:
    runs = plan_groups(groups, repetitions, warmup, order, seed)
    in_turn = len(groups) > 1 and order == "randomised-blocks"
    boots = (repetitions + 1) // 2 if in_turn else 1
    assert [run.order for run in runs] == list(range(len(runs)))
    assert len([name for name, _ in groupby(runs, group_of)]) == len(groups) * boots
    wanted = {
        (case, is_warmup, number)
        for cases in groups.values()
        for case in cases
        for is_warmup, count in ((True, warmup * boots), (False, repetitions))
        for number in range(1, count + 1)
    }
    assert sorted(run.key for run in runs) == sorted(wanted)


@given(GROUPS, st.integers(1, 9), st.integers(0, 2), st.integers(0, 9))
def test_each_boot_makes_two_blocks_behind_its_warm_up_runs(
    groups: dict[str, list[str]], repetitions: int, warmup: int, seed: int
) -> None:
    runs = plan_groups(groups, repetitions, warmup, "randomised-blocks", seed)
    if len(groups) < 2:
        return
    for name, boot in groupby(runs, group_of):
        made = list(boot)
        count = warmup * len(groups[name])
        assert all(run.warmup for run in made[:count])
        assert len({run.block for run in made[count:]}) in (1, 2)


@pytest.mark.parametrize("repetitions", range(3, 40))
def test_runs_of_two_groups_are_in_turn(repetitions: int) -> None:
    runs = plan_groups(grouped({"a": 1, "b": 1, "c": 2}), repetitions, 1, "randomised-blocks", 3)
    of_a, of_b = (
        np.array([float(run.order) for run in runs if run.case_id == case and not run.warmup])
        for case in ("a/0", "b/0")
    )
    none = np.full(repetitions, np.nan)
    assert are_in_turn(Made(none, of_a, of_a), Made(none, of_b, of_b))


@given(GROUPS, st.integers(1, 6), st.integers(0, 2), st.integers(0, 9))
def test_workers_that_divide_blocks_make_each_once(
    groups: dict[str, list[str]], repetitions: int, warmup: int, seed: int
) -> None:
    order = "randomised-blocks"
    whole = plan_groups(groups, repetitions, warmup, order, seed)
    parts = [
        plan_groups(groups, repetitions, warmup, order, seed, range(first, repetitions + 1, 2))
        for first in (1, 2)
    ]
    measured = [run.key for part in parts for run in part if not run.warmup]
    assert sorted(measured) == sorted(run.key for run in whole if not run.warmup)


@given(GROUPS, st.integers(1, 2), st.integers(0, 2), ORDERS, st.integers(0, 9))
def test_within_a_group_runs_are_ordered_as_if_it_were_alone(
    groups: dict[str, list[str]], repetitions: int, warmup: int, order: str, seed: int
) -> None:
    runs = plan_groups(groups, repetitions, warmup, order, seed)
    for name, cases in groups.items():
        alone = plan_order(cases, repetitions, warmup, order, seed)
        inside = [(run.key, run.block) for run in runs if group_of(run) == name]
        assert inside == [(run.key, run.block) for run in alone]


@given(GROUPS.filter(lambda groups: len(groups) > 1), ORDERS, st.integers(0, 9))
def test_a_group_that_leaves_does_not_reorder_the_others(
    groups: dict[str, list[str]], order: str, seed: int
) -> None:
    gone = min(groups)
    everyone = [run.key for run in plan_groups(groups, 2, 1, order, seed) if group_of(run) != gone]
    others = {name: cases for name, cases in groups.items() if name != gone}
    assert everyone == [run.key for run in plan_groups(others, 2, 1, order, seed)]


@given(GROUPS, st.integers(0, 9), st.randoms())
def test_the_order_in_which_groups_are_listed_decides_nothing(
    groups: dict[str, list[str]], seed: int, random: Random
) -> None:
    names = list(groups)
    random.shuffle(names)
    listed = {name: groups[name] for name in names}
    order = "randomised-blocks"
    assert plan_groups(listed, 2, 1, order, seed) == plan_groups(groups, 2, 1, order, seed)


def test_every_group_comes_first_as_often() -> None:
    # Each of 4 groups comes first for 1/4 of 2000 seeds: 500, standard deviation 19.4.
    groups = grouped(dict.fromkeys("abcd", 1))
    first = Counter(
        group_of(plan_groups(groups, 1, 0, "randomised-blocks", seed)[0]) for seed in range(2000)
    )
    assert all(500 - 5 * 19.4 < first[name] < 500 + 5 * 19.4 for name in "abcd")


def test_sequential_groups_keep_the_study_s_order() -> None:
    groups = grouped({"z": 1, "a": 2, "m": 1})
    runs = plan_groups(groups, 2, 0, "sequential", 1)
    assert [name for name, _ in groupby(runs, lambda run: run.case_id)] == [
        "z/0", "a/0", "a/1", "m/0",
    ]  # fmt: skip


TWO = case(threads=2)
ONE = case(threads=1, cpus=(4,))


UNKNOWN = case(size=replace(SMALL, name="other", estimate_s=None))


def forecast_of(*cases: Case, earlier_s: dict[str, float] | None = None) -> Forecast:
    ids = [case.case_id for case in cases]
    return Forecast(cases, ids, earlier_s or {})


def test_each_run_corrects_the_forecast_of_its_case_and_of_its_app() -> None:
    forecast = forecast_of(ONE, TWO, TWO)
    # The hint of 2 s is for one thread.
    assert forecast.pending_s == pytest.approx(2.0 + 2 * 1.0 + 3 * OVERHEAD_S)
    forecast.count_run(TWO.case_id, 0.5)
    # The app takes half of what its hint says, with one thread probably as well.
    assert forecast.pending_s == pytest.approx(1.0 + 0.5 + 2 * OVERHEAD_S)
    assert (forecast.program_s(ONE.case_id), forecast.program_s(TWO.case_id)) == (1.0, 0.5)
    forecast.count_run(ONE.case_id, 3.0)
    forecast.count_run(TWO.case_id, 0.6)
    assert forecast.pending_s == pytest.approx(0.0)


def test_a_hint_is_of_a_fast_cpu_and_a_slower_one_takes_longer() -> None:
    # CPU 4 has half the speed; of more CPUs than threads the fastest count.
    speeds = {0: 1.0, 1: 1.0, 4: 0.5, 5: 0.5}
    mixed = case(threads=2, cpus=(0, 4), number=2)
    many = case(threads=2, cpus=(4, 5, 1, 0), number=3)
    cases = (ONE, mixed, many)
    forecast = Forecast(cases, (), {}, speeds)
    seconds = [forecast.program_s(each.case_id) for each in cases]
    assert seconds == [pytest.approx(4.0), pytest.approx(4 / 3), pytest.approx(1.0)]


def test_threads_that_share_cpus_take_longer_and_a_given_time_is_the_same_anywhere() -> None:
    paired = case(threads=2, cpus=(0, 0), number=2)
    crowded = case(threads=8, cpus=(0, 1), number=3)
    told = case(threads=8, cpus=(4,), app=replace(DEMO, fixed_time=True), number=4)
    cases = (paired, crowded, told)
    forecast = Forecast(cases, (), {}, {0: 1.0, 1: 1.0, 4: 0.5})
    assert [forecast.program_s(each.case_id) for each in cases] == [2.0, 1.0, 2.0]


def test_measured_times_of_earlier_attempts_come_before_hints() -> None:
    forecast = forecast_of(ONE, earlier_s={ONE.case_id: 7.0})
    assert forecast.pending_s == pytest.approx(7.0 + OVERHEAD_S)


def test_a_case_without_a_hint_makes_it_unknown_until_it_has_run() -> None:
    forecast = forecast_of(UNKNOWN, UNKNOWN, UNKNOWN)
    for elapsed_s, left_s in ((None, None), (1.0, pytest.approx(1.0 + OVERHEAD_S)), (None, 0.0)):
        forecast.count_run(UNKNOWN.case_id, elapsed_s)
        assert forecast.pending_s == left_s
