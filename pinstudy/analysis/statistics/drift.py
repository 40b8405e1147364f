"""Find trends of run times over time and temperature, and changes between attempts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from pinstudy.analysis.statistics.decision import ALPHA, holm
from pinstudy.analysis.statistics.sample import LEVEL, Array, Interval

# A trend needs at least as many degrees of freedom.
MIN_DF = 8


@dataclass(frozen=True)
class Trend:
    """A straight line through the runs' times, each relative to its case.

    `slope` and `interval` are shares of the time per unit (hour, kelvin, attempt); `span` is how
    many units the runs cover in the longest attempt; `p` is that of Spearman's rank correlation,
    which one outlier cannot bring about; `n` counts the runs.
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
        """The relative change of a run's time over the span."""
        return self._over_span(self.slope)

    @property
    def change_interval(self) -> Interval:
        """The interval of the change."""
        return Interval(self._over_span(self.interval.low), self._over_span(self.interval.high))

    def _over_span(self, slope: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.expm1(slope * self.span))


@dataclass(frozen=True)
class Step:
    """How runs changed from one attempt to the next; the unit of `trend` is an attempt."""

    before: int
    after: int
    trend: Trend


@dataclass(frozen=True)
class Drift:
    """The trends over hours and kelvins; None where there are too few runs, or no temperatures.

    Both are within attempts: a change between two attempts (a boot, another day) is no trend. The
    changes that were found are in `steps`, all tested together (Holm).
    """

    over_time: Trend | None
    over_temperature: Trend | None
    steps: tuple[Step, ...] = ()


def drift_of(
    cases: NDArray[np.intp], attempts: Array, values: Array, hours: Array, kelvins: Array
) -> Drift:
    """Return how runs drifted.

    Each array has one number for each run: its case, its attempt (NaN if unknown), its value
    (positive), the hour in which it was made, and the node's temperature.
    """
    numbers, at = np.unique(np.nan_to_num(attempts, nan=0.0), return_inverse=True)
    within = cases * len(numbers) + at
    return Drift(
        trend(within, values, hours, at),
        trend(within, values, kelvins, at),
        _steps(cases, attempts, values),
    )


def _steps(cases: NDArray[np.intp], attempts: Array, values: Array) -> tuple[Step, ...]:
    """Return the changes between known attempts that follow each other and share cases."""
    steps = []
    for before, after in pairwise(np.unique(attempts[np.isfinite(attempts)])):
        both = (attempts == before) | (attempts == after)
        found = trend(cases[both], values[both], (attempts[both] == after).astype(float))
        if found is not None:
            steps.append(Step(int(before), int(after), found))
    corrected = holm([step.trend.p for step in steps])
    tested = [
        replace(step, trend=replace(step.trend, p=p))
        for step, p in zip(steps, corrected, strict=True)
    ]
    return tuple(step for step in tested if step.trend.found)


def trend(
    cases: NDArray[np.intp], values: Array, along: Array, stretches: NDArray[np.intp] | None = None
) -> Trend | None:
    """Return the trend of `values` (positive) along a quantity, both centred on their cases.

    `cases` numbers each run's case: the regression has a mean of its own for each of them ("fixed
    effects"), so that slow cases that happened to come late make no trend. Runs without a value or
    without the quantity are left out. `stretches` numbers each run's attempt; `span` is the extent
    of the longest. None with fewer than 8 degrees of freedom, or where the quantity is constant.
    """
    known = np.isfinite(values) & np.isfinite(along) & (values > 0)
    if not known.any():
        return None
    _, cases = np.unique(cases[known], return_inverse=True)
    y, x = _centred(cases, np.log(values[known])), _centred(cases, along[known])
    df = len(y) - (int(cases.max()) + 1) - 1
    squares = float(x @ x)
    if df < MIN_DF or not squares > 0:
        return None
    slope = float(x @ y) / squares
    error = (float(np.sum((y - slope * x) ** 2)) / df / squares) ** 0.5
    reach = float(special.stdtrit(df, (1 + LEVEL) / 2)) * error
    p = _p_of_ranks(x, y) if np.ptp(y) > 0 and np.ptp(x) > 0 else 1.0
    span = _longest(along[known], None if stretches is None else stretches[known])
    return Trend(slope, Interval(slope - reach, slope + reach), span, p, len(y))


def _p_of_ranks(x: Array, y: Array) -> float:
    """Return the p-value of Spearman's rank correlation, from Student's t.

    By special functions: the import of scipy.stats, which has the test, takes half a second.
    """
    df = len(x) - 2
    r = float(pd.DataFrame({"x": x, "y": y}).corr("spearman").to_numpy()[0, 1])
    # Rounding may put it a little beyond 1.
    unexplained = max(0.0, (1 - r) * (1 + r))
    t = abs(r) * (df / unexplained) ** 0.5 if unexplained else np.inf
    return float(2 * special.stdtr(df, -t))


def _longest(along: Array, stretches: NDArray[np.intp] | None) -> float:
    """Return the extent of a quantity, or the largest that it has in one of the stretches."""
    if stretches is None:
        return float(np.ptp(along))
    return max(float(np.ptp(along[stretches == number])) for number in np.unique(stretches))


def _centred(cases: NDArray[np.intp], values: Array) -> Array:
    means = np.bincount(cases, weights=values) / np.bincount(cases)
    return np.asarray(values - means[cases])
