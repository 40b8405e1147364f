"""Whether runs became slower or faster while a study went on, or with the package's temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics.decision import ALPHA
from analysis.statistics.interval import LEVEL, Interval

Array = NDArray[np.float64]

# Fewer runs beyond one a case say nothing of a trend.
LEAST_DF = 8


@dataclass(frozen=True)
class Trend:
    """A straight line through the runs' times, each relative to its case.

    `slope` and `interval` are shares of the time per unit (hour, kelvin); `span` is how many units
    the runs cover; `p` is of Spearman's rank correlation, which an outlier cannot make; `n` runs.
    """

    slope: float
    interval: Interval
    span: float
    p: float
    n: int

    @property
    def found(self) -> bool:
        """Whether the ranks and the line agree that there is a trend."""
        return self.p <= ALPHA and 0.0 not in self.interval

    @property
    def change(self) -> float:
        """The share of its time by which a run changed from the first unit to the last."""
        return float(np.expm1(self.slope * self.span))


@dataclass(frozen=True)
class Drift:
    """The trends over hours and kelvins; None where there are too few runs, or no temperatures."""

    over_time: Trend | None
    over_temperature: Trend | None


def trend(cases: NDArray[np.intp], values: Array, along: Array) -> Trend | None:
    """Return the trend of `values` (positive) along a quantity, both centred on their cases.

    `cases` numbers each run's case: the regression has a mean of its own for each of them ("fixed
    effects"), so that slow cases that happened to come late make no trend. Runs without a value or
    a place are left out. None when what is left has fewer than 8 degrees of freedom or no extent.
    """
    known = np.isfinite(values) & np.isfinite(along) & (values > 0)
    if not known.any():
        return None
    _, cases = np.unique(cases[known], return_inverse=True)
    y, x = _centred(cases, np.log(values[known])), _centred(cases, along[known])
    df = len(y) - (int(cases.max()) + 1) - 1
    squares = float(x @ x)
    if df < LEAST_DF or not squares > 0:
        return None
    slope = float(x @ y) / squares
    error = (float(np.sum((y - slope * x) ** 2)) / df / squares) ** 0.5
    reach = float(stats.t.ppf((1 + LEVEL) / 2, df)) * error
    p = float(stats.spearmanr(x, y).pvalue) if np.ptp(y) > 0 and np.ptp(x) > 0 else 1.0
    span = float(np.ptp(along[known]))
    return Trend(slope, Interval(slope - reach, slope + reach), span, p, len(y))


def _centred(cases: NDArray[np.intp], values: Array) -> Array:
    """Return the values less the mean of their case."""
    means = np.bincount(cases, weights=values) / np.bincount(cases)
    return np.asarray(values - means[cases])
