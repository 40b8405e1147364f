"""Tables in Markdown, and medians with 95 % intervals that need no normal noise."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.stats import binom
from tabulate import tabulate

from pinstudy.analysis.statistics.sample import LEVEL


@dataclass(frozen=True)
class Estimate:
    """A median and the ends of its interval, in the unit of the values; no ends of too few."""

    median: float
    low: float | None
    high: float | None

    def shown(self, digits: int = 2) -> str:
        """Return it as `1.23 (1.20 to 1.31)`."""
        if self.low is None or self.high is None:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def estimate(values: Iterable[float]) -> Estimate:
    """Return the median of independent values and its 95 % interval, from six values on.

    The interval's ends are values themselves: a value lies below the true median as often as a
    coin shows heads, whatever the noise looks like, so that the binomial distribution says how far
    out of the order they must be taken (Conover, "Practical Nonparametric Statistics", 1999, 3.2).
    Raises ValueError without a value.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a median of no values")
    n = len(ordered)
    middle = statistics.median(ordered)
    # The largest k for which at most 2.5 % of samples have k or fewer values below the median.
    outside = int(binom.ppf((1 - LEVEL) / 2, n, 0.5))
    if binom.cdf(outside, n, 0.5) > (1 - LEVEL) / 2:
        outside -= 1
    if outside < 0:
        return Estimate(middle, None, None)
    return Estimate(middle, ordered[outside], ordered[n - 1 - outside])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, its first column to the left and the others, numbers, to the right.

    Cells are shown as they are given: whoever makes them decides on digits and units.
    """
    align = ("left", *["right"] * (len(header) - 1))
    return tabulate(
        [list(row) for row in rows],
        headers=list(header),
        tablefmt="pipe",
        colalign=align,
        disable_numparse=True,
    )
