"""How two cases differ: the ratio of their values, its interval and its tests.

Ratios are compared as differences of logarithms. Two mappings that do the same are exchangeable
within a block, so the paired difference is symmetric about 0 whatever the noise looks like:
skewness cancels, and Student's t keeps its level without normal noise (Efron, "Student's t-Test
Under Symmetry Conditions", 1969; the simulations of tests/analysis/statistics check it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics.interval import LEVEL, Interval

Array = NDArray[np.float64]

# No clock tells runs apart by less: what is left of equal times after a logarithm, and no spread.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """log(a / b), its standard error and degrees of freedom, from `n` repetitions of each.

    `paired` says whether runs were compared within their blocks.
    """

    log_ratio: float
    standard_error: float
    df: float
    n: int
    paired: bool

    @classmethod
    def of_pairs(cls, log_a: Array, log_b: Array) -> Difference:
        """Compare runs that share their blocks: arrays of equal length, two values or more."""
        each = np.asarray(log_a) - np.asarray(log_b)
        n = len(each)
        error = _spread(each) / n**0.5
        return cls(float(each.mean()), error, n - 1, n, paired=True)

    @classmethod
    def welch(cls, log_a: Array, log_b: Array) -> Difference:
        """Compare runs that share no blocks: arrays of two values or more (Welch 1947)."""
        return cls._unpaired(
            float(np.mean(log_a) - np.mean(log_b)),
            (_spread(np.asarray(log_a)) ** 2 / len(log_a), len(log_a)),
            (_spread(np.asarray(log_b)) ** 2 / len(log_b), len(log_b)),
        )

    @classmethod
    def from_summary(
        cls, mean_a: float, sd_a: float, n_a: int, mean_b: float, sd_b: float, n_b: int
    ) -> Difference:
        """Compare published means: positive, with sd (n - 1) and two repetitions or more each.

        The variance of a logarithm of a mean is (sd / mean)^2 / n to first order (delta method).
        """
        return cls._unpaired(
            float(np.log(mean_a) - np.log(mean_b)),
            ((sd_a / mean_a) ** 2 / n_a, n_a),
            ((sd_b / mean_b) ** 2 / n_b, n_b),
        )

    @classmethod
    def _unpaired(cls, log_ratio: float, a: tuple[float, int], b: tuple[float, int]) -> Difference:
        """`a` and `b` are (variance of the mean, n)."""
        (of_a, n_a), (of_b, n_b) = a, b
        variance = of_a + of_b
        # Welch and Satterthwaite's approximate degrees of freedom.
        squares = of_a**2 / (n_a - 1) + of_b**2 / (n_b - 1)
        df = variance**2 / squares if squares > 0 else float(min(n_a, n_b) - 1)
        return cls(log_ratio, variance**0.5, df, min(n_a, n_b), paired=False)

    @property
    def ratio(self) -> float:
        """How many times the value of b that of a is."""
        return _exp(self.log_ratio)

    @property
    def spread(self) -> float:
        """The standard deviation that one repetition brings into the log ratio."""
        return float(self.standard_error * self.n**0.5)

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval of the ratio, from 0 to infinity where two runs tell next to nothing.

        It has no width when no spread was measured, which says nothing of what the ratio may be.
        """
        reach = float(stats.t.ppf((1 + level) / 2, self.df)) * self.standard_error
        return Interval(_exp(self.log_ratio - reach), _exp(self.log_ratio + reach))

    @property
    def p_different(self) -> float:
        """The two-sided p-value of "both are the same"; 1 when no spread was measured."""
        if self.standard_error == 0:
            return 1.0
        return float(2 * stats.t.sf(abs(self.log_ratio) / self.standard_error, self.df))

    def p_outside(self, margin: float) -> float:
        """Return the p-value of "the ratio is at the margin or beyond", a share such as 0.01.

        The larger of two one-sided tests, at 1 / (1 + margin) and 1 + margin (Schuirmann 1987).
        """
        if self.standard_error == 0:
            return 1.0
        nearest = (np.log1p(margin) - abs(self.log_ratio)) / self.standard_error
        return float(stats.t.sf(nearest, self.df))


def _spread(values: Array) -> float:
    """Return the standard deviation of logarithms; 0 for what only their rounding makes."""
    spread = float(values.std(ddof=1))
    return spread if spread > _ROUNDING else 0.0


def _exp(value: float) -> float:
    """Return e to a power, infinite where no number is large enough for it."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(value))
