"""Differences, their tests and decisions, against scipy's own and against worked examples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pinstudy.analysis.statistics.decision import (
    Look,
    decide,
    holm,
    interval_of_selected,
    more_repetitions,
    pareto_front,
)
from pinstudy.analysis.statistics.difference import Difference

RNG = np.random.default_rng(8)
A = RNG.normal(0.02, 0.01, 10)
B = RNG.normal(0.0, 0.02, 10)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Difference.of_pairs(A[:6], B[:6]), stats.ttest_rel(A[:6], B[:6])),
        (Difference.of_runs(A, B[:6]), stats.ttest_ind(A, B[:6], equal_var=False)),
        (Difference.welch(A, B[:7]), stats.ttest_ind(A, B[:7], equal_var=False)),
    ],
    ids=["few pairs", "few runs of one case", "means"],
)
def test_what_is_not_trimmed_is_tested_as_scipy_tests_means(
    found: Difference,
    expected: Any,  # noqa: ANN401
) -> None:
    interval = expected.confidence_interval(0.95)
    assert found.cut == 0
    assert found.df == pytest.approx(expected.df)
    assert found.p_different == pytest.approx(expected.pvalue)
    assert math.log(found.interval().low) == pytest.approx(interval.low)
    assert math.log(found.interval().high) == pytest.approx(interval.high)


def test_the_trimmed_mean_of_pairs_by_hand() -> None:
    # Log ratios 0 to 9: two are cut from each end, 2 to 7 are averaged. Winsorised they are 2, 2,
    # 2, 3, 4, 5, 6, 7, 7, 7, whose deviations from 4.5 have the squares 6 * 2.5^2 + 2 * 1.5^2 +
    # 2 * 0.5^2 = 42.5; over 6 * 5 that is the squared standard error (Yuen 1974). Of its five
    # degrees of freedom half a one is lost for each of two values cut.
    found = Difference.of_pairs(np.arange(10.0), np.zeros(10))
    assert (found.log_ratio, found.df, found.cut) == (4.5, 4, 2)
    assert found.standard_error == pytest.approx(math.sqrt(42.5 / 30))


def test_one_slow_run_hardly_moves_what_is_typical() -> None:
    slow = A.copy()
    slow[4] += 3.0
    before, after = Difference.of_pairs(A, B), Difference.of_pairs(slow, B)
    assert abs(after.log_ratio - before.log_ratio) < 0.01
    assert abs(np.mean(slow) - np.mean(A)) == pytest.approx(0.3)


def test_runs_without_pairs_are_tested_as_scipy_tests_trimmed_means() -> None:
    expected = stats.ttest_ind(A, B[:8], equal_var=False, trim=0.2)
    found = Difference.of_runs(A, B[:8])
    assert found.cut == 1
    assert found.log_ratio / found.standard_error == pytest.approx(expected.statistic)
    assert found.df < expected.df


def test_the_trimmed_mean_keeps_its_level_in_the_tails_that_holm_tests_in() -> None:
    # One study in a hundred, of 20000: three standard errors are 0.2 %.
    ratios = np.random.default_rng(3).normal(size=(20_000, 10))
    p_values = [Difference.of_pairs(study, np.zeros(10)).p_different for study in ratios]
    assert np.mean(np.array(p_values) <= 0.01) <= 0.012
    assert 0.042 <= np.mean(np.array(p_values) <= 0.05) <= 0.055


def test_published_means_are_tested_as_scipy_tests_them() -> None:
    # Table 7 of Galante and Oyamada (2025), rows 1 and 2. The logarithm changes p in the third
    # digit only, because the deviations are below 1 % of the means.
    expected = stats.ttest_ind_from_stats(18.155, 0.002, 10, 18.288, 0.160, 10, equal_var=False)
    found = Difference.from_summary(18.155, 0.002, 10, 18.288, 0.160, 10)
    assert found.ratio == pytest.approx(18.155 / 18.288)
    assert found.p_different == pytest.approx(expected.pvalue, rel=0.02)
    # Each deviation counts relative to its own mean.
    unlike = Difference.from_summary(20.0, 1.0, 10, 10.0, 1.0, 5)
    assert unlike.standard_error == pytest.approx(math.sqrt(0.05**2 / 10 + 0.1**2 / 5))


def test_equivalence_is_two_one_sided_tests() -> None:
    few = (A - B)[:6]
    found = Difference.of_pairs(A[:6], B[:6])
    margin = math.log1p(0.05)
    lower = stats.ttest_1samp(few, -margin, alternative="greater").pvalue
    upper = stats.ttest_1samp(few, margin, alternative="less").pvalue
    assert found.p_outside(0.05) == pytest.approx(max(lower, upper))


def test_values_without_spread_prove_nothing() -> None:
    exact = Difference.of_pairs(np.log([2.0, 2.0, 2.0]), np.log([1.0, 1.0, 1.0]))
    assert exact.ratio == pytest.approx(2)
    assert more_repetitions(exact, 0.01, 1) is None
    # Pairs of 3.3 s and 1.1 s, and of 2.2 s and 1.1 s twice as long: logarithms differ by an ulp.
    equal = Difference.of_pairs(np.log([3.3] * 3), np.log([1.1] * 3))
    doubled = Difference.of_pairs(np.log([2.2, 4.6, 9.4]), np.log([1.1, 2.3, 4.7]))
    unpaired = Difference.welch(np.log([0.1] * 10), np.log([0.3] * 7))
    for found in (exact, equal, doubled, unpaired):
        assert found.standard_error == 0
        assert found.p_different == found.p_outside(0.01) == 1


def test_an_interval_that_nothing_bounds_is_infinite() -> None:
    two_runs = Difference(1.0, 50.0, 1, 2, paired=True)
    assert two_runs.interval(0.999).low == 0
    assert math.isinf(two_runs.interval(0.999).high)


def test_the_interval_of_a_gain_that_every_study_tells_is_not_wider() -> None:
    difference = Difference(-0.1, 0.004, 40, 41, paired=True)
    plain, told = difference.interval(), interval_of_selected(difference, 1e-24)
    assert (told.low, told.high) == pytest.approx((plain.low, plain.high), rel=1e-6)
    # One that is hardly told excludes no gain any more, and it never contradicts its word.
    assert interval_of_selected(Difference(-0.1, 0.04, 40, 41, paired=True), 0.049).high == 1


def test_holm_of_the_worked_example() -> None:
    # Holm (1979): 0.01 * 4, 0.02 * 3, 0.03 * 2, then no smaller than the one before.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_never_makes_a_p_value_smaller_or_changes_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(a >= p for a, p in zip(adjusted, values, strict=True))
    assert all(0 <= a <= 1 for a in adjusted)
    pairs = sorted(zip(values, adjusted, strict=True))
    assert [a for _, a in pairs] == sorted(adjusted)


@pytest.mark.parametrize(
    ("log_ratio", "p_different", "p_outside", "outcome"),
    [
        (-0.1, 0.01, 1.0, "better"),
        (0.1, 0.01, 1.0, "worse"),
        (-0.001, 0.01, 0.01, "equivalent"),
        (0.001, 0.9, 0.01, "equivalent"),
        (0.02, 0.06, 0.9, "undecided"),
        (0.02, 0.05, 0.051, "worse"),
        (-0.02, 0.051, 0.05, "equivalent"),
        (-0.02, 0.051, 0.051, "undecided"),
    ],
)
def test_outcomes(log_ratio: float, p_different: float, p_outside: float, outcome: str) -> None:
    assert decide(log_ratio, p_different, p_outside) == outcome


@pytest.mark.parametrize(
    "found",
    [
        Difference(-0.01, 0.005, 8, 9, paired=True),
        Difference(-0.01, 0.005, 9, 10, paired=True, units=2),
        Difference(0.005, 0.01, 999, 1000, paired=True),
        Difference(0.005, 0.01, 4999, 5000, paired=True),
        # A millionth of a difference at the margin's edge is neither shown nor excluded.
        Difference(math.log1p(0.001), 10.0, 9, 10, paired=True),
    ],
    ids=["fewer than ten", "several boots", "a thousand", "more", "no number would do"],
)
def test_where_nobody_can_know_there_is_no_forecast(found: Difference) -> None:
    assert more_repetitions(found, 0.001, 1) is None


def test_more_comparisons_and_later_looks_need_more_repetitions() -> None:
    found = Difference(-0.01, 0.005, 9, 10, paired=True)
    first, many, second = (
        more_repetitions(found, 0.001, comparisons, Look(look))
        for comparisons, look in ((1, 1), (100, 1), (1, 2))
    )
    assert first and many and second
    assert first.half < first.most
    assert first.half < many.half
    assert first.most < many.most
    assert first.most < second.most


def test_all_looks_together_spend_the_level_once() -> None:
    # 0.8, then 0.2 times 1/2, 1/6, 1/12 and so on, which add up to 1 - 1 / k.
    spent = [Look(look).share for look in range(1, 1001)]
    assert spent[:4] == pytest.approx([0.8, 0.1, 0.2 / 6, 0.2 / 12])
    assert sum(spent) == pytest.approx(1 - 0.2 / 1000)
    # Planned looks share what one first look would spend.
    assert 5 * Look(planned=5).share == pytest.approx(Look().share)
    assert Look(planned=5).after.share == pytest.approx(Look(2).share)


SMALL = st.integers(0, 6).map(float)


@given(st.dictionaries(st.text(max_size=3), st.tuples(SMALL, SMALL), max_size=12))
def test_the_front_is_all_that_no_other_dominates(points: dict[str, tuple[float, float]]) -> None:
    def dominated(point: tuple[float, float]) -> bool:
        return any(
            other[0] <= point[0] and other[1] <= point[1] and other != point
            for other in points.values()
        )

    front = pareto_front(points)
    assert set(front) == {name for name, point in points.items() if not dominated(point)}
    assert front == sorted(front, key=lambda name: points[name])
