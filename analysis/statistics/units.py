"""What differs from boot to boot, or from day to day, in the error of a typical ratio.

Memory layout, page colours, firmware and the hours change between two attempts at a study, for all
of its runs together: more repetitions within one boot do not average that out (Kalibera and Jones,
"Rigorous Benchmarking in Reasonable Time", 2013). Where pairs come from several boots or days, the
error is that of a one-way random effect.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.statistics.trimmed import Centre


def with_units(
    values: NDArray[np.float64], centre: Centre, units: NDArray[np.intp]
) -> tuple[float, float]:
    """Return the variance of a trimmed mean and its degrees of freedom, units among what varies.

    `values` are those that `centre` is of. Within units the winsorised values vary, scaled so that
    their mean has the trimmed mean's variance; between units their medians do, which one slow run
    does not move, and which winsorising must not draw together. Components of variance follow from
    expected mean squares, degrees of freedom from Satterthwaite's approximation (1946). The
    variance is never less than that without units, which stands where units differ by no more than
    their runs do.
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
