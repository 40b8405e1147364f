"""The smallest difference that equal runs can show, against numbers that are known."""

from __future__ import annotations

from math import exp, log
from random import Random

import pytest
from scipy import stats

from runners.prove.resolution import judge_resolution, smallest_difference


def times(count: int, spread: float, seed: int = 1, factor: float = 1.0) -> list[float]:
    """Return times of two cases in turns; the second takes `factor` times as long."""
    random = Random(seed)
    return [exp(random.gauss(log(factor) * (i % 2), spread)) for i in range(count)]


@pytest.mark.parametrize(("n", "expected"), [(10, 0.0134), (30, 0.00737), (100, 0.00398)])
def test_the_difference_follows_from_spread_and_number(n: int, expected: float) -> None:
    """Of a standard deviation of 1 %: 1.325 % of 10 runs by the quantiles of Student's t.

    t(0.975, 18) = 2.1009 and t(0.8, 18) = 0.8620 (Abramowitz and Stegun, table 26.10): 2.9629 times
    0.01 times sqrt(2/10) = 0.01325, and exp of it is 1.01334.
    """
    # Two values a and -a have the standard deviation a sqrt(2).
    pair = [exp(0.01 / 2**0.5), exp(-0.01 / 2**0.5)]
    assert smallest_difference(pair, n) == pytest.approx(expected, rel=0.01)


def test_differences_of_that_size_are_found_in_eighty_of_a_hundred_studies() -> None:
    found = 0
    studies = 1000
    apart = smallest_difference([exp(0.02 / 2**0.5), exp(-0.02 / 2**0.5)], 10)
    for seed in range(studies):
        random = Random(seed)
        a, b = ([random.gauss(mean, 0.02) for _ in range(10)] for mean in (0.0, log(1 + apart)))
        p = stats.ttest_ind(b, a, equal_var=False, alternative="greater").pvalue
        found += int(p < 0.025)
    # 80 of 100, by Student's t; a thousand studies have a standard error of 1.3.
    assert 0.76 <= found / studies <= 0.84


@pytest.mark.parametrize("runs", [10, pytest.param(20, marks=pytest.mark.simulations)])
def test_equal_runs_raise_an_alarm_once_in_ten_thousand_times(runs: int) -> None:
    alarms = sum(judge_resolution(times(runs, 0.03, seed)).state == "off" for seed in range(3000))
    # Of 0.3 expected ones, more than 3 come up once in 4000 times.
    assert alarms <= 3


def test_a_node_on_which_every_second_run_is_slower_is_told() -> None:
    found = judge_resolution(times(20, 0.005, factor=1.05))
    assert found.state == "off"
    assert "something alternates" in found.why
