"""Samples with answers known from elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics.sample import Interval, describe, expanded_level

FINITE = st.floats(min_value=1e-6, max_value=1e9)


def of(*values: float) -> NDArray[np.float64]:
    return np.array(values)


def test_one_value_has_no_spread_and_few_have_no_intervals() -> None:
    one, four = describe([of(3), of(1, 2, 3, 4)])
    assert math.isnan(one.sd)
    assert one.mean_interval is one.median_interval is None
    assert four.mean_interval is four.median_interval is None


@pytest.mark.parametrize("n", [6, 100])
def test_equal_values_have_intervals_without_width(n: int) -> None:
    (sample,) = describe([of(*[2] * n)])
    assert sample.mean_interval == sample.median_interval == Interval(2, 2)
    assert sample.outliers == ()


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
        (of(10.0, 10.1, 10.2, 10.3, 14.0, 10.2, 10.4), 4, 0.6745 * 3.8 / 0.1),
        (of(1, 1, 1, 1, 1, 1, 1, 1, 1, 2), 9, None),
    ],
    ids=["far away", "among equal ones"],
)
def test_an_outlier_is_named_and_kept(
    values: NDArray[np.float64], position: int, score: float | None
) -> None:
    (sample,) = describe([values])
    ((at, its_score),) = sample.outliers
    assert at == position
    assert score is None or its_score == pytest.approx(score, rel=1e-3)
    assert sample.n == len(values)
    assert sample.mean == pytest.approx(np.mean(values))


def test_the_same_seed_gives_the_same_intervals() -> None:
    values = np.random.default_rng(5).normal(100, 1, 12)
    first, again, other = (describe([values], seed=seed)[0] for seed in (3, 3, 4))
    assert first.mean_interval == again.mean_interval
    assert first.median_interval == again.median_interval
    assert first.mean_interval != other.mean_interval


def test_a_sample_is_described_the_same_alone_and_among_others() -> None:
    rng = np.random.default_rng(6)
    samples = [rng.normal(100, 1, n) for n in (7, 12, 7, 30)]
    together = describe(samples)
    assert together == [describe([values])[0] for values in samples]


@given(st.lists(FINITE, min_size=1, max_size=12))
@example([109330149.86978738] * 6)
def test_whatever_is_measured_can_be_described(values: list[float]) -> None:
    (sample,) = describe([np.array(values)])
    assert min(values) <= sample.median <= max(values)
    if sample.mean_interval:
        slack = 1e-9 * max(values)
        assert min(values) - slack <= sample.mean_interval.low
        assert sample.mean_interval.low <= sample.mean_interval.high <= max(values) + slack
