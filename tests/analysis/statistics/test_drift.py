"""Trends that are there are found, those that only the cases' order makes are not."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.statistics.drift import trend

HOURS = np.arange(60) / 10
CASES = np.arange(60) % 3
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


def test_too_few_runs_or_no_temperatures_say_nothing() -> None:
    assert trend(CASES[:9], np.ones(9), HOURS[:9]) is None
    assert trend(CASES, np.ones(60), np.full(60, np.nan)) is None
    assert trend(CASES, LEVELS[CASES], np.full(60, 45.0)) is None
    assert trend(np.array([], dtype=np.intp), np.array([]), np.array([])) is None
