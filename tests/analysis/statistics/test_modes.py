"""Modes of runs, in samples whose modes are known, and in noise that has one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.statistics.modes import (
    Mode,
    hide_what_is_typical,
    modes_of,
    share_of_unseen_modes,
)
from analysis.statistics.unlike import share_of_unseen_slow_runs
from benchmarks.noise import shapes, simulate
from benchmarks.noise.simulate import Pair

Array = NDArray[np.float64]
# Deviations of ten quiet runs.
QUIET = np.array([0.3, -0.5, 0.1, 0.6, -0.2, -0.4, 0.5, -0.1, 0.2, -0.5]) / 100
STUDIES = 1000


def in_modes(*of: tuple[int, float]) -> Array:
    """Return quiet runs, so many about each value."""
    middles = np.concatenate([np.full(count, value) for count, value in of])
    return middles + np.resize(QUIET, len(middles))


@pytest.mark.parametrize("slow", [2, 5, 8])
def test_both_modes_are_found_with_their_counts(slow: int) -> None:
    found = modes_of(in_modes((10 - slow, -0.05), (slow, 0.05)))
    assert found is not None
    assert [mode.count for mode in found.modes] == [10 - slow, slow]
    assert found.modes[1].value - found.modes[0].value == pytest.approx(0.1, abs=0.01)


def test_equal_values_have_exact_modes() -> None:
    found = modes_of(np.array([0.0] * 6 + [0.1] * 4))
    assert found is not None
    assert found.modes == (Mode(6, 0.0), Mode(4, 0.1))


def test_three_modes_are_found_and_a_rare_run_beside_two_is_none() -> None:
    three = modes_of(in_modes((4, 0), (3, 0.2), (3, 0.4)))
    assert three is not None
    assert [mode.count for mode in three.modes] == [4, 3, 3]
    two = modes_of(in_modes((5, 0), (4, 0.1), (1, 0.9)))
    assert two is not None
    assert [mode.count for mode in two.modes] == [5, 4]


@pytest.mark.parametrize(
    "logs",
    [
        in_modes((9, 0), (1, 0.1)),
        in_modes((18, 0), (2, 0.1)),
        in_modes((6, 0), (4, 0.008)),
        in_modes((4, 0)),
        np.zeros(10),
    ],
    ids=["a slow run", "two of twenty", "within the margin", "four runs", "equal"],
)
def test_rare_runs_small_steps_and_few_runs_are_no_modes(logs: Array) -> None:
    assert modes_of(logs) is None


def test_of_very_many_runs_the_modes_have_their_counts() -> None:
    found = modes_of(in_modes((30_000, 0), (20_000, 0.1)))
    assert found is not None
    assert [mode.count for mode in found.modes] == pytest.approx([30_000, 20_000], rel=0.01)
    assert found.n == 50_000


@pytest.mark.parametrize("n", [5, 10, 20, 50])
def test_noise_in_one_mode_is_seldom_said_to_have_several(n: int) -> None:
    # Bounds are the table "modes" of `make noise` and three standard errors of 1000 studies.
    assert simulate.told_modes(shapes.NORMAL1, n, STUDIES, seed=41) <= 0.035
    assert simulate.told_modes(shapes.EXPONENTIAL, n, STUDIES, seed=41) <= 0.07


def test_a_step_that_pairs_share_hides_nothing_and_modes_of_one_case_do() -> None:
    steps = in_modes((5, 0), (5, 0.1))
    other = steps[::-1]
    assert modes_of(steps) is not None
    assert not hide_what_is_typical(steps, steps + QUIET[::-1], paired=True)
    assert hide_what_is_typical(steps, steps + QUIET[::-1], paired=False)
    assert hide_what_is_typical(steps, np.full(10, 0.05) + QUIET, paired=True)
    assert hide_what_is_typical(steps, other, paired=True)


def test_modes_that_the_noise_of_blocks_hides_are_found_in_the_ratios() -> None:
    blocks = 0.2 * np.random.default_rng(3).normal(size=10)
    a, b = in_modes((8, 0.05), (2, -0.05)) + blocks, QUIET[::-1] + blocks
    assert modes_of(a) is None
    assert hide_what_is_typical(a, b, paired=True)


def test_modes_change_no_word_where_all_runs_of_one_are_beyond_the_others() -> None:
    modes, far = in_modes((5, 0), (5, 0.1)), QUIET + 0.5
    assert not hide_what_is_typical(modes, far, paired=True)
    assert not hide_what_is_typical(far, modes, paired=False)
    # Five runs of each are apart by chance too often.
    assert hide_what_is_typical(modes[::2], far[::2], paired=True)


@pytest.mark.parametrize("mappings", [2, 5])
@pytest.mark.parametrize("n", [10, 20])
def test_two_equal_modes_against_a_quiet_case_are_seldom_called_different(
    n: int, mappings: int
) -> None:
    # Without the rule 11 of 100 studies of two mappings do (binomial), and 37 of five.
    pair = Pair(shapes.EQUAL_MODES, shapes.QUIET)
    allowed = 1 - (1 - 22 / 1024) ** (mappings - 1) if n == 10 else 0.01
    assert simulate.wrong_words(pair, n, 400, 42, mappings=mappings) <= allowed + 0.035


@pytest.mark.parametrize("n", [5, 10, 20, 30])
def test_what_is_said_of_missed_modes_is_an_upper_bound(n: int) -> None:
    found = simulate.wrong_words(Pair(shapes.SLOW25, shapes.QUIET), n, 400, seed=43)
    assert found <= share_of_unseen_modes(n, 1) + 0.065


@pytest.mark.parametrize("mappings", [2, 5])
@pytest.mark.parametrize("n", [5, 10, 30])
def test_what_is_said_of_means_with_rare_slow_runs_is_an_upper_bound(n: int, mappings: int) -> None:
    pair = Pair(shapes.SLOW10, shapes.QUIET)
    found = simulate.wrong_words_of_means(pair, n, mappings, 400, seed=44)
    assert found <= share_of_unseen_slow_runs(n, mappings - 1) + 0.075
