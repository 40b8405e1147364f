"""From corrected p-values to one word, and to how many repetitions would give another."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import stats

from analysis.statistics.difference import Difference

Word = Literal["better", "worse", "equivalent", "undecided"]

# The usual share of false claims among studies in which nothing differs.
ALPHA = 0.05
# The usual chance that a study of the advised size decides.
POWER = 0.8
# What nobody would repeat more often.
MOST_REPETITIONS = 1000


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


def more_repetitions(difference: Difference, margin: float, comparisons: int) -> int | None:
    """Return about how many more repetitions would decide, 1 or more.

    They would show, in 80 of 100 studies with this ratio and spread, either the difference or the
    equivalence, at a level shared by all comparisons (Bonferroni's, which Holm's is never worse
    than). None when there is no spread to tell from, or a thousand repetitions would not do.
    """
    if not difference.spread > 0:
        return None
    level = ALPHA / max(comparisons, 1)
    counts = np.arange(difference.n + 1, MOST_REPETITIONS + 1)
    df = difference.df * (counts - 1) / max(difference.n - 1, 1)
    errors = difference.spread / np.sqrt(counts)
    power = stats.t.ppf(POWER, df)
    away = abs(difference.log_ratio)
    shows_difference = away >= (stats.t.ppf(1 - level / 2, df) + power) * errors
    inside = np.log1p(margin) - away
    shows_equivalence = inside >= (stats.t.ppf(1 - level, df) + power) * errors
    enough = np.flatnonzero(shows_difference | shows_equivalence)
    return int(counts[enough[0]]) - difference.n if len(enough) else None
