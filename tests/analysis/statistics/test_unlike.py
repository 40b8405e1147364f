"""Slow runs, their shares and unlike spreads, with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.unlike import (
    SlowRuns,
    least_to_see,
    p_of_shares,
    p_of_spreads,
    slow_runs,
    spread_times,
    unseen,
)

STEADY = np.array([10.0, 10.01, 9.99, 10.02, 9.98, 10.0, 10.01, 9.99, 10.0, 10.0])


def test_slow_runs_are_counted_with_how_slow_they_are() -> None:
    times = np.append(STEADY, [11.0, 10.8])
    found = slow_runs(times)
    # The median is 10.0; of the run at 10.02 nobody would say that it is slow.
    assert found is not None
    assert (found.count, found.n) == (2, 12)
    assert (found.least, found.most) == pytest.approx((0.08, 0.1))


def test_a_fast_run_is_none_and_neither_is_one_a_little_slower() -> None:
    assert slow_runs(np.append(STEADY, [9.0, 10.2])) == SlowRuns(0, 12)


def test_a_run_within_the_noise_of_its_case_is_not_slow() -> None:
    noisy = np.array([8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 8.5, 9.5])
    assert slow_runs(noisy) == SlowRuns(0, 8)


def test_of_fewer_than_five_runs_nobody_knows() -> None:
    assert slow_runs(STEADY[:4]) is None


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
