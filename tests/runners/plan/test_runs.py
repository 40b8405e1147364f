"""Runs are made in randomised complete blocks, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.analysis.results.baselines import Made, are_in_turn
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.runs import Forecast, PlannedRun, plan_groups, plan_order
from pinstudy.runners.records.race_state import OVERHEAD_S
from tests.runners.cases import DEMO, SMALL, case

CASES = ["a", "b", "c", "d", "e"]
BLOCKS = "randomised-blocks"
ALL = [BLOCKS, "balanced", "sequential"]


def test_each_block_is_a_complete_pass_over_all_cases() -> None:
    runs = plan_order(CASES, repetitions=4, warmup=1, order=BLOCKS, seed=7)
    assert [run.order for run in runs] == list(range(25))
    for block, start in enumerate(range(0, 25, 5)):
        in_block = runs[start : start + 5]
        assert sorted(run.case_id for run in in_block) == CASES
        assert {(run.block, run.warmup) for run in in_block} == {(block, block == 0)}


def test_the_seed_decides_the_order_and_blocks_differ() -> None:
    def order(seed: int) -> list[str]:
        return [run.case_id for run in plan_order(CASES, 10, 0, "randomised-blocks", seed)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert len({tuple(order(1)[start : start + 5]) for start in range(0, 50, 5)}) > 5


def grouped(names: dict[str, int]) -> dict[str, list[str]]:
    """Return so many cases for each name, called after it."""
    return {name: [f"{name}/{number}" for number in range(count)] for name, count in names.items()}


def group_of(run: PlannedRun) -> str:
    return run.case_id.rpartition("/")[0]


def test_cases_and_groups_come_first_equally_often() -> None:
    # Of 2000 draws, 5 cases come first in 400 (standard deviation 17.9), 4 groups in 500 (19.4).
    runs = plan_order(CASES, 2000, 0, BLOCKS, 3)
    groups = grouped(dict.fromkeys("abcd", 1))
    first = [plan_groups(groups, 1, 0, BLOCKS, seed)[0] for seed in range(2000)]
    cases = Counter(run.case_id for run in runs[::5])
    assert all(abs(cases[name] - 400) < 5 * 17.9 for name in CASES)
    assert all(abs(count - 500) < 5 * 19.4 for count in Counter(map(group_of, first)).values())


def test_sequential_keeps_the_study_s_order_and_a_case_s_warmup_first() -> None:
    runs = plan_groups(grouped({"z": 1, "a": 2}), 2, 1, "sequential", 1)
    repetitions = [(True, 1), (False, 1), (False, 2)]
    assert [(run.case_id, run.warmup, run.repetition) for run in runs] == [
        (name, *repetition) for name in ("z/0", "a/0", "a/1") for repetition in repetitions
    ]


GROUPS = st.dictionaries(st.text("abcdef", min_size=1), st.integers(1, 4), max_size=6).map(grouped)
ORDERS = st.sampled_from([BLOCKS, "sequential"])


@given(GROUPS, st.integers(1, 9), st.integers(0, 2), st.sampled_from(ALL), st.integers(0, 9))
def test_groups_take_turns_of_two_blocks_and_every_run_is_made_once(
    groups: dict[str, list[str]], repetitions: int, warmup: int, order: str, seed: int
) -> None:
    runs = plan_groups(groups, repetitions, warmup, order, seed)
    in_turn = len(groups) > 1 and order != "sequential"
    boots = (repetitions + 1) // 2 if in_turn else 1
    assert [run.order for run in runs] == list(range(len(runs)))
    made = [(name, list(boot)) for name, boot in groupby(runs, group_of)]
    assert len(made) == len(groups) * boots
    wanted = {
        (case, is_warmup, number)
        for cases in groups.values()
        for case in cases
        for is_warmup, count in ((True, warmup * boots), (False, repetitions))
        for number in range(1, count + 1)
    }
    assert sorted(run.key for run in runs) == sorted(wanted)
    for name, boot in made if in_turn else ():
        count = warmup * len(groups[name])
        assert all(run.warmup for run in boot[:count])
        assert len({run.block for run in boot[count:]}) in (1, 2)


@pytest.mark.parametrize("repetitions", [3, 4, 9, 16, 39])
def test_runs_of_two_groups_are_in_turn(repetitions: int) -> None:
    runs = plan_groups(grouped({"a": 1, "b": 1, "c": 2}), repetitions, 1, BLOCKS, 3)
    first, second = (
        np.array([float(run.order) for run in runs if run.case_id == case and not run.warmup])
        for case in ("a/0", "b/0")
    )
    none = np.full(repetitions, np.nan)
    assert are_in_turn(Made(none, first, first), Made(none, second, second))


@given(GROUPS, st.integers(1, 6), st.integers(0, 2), st.sampled_from(ALL), st.integers(0, 9))
def test_workers_that_divide_blocks_make_each_once(
    groups: dict[str, list[str]], repetitions: int, warmup: int, order: str, seed: int
) -> None:
    whole = plan_groups(groups, repetitions, warmup, order, seed)
    parts = [
        plan_groups(groups, repetitions, warmup, order, seed, range(first, repetitions + 1, 2))
        for first in (1, 2)
    ]
    measured = [run.key for part in parts for run in part if not run.warmup]
    assert sorted(measured) == sorted(run.key for run in whole if not run.warmup)


@given(GROUPS, st.integers(1, 2), st.integers(0, 2), ORDERS, st.integers(0, 9))
def test_neither_other_groups_nor_a_case_that_leaves_nor_their_order_reorder_runs(
    groups: dict[str, list[str]], repetitions: int, warmup: int, order: str, seed: int
) -> None:
    def keys(some: dict[str, list[str]]) -> list[tuple[str, bool, int]]:
        return [run.key for run in plan_groups(some, repetitions, warmup, order, seed)]

    runs = plan_groups(groups, repetitions, warmup, order, seed)
    for name, cases in groups.items():
        alone = plan_order(cases, repetitions, warmup, order, seed)
        inside = [(run.key, run.block) for run in runs if group_of(run) == name]
        assert inside == [(run.key, run.block) for run in alone]
        fewer = plan_order(cases[1:], repetitions, warmup, order, seed)
        assert [run.key for run in alone if run.case_id != cases[0]] == [run.key for run in fewer]
    if len(groups) > 2:
        left = {name: cases for name, cases in groups.items() if name != min(groups)}
        assert [run.key for run in runs if group_of(run) in left] == keys(left)
    if order == BLOCKS:
        assert keys(dict(reversed(groups.items()))) == [run.key for run in runs]


def balanced(
    count: int, repetitions: int, seed: int, warmup: int = 0, blocks: range | None = None
) -> list[PlannedRun]:
    names = [f"c{number}" for number in range(count)]
    return plan_order(names, repetitions, warmup, "balanced", seed, blocks)


def blocks_in(runs: list[PlannedRun]) -> list[list[str]]:
    return [[run.case_id for run in block] for _, block in groupby(runs, lambda run: run.block)]


@given(st.integers(2, 9), st.integers(0, 2), st.integers(0, 1000))
def test_in_a_cycle_of_balanced_blocks_each_case_follows_each_twice(
    count: int, cycle: int, seed: int
) -> None:
    rows = blocks_in(balanced(count, 2 * count * 3, seed))[cycle * 2 * count :][: 2 * count]
    cases = [case for row in rows for case in row]
    follows = Counter(zip([cases[0], *cases], cases, strict=False))
    assert len(follows) == count**2
    assert set(follows.values()) == {2}
    for place in zip(*rows, strict=True):
        assert set(Counter(place).values()) == {2}


@given(st.integers(1, 9), st.integers(1, 30), st.integers(0, 2), st.integers(0, 1000))
def test_a_balanced_block_begins_with_the_case_that_was_run_last(
    count: int, repetitions: int, warmup: int, seed: int
) -> None:
    runs = balanced(count, repetitions, seed, warmup=warmup)
    rows = blocks_in([run for run in runs if not run.warmup])
    assert all(sorted(row) == sorted(rows[0]) for row in rows)
    assert all(before[-1] == row[0] for before, row in pairwise(rows))
    if warmup:
        assert runs[count * warmup - 1].case_id == rows[0][0]
    # No ordered pair of cases is more than twice in one cycle, however few blocks there are.
    pairs = Counter(pair for row in rows[: 2 * count] for pair in pairwise(row))
    assert max(pairs.values(), default=0) <= 2


def test_the_seed_chooses_among_balanced_orders_and_all_pairs_come_equally_often() -> None:
    # Three blocks of four cases: each of 16 pairs is expected in 3 / 4 of 1600 seeds.
    follows: Counter[tuple[str, str]] = Counter()
    for seed in range(1600):
        cases = [run.case_id for run in balanced(4, 3, seed)]
        follows.update(zip([cases[0], *cases], cases, strict=False))
    assert len(follows) == 16
    assert all(abs(count - 1200) < 5 * 1200**0.5 for count in follows.values())


def test_a_worker_s_own_blocks_are_a_chain() -> None:
    rows = blocks_in(balanced(5, 12, 7, blocks=range(2, 13, 2)))
    assert len(rows) == 6
    assert all(before[-1] == row[0] for before, row in pairwise(rows))


def test_a_study_of_thousands_of_cases_is_ordered_at_once() -> None:
    assert len({run.case_id for run in balanced(5000, 2, 1)}) == 5000


TWO = case(threads=2)
ONE = case(threads=1, cpus=(4,))
UNKNOWN = case(size=replace(SMALL, name="other", estimate_s=None))


def forecast_of(*cases: Case, earlier_s: dict[str, float] | None = None) -> Forecast:
    return Forecast(cases, [case.case_id for case in cases], earlier_s or {})


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


def test_a_hint_is_of_one_fast_cpu_and_a_slower_one_takes_longer() -> None:
    # CPU 4 has half the speed; of more CPUs than threads the fastest count.
    speeds = {0: 1.0, 1: 1.0, 4: 0.5, 5: 0.5}
    told = case(threads=8, cpus=(4,), app=replace(DEMO, fixed_time=True), number=6)
    seconds = [
        (ONE, 4.0),
        (case(threads=2, cpus=(0, 4), number=2), 4 / 3),
        (case(threads=2, cpus=(4, 5, 1, 0), number=3), 1.0),
        # Threads that share CPUs take longer; a given time is the same anywhere.
        (case(threads=2, cpus=(0, 0), number=4), 2.0),
        (case(threads=8, cpus=(0, 1), number=5), 1.0),
        (told, 2.0),
    ]
    forecast = Forecast([run for run, _ in seconds], (), {}, speeds)
    for run, expected_s in seconds:
        assert forecast.program_s(run.case_id) == pytest.approx(expected_s), run.number


def test_measured_times_of_earlier_attempts_come_before_hints() -> None:
    forecast = forecast_of(ONE, earlier_s={ONE.case_id: 7.0})
    assert forecast.pending_s == pytest.approx(7.0 + OVERHEAD_S)


def test_a_case_without_a_hint_makes_it_unknown_until_it_has_run() -> None:
    forecast = forecast_of(UNKNOWN, UNKNOWN, UNKNOWN)
    for elapsed_s, left_s in ((None, None), (1.0, pytest.approx(1.0 + OVERHEAD_S)), (None, 0.0)):
        forecast.count_run(UNKNOWN.case_id, elapsed_s)
        assert forecast.pending_s == left_s
