"""Change points on series with known answers, and how often there are any where nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pinstudy.analysis.statistics.changepoints import change_points, levels, newest_difference

Array = NDArray[np.float64]

QUIET = [0.000, 0.002, -0.001, 0.001, 0.0, -0.002]
# Of six values, a stretch of two or more that leaves two or none on each side: the first two, three
# and four, and the third and fourth.
STRETCHES_OF_SIX = 4


def step(at: int, size: float, values: list[float] = QUIET) -> Array:
    return np.array([value + size * (place >= at) for place, value in enumerate(values)])


def test_a_step_is_found_with_its_size_and_p_value() -> None:
    logs = step(4, 0.03)
    (points,) = change_points([logs])
    (point,) = points
    assert point.position == 4
    assert point.difference.log_ratio == pytest.approx(logs[4:].mean() - logs[:4].mean())
    t_test = stats.ttest_ind(logs[4:], logs[:4])
    assert point.p == pytest.approx(STRETCHES_OF_SIX * t_test.pvalue)
    interval = t_test.confidence_interval()
    ends = point.difference.interval()
    assert np.log([ends.low, ends.high]) == pytest.approx([interval.low, interval.high])
    (first, second) = levels(logs, points)
    assert first == (0, 4, logs[:4].mean())
    assert second == (4, 6, logs[4:].mean())


def test_a_change_that_was_taken_back_is_two_change_points() -> None:
    (points,) = change_points([step(2, 0.03) - step(4, 0.03, [0.0] * 6)])
    assert [point.position for point in points] == [2, 4]
    assert points[0].difference.log_ratio > 0 > points[1].difference.log_ratio


def test_several_steps_are_found_one_within_the_other() -> None:
    logs = np.concatenate([step(0, 0.0), step(0, 0.03), step(0, 0.09)])
    (points,) = change_points([logs])
    assert [point.position for point in points] == [6, 12]


def test_more_series_ask_for_a_clearer_step() -> None:
    logs = step(4, 0.008)
    still = [np.roll(QUIET, turn) for turn in range(1, 6)]
    (alone,) = change_points([logs])
    together = change_points([logs, *still])
    assert [point.position for point in alone] == [4]
    assert together == [[]] * 6


@pytest.mark.parametrize(
    "logs",
    [
        step(5, 0.2),
        step(1, 0.2),
        step(2, 0.2)[:3],
        np.zeros(0),
        np.ones(8),
        step(4, 1.0, [0.0] * 8),
    ],
    ids=["newest alone", "oldest alone", "three", "none", "equal", "no scatter"],
)
def test_no_change_point_where_nothing_can_be_told(logs: Array) -> None:
    assert change_points([logs]) == [[]]


def test_the_newest_is_compared_with_the_level_since_the_last_change() -> None:
    logs = np.append(step(3, 0.03), 0.06)
    (points,) = change_points([logs[:-1]])
    difference = newest_difference(logs, points)
    assert difference is not None
    # A t-test of one value against three, with the scatter of all six around two levels.
    residuals = np.concatenate([logs[:3] - logs[:3].mean(), logs[3:6] - logs[3:6].mean()])
    error = (np.sum(residuals**2) / 4 * (1 + 1 / 3)) ** 0.5
    assert difference.log_ratio == pytest.approx(0.06 - logs[3:6].mean())
    assert difference.standard_error == pytest.approx(error)
    assert difference.df == 4
    assert newest_difference(logs[:2], []) is None


def histories(
    count: int, series: int, results: int, noise: str, seed: int = 7
) -> list[list[Array]]:
    """Return histories in which nothing changes: days differ by 0.5 %, and cases within them."""
    rng = np.random.default_rng(seed)
    shape = count, series, results
    own = 0.004 * rng.normal(size=shape)
    days = 0.005 * rng.normal(size=(count, 1, results))
    if noise == "bad days":
        days += 0.05 * (rng.random((count, 1, results)) < 0.1)
    if noise == "two modes":
        own += 0.03 * (rng.random(shape) < 0.5)
    return [list(history) for history in own + days]


@pytest.mark.parametrize(
    ("series", "results", "noise"),
    [(1, 4, "normal"), (5, 8, "normal"), (20, 8, "normal"), (4, 12, "two modes"),
     (4, 20, "bad days")],
)  # fmt: skip
def test_at_most_one_history_in_twenty_has_a_false_change_point(
    series: int, results: int, noise: str
) -> None:
    drawn = histories(300, series, results, noise)
    alarms = sum(any(change_points(history)) for history in drawn)
    # 5 % of 300, and what chance adds in one of a hundred such tests.
    assert alarms <= stats.binom.ppf(0.99, 300, 0.05)


@pytest.mark.parametrize(("results", "at"), [(8, 4), (12, 9), (30, 20)])
def test_a_change_of_3_percent_is_found_in_noise_of_1_percent(results: int, at: int) -> None:
    # Ten runs with 1 % have typical values with some 0.35 %; days add 0.5 %.
    rng = np.random.default_rng(5)
    found, held = 0, 0
    for _ in range(50):
        family = 0.006 * rng.normal(size=(4, results))
        family[0, at:] += np.log(1.03)
        points = [point for point in change_points(list(family))[0] if point.position == at]
        found += len(points)
        held += sum(1.03 in point.interval for point in points)
    assert found >= 35
    # 95 % of them, less what chance takes in one of a hundred such tests.
    assert held >= stats.binom.ppf(0.01, found, 0.95)


def test_the_interval_of_a_clear_change_in_a_long_history_is_narrow() -> None:
    logs = np.array([*QUIET * 3, *(value + 0.03 for value in QUIET * 3)])
    (points,) = change_points([logs])
    (interval,) = (point.interval for point in points)
    t_test = stats.ttest_ind(logs[18:], logs[:18]).confidence_interval()
    assert np.log(interval.low) == pytest.approx(t_test.low, abs=2e-4)
    assert np.log(interval.high) == pytest.approx(t_test.high, abs=2e-4)
