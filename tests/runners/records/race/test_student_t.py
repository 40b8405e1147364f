"""Student's t by the standard library, against scipy."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runners.records.race.student_t import Moments, quantile, upper_tail, welch

DFS = st.floats(0.5, 1e4)
NUMBERS = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=20)


@given(st.floats(-1e3, 1e3), DFS)
def test_the_tail_is_scipys(t: float, df: float) -> None:
    assert upper_tail(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-8, abs=1e-300)


@given(st.floats(1e-9, 0.5), st.floats(0.9, 1e4))
def test_the_quantile_is_where_the_tail_begins(p: float, df: float) -> None:
    assert upper_tail(quantile(p, df), df) == pytest.approx(p, rel=1e-9)


def test_the_tails_ends() -> None:
    assert upper_tail(inf, 3) == 0
    assert upper_tail(-inf, 3) == 1
    assert upper_tail(0, 3) == 0.5


@given(NUMBERS, NUMBERS)
def test_error_and_degrees_of_freedom_are_welchs(a: list[float], b: list[float]) -> None:
    error, df = welch(Moments.of(a), Moments.of(b))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        # scipy warns of lost digits; the error is then that of the other one.
        of_both = (stats.sem(a) if np.ptp(a) else 0.0, stats.sem(b) if np.ptp(b) else 0.0)
        assert error == pytest.approx(np.hypot(*of_both), rel=1e-6, abs=1e-9)
        return
    test = stats.ttest_ind(a, b, equal_var=False)
    assert df == pytest.approx(test.df, rel=1e-6)
    if abs(np.mean(a) - np.mean(b)) > 1e-6:
        assert (np.mean(a) - np.mean(b)) / error == pytest.approx(test.statistic, rel=1e-6)
