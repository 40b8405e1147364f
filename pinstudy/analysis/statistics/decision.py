"""Turn p-values into an outcome (after Holm's correction), and forecast when one is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import Array, Interval

Counts = NDArray[np.int64]

Outcome = Literal["better", "worse", "equivalent", "undecided"]

# The usual share of false claims among studies in which nothing differs.
ALPHA = 0.05
# The share of it that a study's first look spends. Later looks, at a study that was continued
# because it was undecided, share the rest.
FIRST_LOOK = 0.8
# Two runs of each have next to no spread in one study of ten by chance alone.
MIN_TO_DECIDE = 3
# A forecast goes no further.
MAX_REPETITIONS = 1000
# With fewer repetitions spread and ratio are too uncertain for a forecast.
MIN_TO_FORECAST = 10
# Smaller p-values are this one, and larger deviates that one: beyond, nothing changes any more.
MIN_P = 1e-300
MAX_DEVIATE = 40.0
# An end of a smaller level would be beyond any gain.
MIN_TAIL = 1e-12
# The shares of studies that the smaller and the larger number of a forecast decide.
CHANCES = (0.5, 0.8)
# How many quantiles of spread and ratio a forecast averages over, and how many totals it tries.
# Both are small, because a verdict may have thousands of comparisons.
MIDDLES = 11
TOTALS = 80


@dataclass(frozen=True)
class Look:
    """An interim analysis: results that may be looked at again when there are more of them.

    `number` is 1 at first and rises each time a study is continued after all its repetitions.
    Before that, `planned` looks decide when the study ends; it is 1 where their number is fixed.
    """

    number: int = 1
    planned: int = 1

    @property
    def share(self) -> float:
        """The share of ALPHA that words are tested at: 0.8 / planned, then 0.2 / (k (k - 1)).

        All looks together are 1 however many there are (Bonferroni).
        """
        if self.number <= 1:
            return FIRST_LOOK / self.planned
        return (1 - FIRST_LOOK) / (self.number * (self.number - 1))

    @property
    def after(self) -> Look:
        """The look at the study when it was continued."""
        return Look(self.number + 1, self.planned)


ONLY_LOOK = Look()


def decide(log_ratio: float, p_different: float, p_outside: float) -> Outcome:
    """Return the outcome for a case whose values are wanted small; the p-values are corrected.

    A difference that is proved to be smaller than the margin does not matter, even where it is
    proved to exist; so `equivalent` comes first.
    """
    if p_outside <= ALPHA:
        return "equivalent"
    if p_different <= ALPHA:
        return "better" if log_ratio < 0 else "worse"
    return "undecided"


def tail_of_selected(p: float, critical: float, tail: float) -> float:
    """Return the one-sided level of the end near no gain, of the interval of a selected gain.

    A gain is told because its one-sided `p` is at most `critical`, and where tests seldom select
    gains, those that they select are larger than the true ones. Of the gains that are told, this
    end exceeds the true one in a share `tail`: it is a quantile of what the selection leaves of the
    distribution, on the scale of normal deviates (Weinstein, Fithian and Benjamini, "Selection
    Adjusted Confidence Intervals with More Power to Determine the Sign", 2013). Far below
    `critical` it is `tail` itself, and close to it 0: no end. The other end needs no correction, as
    gains that are underestimated are told less often.
    """
    excess = max(0.0, float(special.ndtri(critical) - special.ndtri(max(p, MIN_P))))
    low, high = -MAX_DEVIATE, MAX_DEVIATE
    for _ in range(60):
        middle = (low + high) / 2
        # The share of selected estimates that exceed the true gain by so much, or more.
        share = special.log_ndtr(-middle) - special.log_ndtr(excess - middle)
        low, high = (middle, high) if share > np.log(tail) else (low, middle)
    found = float(special.ndtr(-high))
    return found if found > MIN_TAIL else 0.0


def interval_of_selected(difference: Difference, p_different: float, among: int = 1) -> Interval:
    """Return the interval of a ratio that was told because of its p-value, the best of several.

    `p_different` is corrected: at most ALPHA led to its word. The choice among so many takes the
    level of each (Bonferroni). The interval ends at 1 at the latest: that there is a difference has
    a test of its own.
    """
    if difference.standard_error == 0 or not p_different > 0:
        return difference.interval(1 - ALPHA / among)
    tail = ALPHA / among / 2
    p = difference.p_different
    near = tail_of_selected(p / 2, min(1.0, ALPHA * p / p_different) / 2, tail)
    less = difference.log_ratio < 0
    found = difference.between(*((tail, near) if less else (near, tail)))
    if less:
        return replace(found, high=min(1.0, found.high))
    return replace(found, low=max(1.0, found.low))


@dataclass(frozen=True)
class RepetitionForecast:
    """How many more repetitions decide in about half of such studies, and in four of five."""

    half: int
    most: int


def more_repetitions(
    difference: Difference, margin: float, comparisons: int, look: Look = ONLY_LOOK
) -> RepetitionForecast | None:
    """Return how many more repetitions would decide, at the level of the look after this one.

    The forecast averages over the true ratio and spread that the runs leave possible (t and chi
    square), and its final test includes the existing runs. All comparisons of the question share
    the level (Bonferroni, which Holm never falls short of). None for fewer than ten repetitions,
    for runs without spread, for pairs of several boots or days, whose differences more repetitions
    of one boot do not average out, and where a thousand repetitions would not do or were made.
    """
    n = difference.n
    if not MIN_TO_FORECAST <= n < MAX_REPETITIONS:
        return None
    if difference.units > 1 or not difference.spread > 0:
        return None
    totals = np.unique(np.geomspace(n + 1, MAX_REPETITIONS, TOTALS).astype(np.int64))
    chance = np.maximum.accumulate(
        _chance(difference, totals, margin, ALPHA * look.after.share / max(comparisons, 1))
    )
    if chance[-1] < CHANCES[1]:
        return None
    half, most = (int(totals[np.argmax(chance >= wanted)]) - n for wanted in CHANCES)
    return RepetitionForecast(half, most)


def _chance(difference: Difference, totals: Counts, margin: float, level: float) -> Array:
    """Return, for each total of repetitions, the share of studies that decide by then."""
    n, df = difference.n, difference.df
    middles = (np.arange(MIDDLES) + 0.5) / MIDDLES
    # The spread of one repetition, the true log ratio given that spread, and what new runs show.
    spreads = difference.spread * np.sqrt(df / special.chdtri(df, middles))[:, None, None]
    truths = difference.log_ratio + special.ndtri(middles)[None, :, None] * spreads / n**0.5
    share = n / totals
    middle = share * difference.log_ratio + (1 - share) * truths
    error = spreads / totals * np.sqrt(totals - n)
    df_then = df * (totals - 1) / (n - 1)
    beyond = special.stdtrit(df_then, 1 - level / 2) * spreads / totals**0.5
    within = np.log1p(margin) - special.stdtrit(df_then, 1 - level) * spreads / totals**0.5
    below = special.ndtr
    different = below((middle - beyond) / error) + below((-beyond - middle) / error)
    same = below((within - middle) / error) - below((-within - middle) / error)
    decided = different + np.where(within > 0, same, 0.0)
    # Then every ratio is beyond the one bound or within the other.
    decided = np.where(within >= beyond, 1.0, decided)
    return np.asarray(decided.mean(axis=(0, 1)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given.

    Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979): the smallest of m times
    m, the next times m - 1, and so on, none smaller than the one before and none above 1.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names of the points that no other dominates, by the first number ascending.

    A point dominates another when it is smaller in one number and not larger in the other. Equal
    points are all on the front.
    """
    front: list[str] = []
    least = float("inf")
    for name, (first, second) in sorted(points.items(), key=lambda item: item[1]):
        is_equal = bool(front) and points[front[-1]] == (first, second)
        if second < least or is_equal:
            front.append(name)
            least = second
    return front
