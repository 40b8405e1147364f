"""What verdicts claim holds where two mappings differ in the shape of their noise.

The benchmark's own simulations, small: docs/error-rates.md has the large ones, and how far off they
may be by chance. Bounds are those claims and three standard errors.
"""

from __future__ import annotations

import pytest

from analysis.statistics.decision import interval_of_selected
from analysis.statistics.difference import Difference
from benchmarks.noise import shapes, simulate
from benchmarks.noise.candidates import CANDIDATES
from benchmarks.noise.shapes import EXPONENTIAL, LOGNORMAL, NORMAL1, NORMAL2, QUIET, SLOW10
from benchmarks.noise.simulate import Pair

STUDIES = 1000
UNLIKE = [
    Pair(NORMAL2, QUIET),
    Pair(EXPONENTIAL, QUIET),
    Pair(LOGNORMAL, QUIET),
    Pair(shapes.SLOW3, QUIET),
    Pair(SLOW10, QUIET),
    Pair(SLOW10, QUIET, shared=0.03),
]


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("pair", UNLIKE, ids=lambda pair: pair.name)
def test_unlike_mappings_whose_typical_ratio_is_1_are_seldom_called_different(
    pair: Pair, n: int
) -> None:
    assert simulate.wrong_words(pair, n, STUDIES, seed=31) <= 0.095


def test_a_t_test_of_means_would_call_them_different_far_more_often() -> None:
    # What the trimmed mean is for: with it the same studies are within the bound above.
    test = CANDIDATES["t of the mean"]
    pair = Pair(SLOW10, QUIET)
    assert simulate.rejected(test, pair, "means", 10, STUDIES, seed=32) > 0.25
    assert simulate.rejected(test, pair, "typical times", 30, STUDIES, seed=32) > 0.15


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("pair", UNLIKE, ids=lambda pair: pair.name)
def test_unlike_mappings_at_the_margin_are_seldom_called_equivalent(pair: Pair, side: int) -> None:
    assert simulate.false_equivalence(pair, 10, STUDIES, 33, side) <= 0.11


def test_a_difference_of_2_percent_is_found_in_spite_of_slow_runs() -> None:
    found = simulate.power(CANDIDATES["verdict"], SLOW10, 0.02, 10, STUDIES, seed=34)
    # Two slow runs of ten may be a mode: 45 of 100 pairs of cases have no outcome.
    assert found[1] >= 0.5
    assert simulate.power(CANDIDATES["t of the mean"], SLOW10, 0.02, 10, STUDIES, 34)[1] <= 0.45


@pytest.mark.parametrize("pair", [UNLIKE[0], UNLIKE[4]], ids=lambda pair: pair.name)
def test_a_study_that_is_continued_until_it_decides_is_wrong_no_more_often(pair: Pair) -> None:
    assert simulate.continued(pair, (10, 20, 40), STUDIES, seed=35) <= 0.07


def test_as_many_more_repetitions_as_are_said_decide_in_four_studies_of_five() -> None:
    found = [simulate.forecast(NORMAL2, effect, 10, 100, seed=36) for effect in (0, 0.01, 0.02)]
    decided = [of.most for of in found if of is not None]
    assert len(decided) == 3
    assert sum(decided) / 3 >= 0.73


@pytest.mark.parametrize(("sizes", "least"), [((4, 3, 3), 0.88), ((5, 5, 5, 5), 0.9)])
def test_intervals_have_the_variance_between_boots(sizes: tuple[int, ...], least: float) -> None:
    with_boots, without = simulate.covered(sizes, 1.0, STUDIES, seed=37)
    assert with_boots >= least
    assert without < 0.87


@pytest.mark.parametrize("gains", [[0.02] * 4, [0.03, 0.0, 0.0, 0.0]], ids=["four", "one"])
def test_the_interval_of_the_gain_that_is_told_holds_it(gains: list[float]) -> None:
    found = simulate.selected(NORMAL2, gains, 5, 1500, seed=41)
    # A gain that few studies tell looks larger than it is in those that tell it.
    assert found.told < 0.25
    assert found.plain < 0.85
    assert found.selected >= 0.95


def test_the_interval_of_a_gain_that_every_study_tells_is_as_wide_as_without_a_selection() -> None:
    difference = Difference(-0.1, 0.004, 40, 41, paired=True)
    plain, told = difference.interval(), interval_of_selected(difference, 1e-24)
    assert (told.low, told.high) == pytest.approx((plain.low, plain.high), rel=1e-6)
    # One that is hardly told excludes no gain any more, and it never contradicts its word.
    assert interval_of_selected(Difference(-0.1, 0.04, 40, 41, paired=True), 0.049).high == 1


def test_boots_that_are_alike_cost_an_interval_little() -> None:
    assert 0.92 <= simulate.covered((5, 5), 0.0, STUDIES, seed=38)[0] <= 0.98


def test_shares_of_slow_runs_that_are_equal_are_seldom_called_different() -> None:
    assert simulate.slow_shares(Pair(SLOW10, SLOW10), 20, STUDIES, seed=39)[1] <= 0.06
    any_slow, different = simulate.slow_shares(Pair(SLOW10, QUIET), 50, STUDIES, seed=39)
    assert any_slow >= 0.95
    assert different >= 0.4


def test_runs_of_steady_cases_are_seldom_called_slow() -> None:
    assert simulate.slow_shares(Pair(NORMAL1, NORMAL1), 10, STUDIES, seed=40)[0] <= 0.05
