"""Trends that are there are found, those that only the cases' order makes are not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.drift import drift_of, trend

HOURS = np.arange(60) / 10
CASES = np.arange(60) % 3
UNKNOWN = np.full(60, np.nan)
LEVELS = np.array([1.0, 2.0, 5.0])


def test_a_warming_machine_is_found() -> None:
    noise = np.random.default_rng(1).normal(0, 0.001, 60)
    found = trend(CASES, LEVELS[CASES] * np.exp(0.01 * HOURS + noise), HOURS)
    assert found is not None
    assert found.found
    assert found.slope == pytest.approx(0.01, rel=0.1)
    assert 0.01 in found.interval
    assert found.change == pytest.approx(np.expm1(0.01 * 5.9), rel=0.1)


def test_slow_cases_that_come_late_are_no_drift() -> None:
    noise = np.random.default_rng(2).normal(0, 0.001, 60)
    late = np.sort(CASES)
    found = trend(late, LEVELS[late] * np.exp(noise), HOURS)
    assert found is not None
    assert abs(found.slope) < 0.01


@pytest.mark.parametrize("slope", [0.0, 0.001, -0.02])
def test_the_p_value_is_that_of_spearmans_correlation(slope: float) -> None:
    noise = np.round(np.random.default_rng(3).normal(0, 0.01, 60), 3)
    times = np.exp(slope * HOURS + noise)
    found = trend(np.zeros(60, dtype=np.intp), times, HOURS)
    assert found is not None
    # Centring and logarithms keep the ranks; equal noise makes ties.
    assert found.p == pytest.approx(stats.spearmanr(HOURS, times).pvalue, rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_of_runs_each_slower_than_the_last_the_p_value_is_0(sign: int) -> None:
    found = trend(np.zeros(60, dtype=np.intp), np.exp(sign * 0.1 * HOURS), HOURS)
    assert found is not None
    assert found.p < 1e-100


def test_one_run_far_away_makes_no_drift() -> None:
    times = np.exp(np.random.default_rng(3).normal(0, 0.001, 60))
    times[-1] *= 10
    found = trend(np.zeros(60, dtype=np.intp), times, HOURS)
    assert found is not None
    assert not found.found


def test_no_drift_is_found_in_at_least_95_of_100_steady_studies() -> None:
    rng = np.random.default_rng(4)
    found = [trend(CASES, np.exp(rng.normal(0, 0.01, 60)), HOURS) for _ in range(1000)]
    assert np.mean([t is not None and t.found for t in found]) <= 0.06


def test_a_change_between_attempts_is_a_step_and_no_trend() -> None:
    # Sixty runs, of which the second half was made ten days later and takes 5 % more time.
    late = np.arange(60) >= 30
    attempts, hours = np.where(late, 2.0, 1.0), HOURS + 240 * late
    noise = np.random.default_rng(5).normal(0, 0.002, 60)
    times = LEVELS[CASES] * np.exp(noise + np.log(1.05) * late)
    found = drift_of(CASES, attempts, times, hours, UNKNOWN)
    assert found.over_time is not None
    assert not found.over_time.found
    assert found.over_time.span == pytest.approx(2.9)
    (step,) = found.steps
    assert (step.before, step.after) == (1, 2)
    assert np.expm1(step.trend.slope) == pytest.approx(0.05, abs=0.003)


def test_a_trend_within_both_attempts_is_found_whatever_lies_between() -> None:
    late = np.arange(60) >= 30
    noise = np.random.default_rng(6).normal(0, 0.001, 60)
    hours = HOURS + 240 * late
    times = np.exp(0.01 * (HOURS - 3 * late) + noise)
    found = drift_of(CASES, np.where(late, 2.0, 1.0), times, hours, UNKNOWN)
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
    noise = np.random.default_rng(8).normal(0, 0.001, 60)
    found = drift_of(CASES, UNKNOWN, np.exp(0.01 * HOURS + noise), HOURS, UNKNOWN)
    assert found.over_time is not None
    assert found.over_time.found
    assert (found.over_temperature, found.steps) == (None, ())
    late = np.arange(60) >= 30
    attempts = np.where(late, 1.0, np.nan)
    times = np.exp(noise + np.log(1.05) * late)
    assert drift_of(CASES, attempts, times, HOURS, UNKNOWN).steps == ()


def test_too_few_runs_or_no_temperatures_have_no_trend() -> None:
    assert trend(CASES[:9], np.ones(9), HOURS[:9]) is None
    assert trend(CASES, np.ones(60), UNKNOWN) is None
    assert trend(CASES, LEVELS[CASES], np.full(60, 45.0)) is None
    assert trend(np.array([], dtype=np.intp), np.array([]), np.array([])) is None
