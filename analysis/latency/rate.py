"""Transfers a second: the harmonic mean of rates, with its 95 % interval.

The harmonic mean of rates is the inverse of the mean time, so its interval is Student's for the
mean time, inverted: it is longer towards higher rates.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from analysis.statistics.interval import LEVEL

NS_PER_S = 1e9


def rates(groups: NDArray[np.intp], times_ns: NDArray[np.float64]) -> pd.DataFrame:
    """Return a row a group (0, 1, 2 …): `rate_per_s`, `rate_low_per_s`, `rate_high_per_s`.

    The interval's ends are NaN for a single time, and the upper one is infinite where the times
    spread so far that a mean of 0 cannot be excluded.
    """
    grouped = pd.Series(times_ns).groupby(groups)
    mean, sd, n = grouped.mean(), grouped.std(ddof=1), grouped.size()
    t = special.stdtrit(np.maximum(n.to_numpy() - 1, 1), (1 + LEVEL) / 2)
    reach: pd.Series[float] = sd * t / n**0.5
    least = (mean - reach).where(mean > reach, 0.0).where(reach.notna())
    with np.errstate(divide="ignore"):
        return pd.DataFrame(
            {
                "rate_per_s": NS_PER_S / mean,
                "rate_low_per_s": NS_PER_S / (mean + reach),
                "rate_high_per_s": NS_PER_S / least,
            }
        )
