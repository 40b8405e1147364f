"""How precisely a mean is known, against scipy and against what intervals are to cover."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from configs.repetitions import Precision
from runners.records.race.student_t import Moments
from runners.study.precision import CasePrecision, figures_of, half_width

ASKED = Precision(least=5, half_width=0.01)
BOTH = Precision(least=3, half_width=0.01, of=("time", "energy"))
TIMES = st.lists(st.floats(1e-3, 1e4), min_size=2, max_size=60)


@given(TIMES)
def test_a_half_width_is_half_of_the_interval_of_the_mean(times: list[float]) -> None:
    mean, error = np.mean(times), stats.sem(times)
    known = error * stats.t.ppf(0.975, len(times) - 1) / mean
    assert half_width(Moments.of(times)) == pytest.approx(known, rel=1e-6, abs=1e-7)


def test_of_one_number_nothing_is_known() -> None:
    assert half_width(Moments()) == math.inf
    assert half_width(Moments.of([1.0])) == math.inf


def known(*runs: dict[str, float], asked: Precision = ASKED) -> CasePrecision:
    found = CasePrecision(asked)
    for figures in runs:
        found.add(figures)
    return found


def timed(*times: float) -> list[dict[str, float]]:
    return [{"time": time} for time in times]


def test_steady_runs_are_precise_from_the_least_number_on_and_not_before() -> None:
    assert not known(*timed(*[1.0] * 4)).reached
    assert known(*timed(*[1.0] * 5)).reached


def test_times_that_differ_by_more_are_not_precise() -> None:
    # Standard deviation 0.0158, half width 2.776 x 0.0158 / sqrt(5) = 1.96 %.
    runs = timed(0.98, 0.99, 1.0, 1.01, 1.02)
    assert not known(*runs).reached
    assert known(*runs).half_widths["time"] == pytest.approx(0.01963, rel=1e-3)
    assert known(*runs, asked=Precision(5, 0.02)).reached


def test_energy_is_awaited_where_it_is_measured() -> None:
    steady = [{"time": 1.0, "energy": 5.0}] * 3
    assert known(*steady, asked=BOTH).reached
    assert known(*steady, asked=BOTH).decided_by == ("time", "energy")
    wild = [{"time": 1.0, "energy": joules} for joules in (4.0, 5.0, 6.0)]
    assert not known(*wild, asked=BOTH).reached
    assert known(*wild).decided_by == ("time",)


def test_energy_that_only_some_runs_have_is_awaited_too() -> None:
    some = [{"time": 1.0}, {"time": 1.0, "energy": 5.0}, {"time": 1.0, "energy": 5.0}]
    assert not known(*some, asked=BOTH).reached
    assert known(*some, some[-1], asked=BOTH).reached


@pytest.mark.parametrize("of", [("time", "energy"), ("energy",)])
def test_without_any_energy_time_alone_decides(of: tuple[str, ...]) -> None:
    asked = Precision(3, 0.01, of)
    assert known(*timed(1.0, 1.0, 1.0), asked=asked).reached
    assert known(*timed(1.0, 1.0, 1.0), asked=asked).decided_by == ("time",)
    assert not known(*timed(1.0, 1.5, 2.0), asked=asked).reached


def test_what_a_record_lacks_is_no_figure() -> None:
    assert figures_of({"elapsed_s": 2.0, "energy_pkg_j": 5.0}) == {"time": 2.0, "energy": 5.0}
    assert figures_of({"elapsed_s": 2.0}) == {"time": 2.0}


STUDIES = 2000
Draw = Callable[[random.Random], float]


def normal(deviation: float) -> Draw:
    return lambda draws: draws.gauss(1.0, deviation)


def skewed(deviation: float) -> Draw:
    """Times that are never below a floor: exponential above it, with a mean of 1."""
    return lambda draws: 1.0 - deviation + deviation * draws.expovariate(1.0)


def coverage(draw: Draw, most: int = 50, least: int = 5) -> tuple[float, float, float]:
    """Return the shares of cases whose interval has the true mean, and that reached 1 %.

    The third figure is the share of the first among those that reached it.
    """
    draws = random.Random(20)
    covering = reached = both = 0
    for _ in range(STUDIES):
        case = CasePrecision(Precision(least, 0.01))
        times: list[float] = []
        while len(times) < most and not case.reached:
            times.append(draw(draws))
            case.add({"time": times[-1]})
        mean = sum(times) / len(times)
        covers = abs(mean - 1.0) <= case.half_widths["time"] * mean
        covering += covers
        reached += case.reached
        both += covers and case.reached
    return covering / STUDIES, reached / STUDIES, both / max(1, reached)


# What docs/error-rates.md says of these intervals. The share of 2000 cases has a standard error of
# 0.6 (92 %) to 0.9 (81 %) percentage points: the bounds leave about three to each side.
@pytest.mark.parametrize(
    ("draw", "least", "most"),
    [
        (normal(0.003), 0.93, 0.97),
        (normal(0.01), 0.92, 0.96),
        (normal(0.02), 0.90, 0.945),
        (normal(0.03), 0.90, 0.945),
        (skewed(0.003), 0.86, 0.905),
        (skewed(0.02), 0.82, 0.87),
        (skewed(0.03), 0.79, 0.85),
    ],
)
def test_intervals_after_stopping_cover_somewhat_less_than_they_say(
    draw: Draw, least: float, most: float
) -> None:
    assert least < coverage(draw)[0] < most


def test_more_runs_at_least_help_and_more_at_most_do_not() -> None:
    assert 0.835 < coverage(skewed(0.03), least=10)[0] < 0.895
    assert 0.78 < coverage(skewed(0.03), most=200)[0] < 0.85


def test_a_fixed_number_of_normal_runs_covers_what_it_says() -> None:
    assert 0.935 < coverage(normal(0.02), least=16, most=16)[0] < 0.965


def test_a_noisy_case_that_is_precise_early_was_lucky() -> None:
    covering, reached, both = coverage(skewed(0.05))
    assert 0.85 < covering < 0.92
    assert 0.07 < reached < 0.13
    assert both < 0.35
