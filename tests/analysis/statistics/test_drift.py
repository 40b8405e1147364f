"""Trends that are there are found, those that only the cases' order makes are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pinstudy.analysis.statistics.drift import Trend, drift_of, trend

HOURS = np.arange(60) / 10
CASES = np.arange(60) % 3
ALL_ALIKE = np.zeros(60, dtype=np.intp)
UNKNOWN = np.full(60, np.nan)
LEVELS = np.array([1.0, 2.0, 5.0])
LATE = np.arange(60) >= 30


def noise(seed: int, sd: float = 0.001) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(0, sd, 60)


def trend_of(cases: NDArray[np.intp], times: NDArray[np.float64]) -> Trend:
    found = trend(cases, times, HOURS)
    assert found is not None
    return found


def test_a_warming_machine_is_found() -> None:
    found = trend_of(CASES, LEVELS[CASES] * np.exp(0.01 * HOURS + noise(1)))
    assert found.found
    assert found.slope == pytest.approx(0.01, rel=0.1)
    assert 0.01 in found.interval
    assert found.change == pytest.approx(np.expm1(0.01 * 5.9), rel=0.1)


def test_neither_slow_cases_that_come_late_nor_one_run_far_away_are_drift() -> None:
    late = np.sort(CASES)
    assert abs(trend_of(late, LEVELS[late] * np.exp(noise(2))).slope) < 0.01
    times = np.exp(noise(3))
    times[-1] *= 10
    assert not trend_of(ALL_ALIKE, times).found


@pytest.mark.parametrize("slope", [0.0, 0.001, -0.02])
def test_the_p_value_is_that_of_spearmans_correlation(slope: float) -> None:
    times = np.exp(slope * HOURS + np.round(noise(3, 0.01), 3))
    # Centring and logarithms keep the ranks; equal noise makes ties.
    expected = stats.spearmanr(HOURS, times).pvalue
    assert trend_of(ALL_ALIKE, times).p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_of_runs_each_slower_than_the_last_the_p_value_is_0(sign: int) -> None:
    assert trend_of(ALL_ALIKE, np.exp(sign * 0.1 * HOURS)).p < 1e-100


def test_no_drift_is_found_in_at_least_95_of_100_steady_studies() -> None:
    rng = np.random.default_rng(4)
    found = [trend(CASES, np.exp(rng.normal(0, 0.01, 60)), HOURS) for _ in range(1000)]
    assert np.mean([t is not None and t.found for t in found]) <= 0.06


def test_a_change_between_attempts_is_a_step_and_no_trend() -> None:
    # Sixty runs, of which the second half was made ten days later and takes 5 % more time.
    attempts, hours = np.where(LATE, 2.0, 1.0), HOURS + 240 * LATE
    times = LEVELS[CASES] * np.exp(noise(5, 0.002) + np.log(1.05) * LATE)
    found = drift_of(CASES, attempts, times, hours, UNKNOWN)
    assert found.over_time is not None
    assert not found.over_time.found
    assert found.over_time.span == pytest.approx(2.9)
    (step,) = found.steps
    assert (step.before, step.after) == (1, 2)
    assert np.expm1(step.trend.slope) == pytest.approx(0.05, abs=0.003)


def test_a_trend_within_both_attempts_is_found_whatever_lies_between() -> None:
    times = np.exp(0.01 * (HOURS - 3 * LATE) + noise(6))
    found = drift_of(CASES, np.where(LATE, 2.0, 1.0), times, HOURS + 240 * LATE, UNKNOWN)
    assert found.over_time is not None
    assert found.over_time.found
    assert found.over_time.slope == pytest.approx(0.01, rel=0.1)
    # Over the longest attempt, not over the days between both.
    assert found.over_time.change == pytest.approx(np.expm1(0.01 * 2.9), rel=0.1)
    assert found.steps == ()


def test_attempts_that_do_not_differ_make_a_step_in_at_most_5_of_100_studies() -> None:
    rng = np.random.default_rng(7)
    attempts = np.repeat([1.0, 2.0, 3.0, 4.0], 15)
    found = [
        drift_of(CASES, attempts, np.exp(rng.normal(0, 0.01, 60)), HOURS, UNKNOWN).steps
        for _ in range(500)
    ]
    assert np.mean([bool(steps) for steps in found]) <= 0.06


def test_runs_of_unknown_attempts_are_of_one_and_not_before_the_first_one() -> None:
    found = drift_of(CASES, UNKNOWN, np.exp(0.01 * HOURS + noise(8)), HOURS, UNKNOWN)
    assert found.over_time is not None
    assert found.over_time.found
    assert (found.over_temperature, found.steps) == (None, ())
    attempts = np.where(LATE, 1.0, np.nan)
    times = np.exp(noise(8) + np.log(1.05) * LATE)
    assert drift_of(CASES, attempts, times, HOURS, UNKNOWN).steps == ()


def test_too_few_runs_or_no_temperatures_have_no_trend() -> None:
    assert trend(CASES[:9], np.ones(9), HOURS[:9]) is None
    assert trend(CASES, np.ones(60), UNKNOWN) is None
    assert trend(CASES, LEVELS[CASES], np.full(60, 45.0)) is None
    assert trend(np.array([], dtype=np.intp), np.array([]), np.array([])) is None
