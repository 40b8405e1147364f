"""From corrected p-values to one word, and to how many repetitions would give another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.statistics.difference import Difference

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

Word = Literal["better", "worse", "equivalent", "undecided"]

# The usual share of false claims among studies in which nothing differs.
ALPHA = 0.05
# What a study's first look spends of it. Those after it, when the study was continued because it
# was undecided, share the rest.
FIRST_LOOK = 0.8
# Two runs of each have next to no spread in one study of ten by chance alone.
MIN_TO_DECIDE = 3
# What nobody would repeat more often.
MAX_REPETITIONS = 1000
# Fewer repetitions know too little of spread and ratio to say how many would decide.
MIN_TO_FORECAST = 10
# In so many studies of 100 the fewer, and the more, repetitions of a forecast decide.
CHANCES = (0.5, 0.8)
# So many quantiles of the spread and of the ratio are averaged over, and so many totals tried: a
# verdict may have thousands of comparisons.
MIDDLES = 11
TOTALS = 80


def share_of_look(look: int) -> float:
    """Return the share of ALPHA that a look is tested at, from 1: 0.8, then 0.2 / (k (k - 1)).

    All of them together are 1 however many there are (Bonferroni).
    """
    return FIRST_LOOK if look <= 1 else (1 - FIRST_LOOK) / (look * (look - 1))


def decide(log_ratio: float, p_different: float, p_outside: float) -> Word:
    """Return the word for a case whose values are wanted small; the p-values are corrected.

    A difference that is certainly smaller than the margin is none that matters, however certain it
    is; hence `equivalent` comes first.
    """
    if p_outside <= ALPHA:
        return "equivalent"
    if p_different <= ALPHA:
        return "better" if log_ratio < 0 else "worse"
    return "undecided"


@dataclass(frozen=True)
class Forecast:
    """How many more repetitions decide in about half of such studies, and in four of five."""

    half: int
    most: int


def more_repetitions(
    difference: Difference, margin: float, comparisons: int, look: int = 1
) -> Forecast | None:
    """Return how many more repetitions would decide, at the level of the look after this one.

    What is not known, ratio and spread, is averaged over: what the runs leave of both (t and chi
    square), not their estimates alone, with the runs there are among those tested in the end. The
    level is shared by all comparisons of the question (Bonferroni's, which Holm's is never worse
    than). None where the repetitions are under ten, where there is no spread to tell from, where
    boots or days differ, which more repetitions in this one do not average out, or where a thousand
    would not do.
    """
    n = difference.n
    if not MIN_TO_FORECAST <= n < MAX_REPETITIONS:
        return None
    if difference.units > 1 or not difference.spread > 0:
        return None
    totals = np.unique(np.geomspace(n + 1, MAX_REPETITIONS, TOTALS).astype(np.int64))
    chance = np.maximum.accumulate(
        _chance(difference, totals, margin, ALPHA * share_of_look(look + 1) / max(comparisons, 1))
    )
    if chance[-1] < CHANCES[1]:
        return None
    half, most = (int(totals[np.argmax(chance >= wanted)]) - n for wanted in CHANCES)
    return Forecast(half, most)


def _chance(difference: Difference, totals: Counts, margin: float, level: float) -> Array:
    """Return how often a study decides that goes on to each of these numbers of repetitions."""
    n, df = difference.n, difference.df
    middles = (np.arange(MIDDLES) + 0.5) / MIDDLES
    # Spread of one repetition, then the true log ratio given it, then what the new runs show.
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
    # Every ratio is then either beyond the one or within the other.
    decided = np.where(within >= beyond, 1.0, decided)
    return np.asarray(decided.mean(axis=(0, 1)))
