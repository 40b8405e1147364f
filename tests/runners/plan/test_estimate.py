"""The time that is left is forecast from hints first and from measured runs then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from base.units import duration
from runners.plan.runs import OVERHEAD_S, Forecast
from tests.runners.cases import SMALL, case

TWO = case(threads=2)
ONE = case(threads=1, cpus=(4,))


def test_hints_are_for_one_thread() -> None:
    forecast = Forecast([ONE, TWO], [ONE.case_id, TWO.case_id, TWO.case_id], {})
    assert forecast.left_s == pytest.approx(2.0 + 2 * 1.0 + 3 * OVERHEAD_S)


def test_each_run_corrects_the_forecast_of_its_case() -> None:
    forecast = Forecast([ONE, TWO], [ONE.case_id, TWO.case_id, TWO.case_id], {})
    forecast.made(TWO.case_id, 0.5)
    assert forecast.left_s == pytest.approx(2.0 + 0.5 + 2 * OVERHEAD_S)
    forecast.made(ONE.case_id, 3.0)
    forecast.made(TWO.case_id, 0.6)
    assert forecast.left_s == pytest.approx(0.0)


def test_measured_times_of_earlier_attempts_come_before_hints() -> None:
    assert Forecast([ONE], [ONE.case_id], {ONE.case_id: 7.0}).left_s == pytest.approx(
        7.0 + OVERHEAD_S
    )


def test_a_case_without_a_hint_makes_it_unknown_until_it_has_run() -> None:
    unknown = case(size=replace(SMALL, name="other", estimate_s=None))
    forecast = Forecast([unknown], [unknown.case_id] * 3, {})
    assert forecast.left_s is None
    forecast.made(unknown.case_id, None)
    assert forecast.left_s is None
    forecast.made(unknown.case_id, 1.0)
    assert forecast.left_s == pytest.approx(1.0 + OVERHEAD_S)


def test_an_unknown_case_that_never_runs_is_forgotten() -> None:
    unknown = case(size=replace(SMALL, name="other", estimate_s=None))
    forecast = Forecast([unknown], [unknown.case_id], {})
    forecast.made(unknown.case_id, None)
    assert forecast.left_s == pytest.approx(0.0)


def test_a_case_that_ends_early_takes_its_time_along() -> None:
    forecast = Forecast([ONE, TWO], [ONE.case_id, TWO.case_id, TWO.case_id], {})
    forecast.made(TWO.case_id, 0.5)
    assert forecast.forget(TWO.case_id) == 1
    assert forecast.left_s == pytest.approx(2.0 + OVERHEAD_S)
    assert forecast.forget(TWO.case_id) == 0
    assert forecast.left_s == pytest.approx(2.0 + OVERHEAD_S)


def test_an_unknown_case_that_ends_early_is_forgotten() -> None:
    unknown = case(size=replace(SMALL, name="other", estimate_s=None))
    forecast = Forecast([unknown, ONE], [unknown.case_id] * 3 + [ONE.case_id], {})
    forecast.made(unknown.case_id, None)
    assert forecast.forget(unknown.case_id) == 2
    assert forecast.left_s == pytest.approx(2.0 + OVERHEAD_S)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"),
        (0.25, "0.25 s"),
        (45.4, "45 s"),
        (59.9, "1 min 00 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 05 min"),
        (3599.7, "1 h 00 min"),
    ],
)
def test_durations_as_people_say_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text
