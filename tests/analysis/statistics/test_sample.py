"""Samples described, their modes, slow runs and spreads, with answers known from elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pinstudy.analysis.statistics.modes import Mode, hide_what_is_typical, modes_of
from pinstudy.analysis.statistics.sample import Interval, describe, expanded_level
from pinstudy.analysis.statistics.unlike import (
    SlowRuns,
    least_to_see,
    p_of_shares,
    p_of_spreads,
    slow_runs,
    spread_times,
    unseen,
)

Array = NDArray[np.float64]
FINITE = st.floats(min_value=1e-6, max_value=1e9)


def array(*values: float) -> NDArray[np.float64]:
    return np.array(values)


def test_few_values_have_no_intervals_and_equal_ones_no_width() -> None:
    single, four, six, hundred = describe(
        [array(3), array(1, 2, 3, 4), array(*[2] * 6), array(*[2] * 100)]
    )
    assert math.isnan(single.sd)
    for few in (single, four):
        assert few.mean_interval is few.median_interval is None
    for equal in (six, hundred):
        assert equal.mean_interval == equal.median_interval == Interval(2, 2)
        assert equal.outliers == ()


def test_the_level_of_a_small_sample_is_expanded() -> None:
    # Phi(-sqrt(10 / 9) * 2.262157) = 0.00855 in each tail.
    assert expanded_level(10) == pytest.approx(1 - 2 * 0.00855, abs=1e-4)
    assert expanded_level(100_000) == pytest.approx(0.95, abs=1e-4)


@pytest.mark.parametrize("n", [100, 999])
def test_the_mean_of_a_large_sample_without_skewness_has_students_interval(n: int) -> None:
    half = np.random.default_rng(7).normal(size=n // 2)
    values = 50 + np.concatenate([half, -half, np.zeros(n % 2)])
    (sample,) = describe([values])
    expected = stats.t.interval(0.95, n - 1, 50, np.std(values, ddof=1) / math.sqrt(n))
    assert sample.mean_interval is not None
    assert (sample.mean_interval.low, sample.mean_interval.high) == pytest.approx(expected)


def test_the_mean_of_a_large_skewed_sample_has_the_bootstraps_interval() -> None:
    values = np.random.default_rng(8).exponential(size=150)
    (sample,) = describe([values])
    bootstrap = stats.bootstrap(
        (values,), np.mean, n_resamples=100_000, confidence_level=expanded_level(150),
        method="BCa", random_state=np.random.default_rng(9),
    ).confidence_interval  # fmt: skip
    width = bootstrap.high - bootstrap.low
    assert sample.mean_interval is not None
    assert sample.mean_interval.low == pytest.approx(bootstrap.low, abs=0.02 * width)
    assert sample.mean_interval.high == pytest.approx(bootstrap.high, abs=0.02 * width)
    # Further above the mean than below it.
    assert sample.mean_interval.high + sample.mean_interval.low > 2.05 * sample.mean


@pytest.mark.parametrize("n", [100, 101, 250, 1000])
def test_two_values_bound_the_median_of_a_large_sample(n: int) -> None:
    # The median is between the k-th value and the k-th last unless fewer than k, or more than
    # n - k, of the values are below it, each with probability 1/2.
    (sample,) = describe([np.arange(n, 0, -1.0)])
    interval = sample.median_interval
    assert interval is not None
    k = int(interval.low)
    assert interval == Interval(k, n + 1 - k)
    covered = sum(math.comb(n, below) for below in range(k, n - k + 1)) / 2**n
    one_further = sum(math.comb(n, below) for below in range(k + 1, n - k)) / 2**n
    assert one_further < 0.95 <= covered


@pytest.mark.parametrize(
    ("values", "position", "score"),
    [
        # Median 10.2, median absolute deviation 0.1: 14 is 0.6745 * 3.8 / 0.1 deviations away.
        (array(10.0, 10.1, 10.2, 10.3, 14.0, 10.2, 10.4), 4, 0.6745 * 3.8 / 0.1),
        (array(1, 1, 1, 1, 1, 1, 1, 1, 1, 2), 9, None),
    ],
    ids=["far away", "among equal ones"],
)
def test_an_outlier_is_named_and_kept(values: Array, position: int, score: float | None) -> None:
    (sample,) = describe([values])
    ((at, its_score),) = sample.outliers
    assert at == position
    assert score is None or its_score == pytest.approx(score, rel=1e-3)
    assert sample.n == len(values)
    assert sample.mean == pytest.approx(np.mean(values))


def test_the_same_seed_gives_the_same_intervals_alone_and_among_others() -> None:
    rng = np.random.default_rng(6)
    samples = [rng.normal(100, 1, n) for n in (7, 12, 7, 30)]
    together = describe(samples, seed=3)
    assert together == [describe([values], seed=3)[0] for values in samples]
    assert together[1].mean_interval != describe(samples, seed=4)[1].mean_interval


@given(st.lists(FINITE, min_size=1, max_size=12))
@example([109330149.86978738] * 6)
def test_whatever_is_measured_can_be_described(values: list[float]) -> None:
    (sample,) = describe([np.array(values)])
    assert min(values) <= sample.median <= max(values)
    if sample.mean_interval:
        slack = 1e-9 * max(values)
        assert min(values) - slack <= sample.mean_interval.low
        assert sample.mean_interval.low <= sample.mean_interval.high <= max(values) + slack


# Deviations of ten quiet runs.
QUIET = np.array([0.3, -0.5, 0.1, 0.6, -0.2, -0.4, 0.5, -0.1, 0.2, -0.5]) / 100


def in_modes(*modes: tuple[int, float]) -> Array:
    """Return quiet runs, so many about each value."""
    middles = np.concatenate([np.full(count, value) for count, value in modes])
    return middles + np.resize(QUIET, len(middles))


@pytest.mark.parametrize(
    ("made", "found"),
    [
        *(([(10 - slow, -0.05), (slow, 0.05)], [10 - slow, slow]) for slow in (2, 5, 8)),
        ([(4, 0), (3, 0.2), (3, 0.4)], [4, 3, 3]),
        # A rare run beside two modes is none.
        ([(5, 0), (4, 0.1), (1, 0.9)], [5, 4]),
        ([(30_000, 0), (20_000, 0.1)], [30_000, 20_000]),
        ([(9, 0), (1, 0.1)], []),
        ([(18, 0), (2, 0.1)], []),
        # Within the margin.
        ([(6, 0), (4, 0.008)], []),
        ([(4, 0)], []),
    ],
)
def test_modes_are_found_with_their_counts(made: list[tuple[int, float]], found: list[int]) -> None:
    modes = modes_of(in_modes(*made))
    counts = [mode.count for mode in modes.modes] if modes else []
    assert counts == pytest.approx(found, rel=0.01)
    for mode, (_, value) in zip(modes.modes if modes else (), made, strict=False):
        assert mode.value == pytest.approx(value, abs=0.01)


def test_equal_values_have_exact_modes() -> None:
    found = modes_of(np.array([0.0] * 6 + [0.1] * 4))
    assert found is not None
    assert found.modes == (Mode(6, 0.0), Mode(4, 0.1))
    assert modes_of(np.zeros(10)) is None


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
    # Seven runs of each are apart by chance too often.
    assert not hide_what_is_typical(modes[1:9], far[1:9], paired=True)
    assert hide_what_is_typical(modes[2:9], far[2:9], paired=True)


STEADY = np.array([10.0, 10.01, 9.99, 10.02, 9.98, 10.0, 10.01, 9.99, 10.0, 10.0])


def test_slow_runs_are_counted_with_how_slow_they_are() -> None:
    found = slow_runs(np.append(STEADY, [11.0, 10.8]))
    # The median is 10.0; of the run at 10.02 nobody would say that it is slow.
    assert found is not None
    assert (found.count, found.n) == (2, 12)
    assert (found.least, found.most) == pytest.approx((0.08, 0.1))


@pytest.mark.parametrize(
    ("times", "found"),
    [
        (np.append(STEADY, [9.0, 10.2]), SlowRuns(0, 12)),
        (array(8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 8.5, 9.5), SlowRuns(0, 8)),
        (STEADY[:4], None),
    ],
    ids=["fast, and a little slower", "within the noise", "fewer than five"],
)
def test_what_is_not_surely_slow_is_not_counted(times: Array, found: SlowRuns | None) -> None:
    assert slow_runs(times) == found


def test_the_test_of_shares_is_exact() -> None:
    a, b = SlowRuns(5, 20, 0.1, 0.1), SlowRuns(0, 20)
    expected = stats.boschloo_exact([[5, 0], [15, 20]]).pvalue
    assert p_of_shares(a, b) == pytest.approx(expected)
    # Boschloo's test is never weaker than Fisher's, from which it is made.
    assert expected <= stats.fisher_exact(np.array([[5, 0], [15, 20]])).pvalue
    assert p_of_shares(SlowRuns(0, 20), b) == 1.0
    assert p_of_shares(SlowRuns(20, 20), SlowRuns(20, 20)) == 1.0


def test_of_hundreds_of_runs_the_test_of_shares_is_fishers() -> None:
    expected = stats.fisher_exact(np.array([[40, 20], [960, 980]])).pvalue
    assert p_of_shares(SlowRuns(40, 1000), SlowRuns(20, 1000)) == pytest.approx(expected)


def test_spreads_differ_by_twice_at_least_and_by_a_test() -> None:
    rng = np.random.default_rng(1)
    quiet, loud = rng.normal(0, 0.005, 20), rng.normal(0, 0.02, 20)
    times = spread_times(loud, quiet)
    assert times is not None
    assert times == pytest.approx(np.std(loud, ddof=1) / np.std(quiet, ddof=1))
    assert spread_times(quiet, loud) == pytest.approx(1 / times)
    assert spread_times(quiet, rng.normal(0, 0.006, 20)) is None
    assert spread_times(loud[:4], quiet[:4]) is None
    assert spread_times(np.zeros(10), quiet) is None


@pytest.mark.parametrize(("n", "times"), [(5, 1.0), (9, 2.0), (40, 3.0)])
def test_the_test_of_spreads_is_that_of_brown_and_forsythe(n: int, times: float) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(0, 0.01, n), rng.normal(1, 0.01 * times, n + 3)
    expected = stats.levene(a, b, center="median").pvalue
    assert p_of_spreads(a, b) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("time_s", [0.1, 1.1, 2.5, 3.3, 41.7])
def test_equal_times_have_no_spread_that_another_one_is_many_times(time_s: float) -> None:
    quiet = np.random.default_rng(1).normal(0, 0.005, 10)
    equal = np.log(np.full(10, time_s))
    assert spread_times(quiet, equal) is None
    assert spread_times(equal, quiet) is None


def test_how_often_a_mode_of_one_in_ten_is_not_seen() -> None:
    # 0.9 to the tenth is 0.3487; 0.9^28 = 0.0523 and 0.9^29 = 0.0471.
    assert unseen(10) == pytest.approx(0.3487, abs=1e-4)
    assert least_to_see() == 29
