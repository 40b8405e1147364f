"""Compare slow runs and spreads of two cases, which typical values do not show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from pinstudy.analysis.statistics.decision import ALPHA
from pinstudy.analysis.statistics.difference import ROUNDING
from pinstudy.analysis.statistics.sample import (
    MIN_FOR_INTERVALS,
    OUTLIER_SCORE,
    Array,
    modified_scores,
)

# A slow run takes longer than its case's median by at least this share, because nobody would act on
# less. Its modified z-score must also exceed the case's noise.
MIN_LONGER = 0.03
# Spreads differ when one is at least twice the other and a test agrees.
MIN_TIMES = 2.0
# Welch's test of means is for unlike spreads, too. So much more is a sign of another shape: of a
# few slow runs, of which no mean tells.
MIN_TIMES_OF_MEANS = 5.0
# Rare slow runs are a mode of one run in ten.
RARE = 0.1
# Boschloo's test of 100 runs each takes 0.2 s, of 1000 each 50 s.
MAX_OF_BOSCHLOO = 100


@dataclass(frozen=True)
class SlowRuns:
    """How many of a case's `n` runs were slow, and how slow.

    The slow runs took `least` to `most` longer than the median, as shares (0.08 for 8 %); both are
    0 without slow runs.
    """

    count: int
    n: int
    least: float = 0.0
    most: float = 0.0


def slow_runs(times: Array) -> SlowRuns | None:
    """Return the slow runs of a case; None for fewer than five runs, whose noise is unknown.

    Slow is a run that takes at least 3 % longer than the median of its case and stands more than
    3.5 deviations above it (modified z-score, Iglewicz and Hoaglin 1993).
    """
    if len(times) < MIN_FOR_INTERVALS:
        return None
    longer = times / float(np.median(times)) - 1
    scores = modified_scores(np.asarray(times, dtype=float)[None, :])[0]
    slow = longer[(longer >= MIN_LONGER) & (scores > OUTLIER_SCORE)]
    if not len(slow):
        return SlowRuns(0, len(times))
    return SlowRuns(len(slow), len(times), float(slow.min()), float(slow.max()))


def p_of_shares(a: SlowRuns, b: SlowRuns) -> float:
    """Return the exact p-value of "both cases have the same share of slow runs".

    Up to 100 runs of each it is Boschloo's (1970), whose test is never weaker than Fisher's. For
    more runs both hardly differ, and Fisher's takes less time.
    """
    return _p_of_counts(a.count, a.n, b.count, b.n)


@lru_cache(maxsize=4096)
def _p_of_counts(slow_a: int, n_a: int, slow_b: int, n_b: int) -> float:
    if slow_a + slow_b in (0, n_a + n_b):
        return 1.0
    from scipy import stats

    table = np.array([[slow_a, slow_b], [n_a - slow_a, n_b - slow_b]])
    test = stats.boschloo_exact if max(n_a, n_b) <= MAX_OF_BOSCHLOO else stats.fisher_exact
    return float(test(table).pvalue)


def unseen(n: int) -> float:
    """Return the probability that n runs contain none of a rare mode."""
    return float((1 - RARE) ** n)


def share_of_unseen_slow_runs(n: int, comparisons: int) -> float:
    """Return in which share of questions means that are equal are called different.

    One run in ten is slow on one side alone. So often none of n runs is, and the noise looks like
    that of the other side; where some are, the t test's level suffers. `make noise` finds no more,
    table "mean-words".
    """
    wrong = min(1.0, unseen(n) + ALPHA / 2)
    return max(2 * ALPHA, 1 - (1 - wrong) ** comparisons)


def spread_times(log_a: Array, log_b: Array) -> float | None:
    """Return the ratio of the spreads of a and b; None where no difference is shown.

    Spreads are standard deviations of logarithms. They differ when one is twice the other or more,
    and the test of Brown and Forsythe (1974) says so at 5 %.
    """
    spreads = [float(np.std(logs, ddof=1)) for logs in (log_a, log_b)]
    if min(len(log_a), len(log_b)) < MIN_FOR_INTERVALS or min(spreads) <= ROUNDING:
        return None
    times = spreads[0] / spreads[1]
    if 1 / MIN_TIMES < times < MIN_TIMES:
        return None
    return times if p_of_spreads(log_a, log_b) <= ALPHA else None


def p_of_spreads(a: Array, b: Array) -> float:
    """Return the p-value of Brown and Forsythe (1974): of the distances from the medians, F.

    NaN, which shows no difference, where all of the distances are 0. By special functions: the
    import of scipy.stats, which has the test, takes half a second.
    """
    away = [np.abs(values - np.median(values)) for values in (a, b)]
    mean = np.concatenate(away).mean()
    between = sum(len(group) * (group.mean() - mean) ** 2 for group in away)
    within = sum(((group - group.mean()) ** 2).sum() for group in away)
    df = len(a) + len(b) - len(away)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(special.fdtrc(len(away) - 1, df, df * np.float64(between) / within))


def spread_times_of_means(cv_a: float, n_a: int, cv_b: float, n_b: int) -> float | None:
    """Return the ratio of the spreads behind two means; None where they are not very unlike.

    Spreads are coefficients of variation, each above 0 and of two runs or more. They are very
    unlike when one is five times the other or more, and the variance ratio (F) says so at 5 %:
    nothing else can be tested without runs.
    """
    times = cv_a / cv_b
    if 1 / MIN_TIMES_OF_MEANS < times < MIN_TIMES_OF_MEANS:
        return None
    tails = (special.fdtr(n_a - 1, n_b - 1, times**2), special.fdtrc(n_a - 1, n_b - 1, times**2))
    return times if 2 * min(tails) <= ALPHA else None


def least_to_see() -> int:
    """Return how many runs contain one of a rare mode with a probability of 95 %."""
    return int(np.ceil(np.log(1 - 0.95) / np.log(1 - RARE)))
