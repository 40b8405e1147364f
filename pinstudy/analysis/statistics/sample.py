"""Describe the repeated runs of a case: mean, median, spread, their intervals, and outliers.

No normal distribution is assumed. Intervals are BCa bootstraps (Efron, "Better
Bootstrap Confidence Intervals", 1987), expanded for small samples as Hesterberg describes it ("What
Teachers Should Know About the Bootstrap", 2015, section 4.1): a plain one at n = 10 covers the mean
of normal noise 90 times in 100, the expanded one 94 times (docs/error-rates.md has the table).
Large samples have intervals in closed form, which take no resamples.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

# With fewer runs the bootstrap has too few values to draw from.
MIN_FOR_INTERVALS = 5
# Davison and Hinkley, "Bootstrap Methods" (1997), section 5.2: tails of intervals need thousands.
RESAMPLES = 9999
# The most numbers that all bootstraps of a report draw together, in some 3 s.
MAX_DRAWN = 80_000_000
MIN_RESAMPLES = 499
# From here on intervals have closed forms: two values of a smaller sample bound its median more
# loosely than a bootstrap does.
MIN_FOR_CLOSED_FORMS = 100
# Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): modified z-scores above 3.5; the
# constants make median and mean absolute deviations those of a normal distribution.
OUTLIER_SCORE = 3.5
_MAD_OF_NORMAL = 0.6745
_MEAN_AD_OF_NORMAL = 0.7979
# An interval is useless if its upper end is more than this many times the lower one.
WIDEST = 1000.0
# The share cut from each end. Where one run in ten is slow, a tenth often leaves some in.
TRIMMED_SHARE = 0.2
# Trimming fewer values costs so many degrees of freedom that the untrimmed mean finds more. It
# still keeps its level there: among so few runs a slow one is absent, or widens the interval.
MIN_TRIMMED = 7
# The confidence of every interval that is shown.
LEVEL = 0.95


class Intervals:
    """The intervals of the means and medians of rows of one length, made when one is asked for.

    What only compares cases needs none of them, and no half second of importing the bootstrap.
    """

    def __init__(self, rows: Array, resamples: int, seed: int) -> None:
        self._rows = rows
        self._resamples = resamples
        self._seed = seed

    @property
    def of_means(self) -> Sequence[Interval | None]:
        """The interval of each row's mean."""
        return self._of_both[0]

    @property
    def of_medians(self) -> Sequence[Interval | None]:
        """The interval of each row's median."""
        return self._of_both[1]

    @cached_property
    def _of_both(self) -> tuple[Sequence[Interval | None], Sequence[Interval | None]]:
        n = self._rows.shape[1]
        if n >= MIN_FOR_CLOSED_FORMS:
            return _of_means(self._rows), _of_medians(self._rows)
        if n >= MIN_FOR_INTERVALS:
            return _bootstrapped(self._rows, self._resamples, self._seed)
        none = [None] * len(self._rows)
        return none, none


@dataclass(frozen=True)
class Sample:
    """n values of one case, in their unit.

    `sd` has n - 1 (NaN for one value), `cv` is sd / mean. The intervals are 95 % ones, None for
    fewer than five values. `outliers` are (position, modified z-score); all other fields include
    them. `typical` is what verdicts compare (analysis.statistics.difference), NaN where only means
    are known, or where values are not above 0. `intervals` has those of this sample in its `row`.
    """

    n: int
    mean: float
    sd: float
    median: float
    outliers: tuple[tuple[int, float], ...] = ()
    typical: float = float("nan")
    intervals: Intervals | None = field(default=None, repr=False, compare=False)
    row: int = field(default=0, repr=False, compare=False)

    @property
    def centre(self) -> float:
        """The typical value, or the mean where only that is known."""
        return self.mean if math.isnan(self.typical) else self.typical

    @property
    def mean_interval(self) -> Interval | None:
        """The interval of the mean."""
        return self.intervals.of_means[self.row] if self.intervals else None

    @property
    def median_interval(self) -> Interval | None:
        """The interval of the median."""
        return self.intervals.of_medians[self.row] if self.intervals else None

    @property
    def cv(self) -> float:
        """The coefficient of variation, a share; NaN when it has no meaning."""
        return self.sd / self.mean if self.mean else float("nan")


def t_interval(n: int, mean: float, sd: float) -> Interval | None:
    """Return Student's interval of a mean of which only n and the deviation (n - 1) are known.

    None where there is no spread, or one value.
    """
    if n < 2 or not sd > 0:
        return None
    reach = float(special.stdtrit(n - 1, (1 + LEVEL) / 2)) * sd / math.sqrt(n)
    return Interval(mean - reach, mean + reach)


def describe(samples: Sequence[Array], seed: int = 1) -> list[Sample]:
    """Return the statistics of each sample; a sample has one finite value or more.

    Samples of one length are drawn together, so that thousands of them are described in seconds,
    with fewer resamples (never under 499) when they are very many. The same seed gives the same
    intervals.
    """
    drawn = sum(len(values) for values in samples)
    resamples = int(np.clip(MAX_DRAWN // max(drawn, 1), MIN_RESAMPLES, RESAMPLES))
    found: dict[int, Sample] = {}
    for n in {len(values) for values in samples}:
        where = [at for at, values in enumerate(samples) if len(values) == n]
        rows = np.stack([np.asarray(samples[at], dtype=float) for at in where])
        found |= zip(where, _describe_rows(rows, resamples, seed), strict=True)
    return [found[at] for at in range(len(samples))]


def _describe_rows(rows: Array, resamples: int, seed: int) -> list[Sample]:
    n = rows.shape[1]
    intervals = Intervals(rows, resamples, seed)
    sds = rows.std(axis=1, ddof=1) if n > 1 else np.full(len(rows), np.nan)
    medians, scores = _median(rows, axis=1), modified_scores(rows)
    return [
        Sample(
            n,
            float(rows[at].mean()),
            float(sds[at]),
            float(medians[at]),
            tuple(
                (int(i), float(scores[at, i])) for i in np.flatnonzero(scores[at] > OUTLIER_SCORE)
            ),
            typical(rows[at]),
            intervals,
            at,
        )
        for at in range(len(rows))
    ]


def cut_from_each_end(n: int) -> int:
    """Return how many of n values a trimmed mean leaves out at each end."""
    return int(TRIMMED_SHARE * n) if n >= MIN_TRIMMED else 0


def typical(values: Array) -> float:
    """Return the trimmed geometric mean of values; NaN unless all of them are above 0."""
    if not (values > 0).all():
        return float("nan")
    cut = cut_from_each_end(len(values))
    kept = np.sort(np.log(values))[cut : len(values) - cut]
    return float(np.exp(kept.mean()))


def _median(values: Array, axis: int) -> Array:
    """Return medians; of few values numpy's partition and its look for NaN take longer."""
    n = values.shape[axis]
    middle = np.moveaxis(np.sort(values, axis=axis), axis, -1)
    return np.asarray((middle[..., (n - 1) // 2] + middle[..., n // 2]) / 2)


def _mean_and_median(values: Array, axis: int) -> Array:
    """Return both from the same resamples: to draw these takes as long as to average them."""
    return np.stack([values.mean(axis=axis), _median(values, axis=axis)])


def expanded_level(n: int) -> float:
    """Return the nominal level at which a bootstrap of n values covers about LEVEL.

    Bootstraps know neither the n - 1 of the variance nor Student's wider tails; both are put into
    the level (Hesterberg 2015, section 4.1: Phi(-sqrt(n / (n - 1)) t) for each tail).
    """
    t = special.stdtrit(n - 1, (1 + LEVEL) / 2)
    return float(1 - 2 * special.ndtr(-np.sqrt(n / (n - 1)) * t))


def _of_means(rows: Array) -> list[Interval | None]:
    """Return the ABC intervals of the rows' means, to which BCa ones tend with ever more resamples.

    Source: DiCiccio and Efron, "More Accurate Confidence Intervals in Exponential Families" (1992);
    of a mean, both its bias and its curvature are 0, and z0 is the acceleration.
    """
    n = rows.shape[1]
    means = rows.mean(axis=1)
    squares, cubes = (((rows - means[:, None]) ** power).sum(axis=1) for power in (2, 3))
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros(len(rows)), where=squares > 0)
    z = special.ndtri((1 + expanded_level(n)) / 2)
    steps = [acceleration + tail for tail in (-z, z)]
    low, high = (
        means + np.sqrt(squares) / n * step / (1 - acceleration * step) ** 2 for step in steps
    )
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _of_medians(rows: Array) -> list[Interval | None]:
    """Return the intervals of the rows' medians between the k-th value and the k-th last.

    Each misses the median where fewer than k of n fair coins show heads, or tails; k is the largest
    for which both together are no likelier than 1 - LEVEL (Conover, "Practical Nonparametric
    Statistics", 3rd edition, 1999, section 3.2).
    """
    n = rows.shape[1]
    k = int(np.ceil(special.bdtrik((1 - LEVEL) / 2, n, 0.5)))
    ends = np.partition(rows, [k - 1, n - k], axis=1)[:, [k - 1, n - k]]
    return [Interval(float(low), float(high)) for low, high in ends]


def _bootstrapped(
    rows: Array, resamples: int, seed: int
) -> tuple[Sequence[Interval], Sequence[Interval]]:
    """Return the expanded BCa intervals of the rows' means, then those of their medians."""
    level = expanded_level(rows.shape[1])
    low, high = _bootstrap(rows, resamples, level, seed, "BCa")
    # Equal values leave the acceleration undefined; without it the percentiles stand.
    lost = ~np.isfinite(low + high)
    for row, rows_lost in enumerate(lost):
        if rows_lost.any():
            ends = _bootstrap(rows[rows_lost], resamples, level, seed, "percentile")
            low[row, rows_lost], high[row, rows_lost] = (end[row] for end in ends)
    # Rounding may put the lower percentile of equal values above the upper one.
    of_means, of_medians = (
        [Interval(float(min(a, b)), float(max(a, b))) for a, b in zip(*ends, strict=True)]
        for ends in zip(low, high, strict=True)
    )
    return of_means, of_medians


def _bootstrap(
    rows: Array, resamples: int, level: float, seed: int, method: Literal["BCa", "percentile"]
) -> tuple[Array, Array]:
    # Half a second of imports, which is spent where intervals are shown.
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # degenerate rows give NaN, which the caller replaces
        found = stats.bootstrap(
            (rows,),
            _mean_and_median,
            axis=1,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, 4_000_000 // rows.size),
            confidence_level=level,
            method=method,
            random_state=np.random.default_rng(seed),
        ).confidence_interval
    return np.array(found.low, dtype=float), np.array(found.high, dtype=float)


def modified_scores(rows: Array) -> Array:
    """Return the modified z-scores of the values of each row; 0 for fewer than five values.

    Where the median absolute deviation is 0, the mean absolute deviation takes its place.
    """
    if rows.shape[1] < MIN_FOR_INTERVALS:
        return np.zeros_like(rows)
    away = np.abs(rows - _median(rows, axis=1)[:, None])
    middle = _median(away, axis=1) / _MAD_OF_NORMAL
    scale = np.where(middle > 0, middle, away.mean(axis=1) / _MEAN_AD_OF_NORMAL)[:, None]
    return np.divide(away, scale, out=np.zeros_like(away), where=scale > 0)


@dataclass(frozen=True)
class Interval:
    """Both ends of an interval, in the unit of what it is of."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def tells_nothing(self) -> bool:
        """Whether its upper end is so far from the lower one that it says next to nothing."""
        return not self.high < WIDEST * self.low

    @property
    def half_width(self) -> float:
        """Half of the distance between the ends."""
        return (self.high - self.low) / 2


def named_ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    """Return both ends as files name them, `ratio_low` and `ratio_high`; None where not known."""
    low, high = (interval.low, interval.high) if interval else (math.nan, math.nan)
    return {
        f"{name}_low": low if math.isfinite(low) else None,
        f"{name}_high": high if math.isfinite(high) else None,
    }
