"""Differences, their tests and decisions, against scipy's own and against worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.decision import decide, more_repetitions
from analysis.statistics.difference import Difference
from analysis.statistics.holm import holm

RNG = np.random.default_rng(8)
A = RNG.normal(0.02, 0.01, 10)
B = RNG.normal(0.0, 0.02, 10)


def test_pairs_are_tested_as_scipy_tests_them() -> None:
    expected = stats.ttest_rel(A, B)
    interval = expected.confidence_interval(0.95)
    found = Difference.of_pairs(A, B)
    assert found.p_different == pytest.approx(expected.pvalue)
    assert math.log(found.interval().low) == pytest.approx(interval.low)
    assert math.log(found.interval().high) == pytest.approx(interval.high)


def test_runs_without_pairs_are_tested_as_scipy_tests_them() -> None:
    expected = stats.ttest_ind(A, B[:7], equal_var=False)
    found = Difference.welch(A, B[:7])
    assert found.p_different == pytest.approx(expected.pvalue)
    assert found.df == pytest.approx(expected.df)


def test_published_means_are_tested_as_scipy_tests_them() -> None:
    # Table 7 of Galante and Oyamada (2025), rows 1 and 2. The logarithm changes p in the third
    # digit only, because the deviations are below 1 % of the means.
    expected = stats.ttest_ind_from_stats(18.155, 0.002, 10, 18.288, 0.160, 10, equal_var=False)
    found = Difference.from_summary(18.155, 0.002, 10, 18.288, 0.160, 10)
    assert found.ratio == pytest.approx(18.155 / 18.288)
    assert found.p_different == pytest.approx(expected.pvalue, rel=0.02)


def test_each_published_deviation_counts_relative_to_its_own_mean() -> None:
    found = Difference.from_summary(20.0, 1.0, 10, 10.0, 1.0, 5)
    assert found.standard_error == pytest.approx(math.sqrt(0.05**2 / 10 + 0.1**2 / 5))


def test_equivalence_is_two_one_sided_tests() -> None:
    found = Difference.of_pairs(A, B)
    margin = math.log1p(0.05)
    lower = stats.ttest_1samp(A - B, -margin, alternative="greater").pvalue
    upper = stats.ttest_1samp(A - B, margin, alternative="less").pvalue
    assert found.p_outside(0.05) == pytest.approx(max(lower, upper))


def test_values_without_spread_prove_nothing() -> None:
    found = Difference.of_pairs(np.log([2.0, 2.0, 2.0]), np.log([1.0, 1.0, 1.0]))
    assert found.ratio == pytest.approx(2)
    assert found.p_different == found.p_outside(0.01) == 1
    assert more_repetitions(found, 0.01, 1) is None


def test_what_rounding_leaves_of_equal_times_is_no_spread() -> None:
    # Pairs of 3.3 s and 1.1 s, and of 2.2 s and 1.1 s twice as long: logarithms differ by an ulp.
    equal = Difference.of_pairs(np.log([3.3] * 3), np.log([1.1] * 3))
    doubled = Difference.of_pairs(np.log([2.2, 4.6, 9.4]), np.log([1.1, 2.3, 4.7]))
    unpaired = Difference.welch(np.log([0.1] * 10), np.log([0.3] * 7))
    for found in (equal, doubled, unpaired):
        assert found.standard_error == 0
        assert found.p_different == found.p_outside(0.01) == 1


def test_an_interval_that_nothing_bounds_is_infinite() -> None:
    two_runs = Difference(1.0, 50.0, 1, 2, paired=True)
    assert two_runs.interval(0.999).low == 0
    assert math.isinf(two_runs.interval(0.999).high)


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
    ("log_ratio", "p_different", "p_outside", "word"),
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
def test_words(log_ratio: float, p_different: float, p_outside: float, word: str) -> None:
    assert decide(log_ratio, p_different, p_outside) == word


def test_the_advised_repetitions_would_decide_in_80_of_100_studies() -> None:
    # 1 % faster in noise of 1.5 %: the advice for one comparison, tried 2000 times.
    advice = more_repetitions(Difference(-0.01, 0.015 / 5**0.5, 4, 5, paired=True), 0.001, 1)
    assert advice is not None
    rng = np.random.default_rng(9)
    runs = rng.normal(-0.01, 0.015, (2000, 5 + advice))
    decided = np.mean([stats.ttest_1samp(run, 0).pvalue <= 0.05 for run in runs])
    assert 0.78 <= decided <= 0.86


def test_what_no_number_of_repetitions_decides_is_said() -> None:
    # A millionth of a difference at the margin's edge is neither shown nor excluded.
    at_the_edge = Difference(math.log1p(1e-5), 0.1, 9, 10, paired=True)
    assert more_repetitions(at_the_edge, 1e-5, 1) is None


def test_more_comparisons_need_more_repetitions() -> None:
    found = Difference(-0.01, 0.005, 9, 10, paired=True)
    one, many = (more_repetitions(found, 0.001, count) for count in (1, 100))
    assert one is not None
    assert many is not None
    assert one < many
