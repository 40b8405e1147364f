"""Boots of runs that bring an interval to a width: found by trying all of them, too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pinstudy.analysis.statistics.boots import BootCosts, boot_plan
from pinstudy.analysis.statistics.difference import Components, Difference

MARGIN = 0.01


def of_boots(within: float, between: float, units: int = 3, error: float = 0.02) -> Difference:
    """Return a difference of boots with these deviations."""
    parts = Components(within**2, between**2)
    return Difference(0.0, error, units - 1, 10 * units, True, "typical", 2, units, parts)


def test_three_boots_of_eight_runs() -> None:
    # sqrt(160 s / 10 s x (0.4 % / 0.2 %)^2) = 8 runs. A boot's mean then deviates by
    # sqrt(0.2^2 + 0.4^2 / 8) = 0.245 %; of three, 4.303 x 0.245 / sqrt(3) = 0.61 %.
    plan = boot_plan(of_boots(0.004, 0.002), MARGIN, BootCosts(run_s=10.0, boot_s=160.0))
    assert plan is not None
    assert (plan.boots, plan.runs, plan.cost_s) == (3, 8, 3 * (160 + 80))


@given(st.floats(0.002, 0.03), st.floats(0.001, 0.02), st.floats(1, 100), st.floats(1, 600))
def test_no_other_number_of_runs_is_much_cheaper(
    within: float, between: float, run_s: float, boot_s: float
) -> None:
    plan = boot_plan(of_boots(within, between), MARGIN, BootCosts(run_s, boot_s))
    assert plan is not None
    tried = np.arange(1, 1000)
    # The cost of a variance, whatever the number of boots: the formula's minimum, rounded up.
    cost = (boot_s + tried * run_s) * (between**2 + within**2 / tried)
    assert cost[plan.runs - 1] <= 1.35 * cost.min()
    one_less = cost[max(0, plan.runs - 2)]
    assert min(cost[plan.runs - 1], one_less) == pytest.approx(cost.min(), rel=1e-6)
    error = ((between**2 + within**2 / plan.runs) / plan.boots) ** 0.5
    assert stats.t.ppf(0.975, plan.boots - 1) * error <= np.log1p(MARGIN)


@pytest.mark.parametrize(
    "difference",
    [
        of_boots(0.004, 0.002, units=2),
        of_boots(0.004, 0.0),
        of_boots(0.004, 0.002, error=0.0005),
        of_boots(0.004, 2.0),
        Difference(0.0, 0.02, 9, 10, True),
    ],
    ids=["two boots", "boots alike", "narrow already", "a thousand would not do", "one boot"],
)
def test_there_is_no_plan(difference: Difference) -> None:
    assert boot_plan(difference, MARGIN, BootCosts(10.0, 160.0)) is None


def test_components_of_variance_are_those_that_were_drawn() -> None:
    rng = np.random.default_rng(7)
    units = np.repeat(np.arange(200), 10)
    ratios = 0.004 * rng.normal(size=200)[units] + 0.006 * rng.normal(size=2000)
    parts = Difference.of_pairs(ratios, np.zeros(2000), units).components
    assert parts is not None
    # Of trimmed means, which scatter up to an eighth more than means.
    assert parts.within**0.5 == pytest.approx(0.0063, rel=0.1)
    assert parts.between**0.5 == pytest.approx(0.004, rel=0.2)
