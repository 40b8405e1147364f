"""Runs are made in randomised complete blocks, the same for the same seed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runners.order import plan_order

CASES = ["a", "b", "c", "d", "e"]


def test_each_block_is_a_complete_pass_over_all_cases() -> None:
    runs = plan_order(CASES, repetitions=4, warmup=1, order="randomised-blocks", seed=7)
    assert [run.order for run in runs] == list(range(25))
    for block in range(5):
        of_block = [run for run in runs if run.block == block]
        assert sorted(run.case_id for run in of_block) == CASES
        assert all(run.warmup == (block == 0) for run in of_block)


def test_the_seed_decides_the_order() -> None:
    def order(seed: int) -> list[str]:
        return [run.case_id for run in plan_order(CASES, 10, 0, "randomised-blocks", seed)]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_blocks_differ_from_each_other() -> None:
    runs = plan_order(CASES, 10, 0, "randomised-blocks", 1)
    passes = {tuple(run.case_id for run in runs[i : i + 5]) for i in range(0, 50, 5)}
    assert len(passes) > 5


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
