"""Medians and their intervals, against worked examples and by how often they cover."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.lib.medians import Estimate, estimate


def test_the_interval_of_twenty_values_is_that_of_the_tables() -> None:
    # Conover (1999), table A3: with n = 20 and p = 0.5 the 6th and the 15th value.
    assert estimate(reversed(range(1, 21))) == Estimate(10.5, 6, 15)


def test_six_values_are_the_fewest_with_an_interval() -> None:
    # All six on one side of the median: twice in 2^6 = 64 samples, 3.1 %; of five, 6.3 %.
    assert estimate([6, 1, 5, 2, 4, 3]) == Estimate(3.5, 1, 6)
    assert estimate([1, 2, 3, 4, 5]) == Estimate(3, None, None)


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        estimate([])


@pytest.mark.parametrize("n", [6, 15, 40])
def test_intervals_cover_the_median_of_very_skewed_noise(n: int) -> None:
    rng = np.random.default_rng(n)
    samples = rng.exponential(1, (1000, n))
    covered = 0
    for sample in samples:
        found = estimate(sample)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= np.log(2) <= found.high
    assert 0.94 <= covered / 1000 <= 0.995


def test_an_interval_is_shown_behind_its_median() -> None:
    assert Estimate(1.234, 1.2, 1.31).shown() == "1.23 (1.20 to 1.31)"
    assert Estimate(25, None, None).shown(1) == "25.0"
