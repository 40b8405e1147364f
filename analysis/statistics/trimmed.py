"""The typical value of repeated runs: a trimmed mean, and how certain it is.

No test keeps its level for a mean when one of two mappings has rare slow runs, for ten runs often
hold none of them. The mean of the middle 60 % keeps it whatever shapes both have (`make noise`;
docs/statistics.md has the figures), and its error follows from the winsorised deviations: Tukey and
McLaughlin, "Less Vulnerable Confidence and Significance Procedures" (1963); Yuen, "The Two-Sample
Trimmed t for Unequal Population Variances" (1974).

Memory layout, page colours, firmware and the hours change between two boots or days, for all runs
of one together: more repetitions within one boot do not average that out (Kalibera and Jones,
"Rigorous Benchmarking in Reasonable Time", 2013). Where values come from several such units, the
error is that of a one-way random effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The share cut from each end. Where one run in ten is slow, a tenth often leaves some in.
SHARE = 0.2
# Trimming fewer values costs so many degrees of freedom that the untrimmed mean finds more. It
# still keeps its level there: among so few runs a slow one is absent, or widens the interval.
MIN_TRIMMED = 7


def cut_of(n: int) -> int:
    """Return how many of n values are cut from each end: none of fewer than seven."""
    return int(SHARE * n) if n >= MIN_TRIMMED else 0


@dataclass(frozen=True)
class Centre:
    """A trimmed mean.

    `kept` of the `n` values are averaged. The winsorised values, those cut replaced by the nearest
    one that is kept, stand in the order of the values.
    """

    value: float
    n: int
    kept: int
    winsorised: Array

    @property
    def variance(self) -> float:
        """The square of the trimmed mean's standard error (Yuen 1974); two values are kept."""
        squares = float(np.sum((self.winsorised - self.winsorised.mean()) ** 2))
        return squares / (self.kept * (self.kept - 1))

    @property
    def df(self) -> float:
        """The degrees of freedom of its error.

        Yuen's kept - 1 rejects up to half as often again as it claims in the tails at which Holm
        tests (normal noise, 10 values, 1 %: 1.4 %). Half a degree less for each value cut from an
        end makes that right from 7 to 16 values, and better beyond.
        """
        return self.kept - 1 - (self.n - self.kept) / 4


def centre_of(values: Array, cut: int) -> Centre:
    """Return the mean of what is left when `cut` values are taken from each end."""
    ordered = np.sort(values)
    kept = ordered[cut : len(ordered) - cut]
    winsorised = np.clip(values, kept[0], kept[-1])
    return Centre(float(kept.mean()), len(values), len(kept), winsorised)


def with_units(
    values: NDArray[np.float64], centre: Centre, units: NDArray[np.intp]
) -> tuple[float, float]:
    """Return a trimmed mean's variance with that between units, and its degrees of freedom.

    `centre` is the trimmed mean of `values`. The variance within units is that of the winsorised
    values, scaled so that their mean has the trimmed mean's variance. The variance between units is
    that of their medians, because one slow run does not move a median, and winsorising would draw
    the units together. Components of variance follow from expected mean squares, degrees of freedom
    from Satterthwaite's approximation (1946). Where units differ no more than their runs do, the
    result is that without units; it is never smaller.
    """
    _, at = np.unique(units, return_inverse=True)
    sizes = np.bincount(at).astype(float)
    n, count = centre.n, len(sizes)
    means = np.bincount(at, weights=centre.winsorised) / sizes
    medians = np.array([np.median(values[at == unit]) for unit in range(count)])
    df_within, df_between = max(1.0, centre.df + 1 - count), float(count - 1)
    scale = n / centre.kept
    squares = float(np.sum((centre.winsorised - means[at]) ** 2))
    within = scale * squares / df_within
    away = medians - float(np.sum(sizes * medians)) / n
    between = float(np.sum(sizes * away**2)) / df_between
    # Of the mean square between units, so many times the units' own variance are expected.
    effective = (n - float(np.sum(sizes**2)) / n) / df_between
    of_between = float(np.sum((sizes / n) ** 2)) / effective
    of_within = max(0.0, 1 / n - of_between)
    variance = of_between * between + of_within * within
    if between <= within or variance <= centre.variance:
        return centre.variance, centre.df
    parts = (of_between * between) ** 2 / df_between + (of_within * within) ** 2 / df_within
    return variance, variance**2 / parts
