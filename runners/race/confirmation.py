"""The confirmation: the best case against the reference, by fresh runs of both. Pure.

The best of many is partly the luckiest, so the runs that selected it overestimate its gain and do
not count here. The reference was not chosen by its runs. Values are logarithms of the measure raced
for; less is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from runners.race.student_t import Moments, p_value, welch

# The probability of reporting a gain where there is none.
ALPHA = 0.05
# An interim analysis follows each block. Only an overwhelming difference ends the confirmation
# early, which costs the last analysis next to nothing (Haybittle, "Repeated assessment of results
# in clinical trials of cancer treatment", 1971; Peto et al., 1976).
EARLY_ALPHA = 0.001
MAX_EARLY_ANALYSES = 10
# The probability of wrongly excluding, early, a gain of more than the margin.
EARLY_NO_GAIN_ALPHA = 0.01
# This many of the reference's last earlier runs count for each of its runs in the confirmation.
# With more, a node that was busier before could look like a gain.
EARLIER_SHARE = 0.25
# With fewer runs of a case its deviation is not known.
MIN_RUNS = 3
# The noisier case makes more runs, in proportion to the deviations, which gives the smallest error
# of the difference (Neyman, "On the two different aspects of the representative method", 1934).
# It makes more only if it is surely noisier: the deviation of a few runs can be off by this factor
# by chance, and where noise only makes runs slower, the luckier case also seems the steadier one.
SURE_TIMES = 2.5
MAX_TO_ONE = 5


@dataclass(frozen=True)
class InterimAnalysis:
    """The result: `decision` is `gain`, `no gain`, `undecided`, or empty to go on.

    `p` is the probability of such a difference between equal cases; None with too few runs, and
    1 where no value differs from the others of its case: no test can use these, and a coarse clock
    makes them.
    """

    decision: str
    p: float | None


def shares(best: Sequence[float], reference: Sequence[float]) -> tuple[int, int]:
    """Return how many runs of the best and of the reference the next block has."""
    if min(len(best), len(reference)) < 2:
        return 1, 1
    of_best, of_reference = (sqrt(Moments.of(values).variance) for values in (best, reference))
    return _runs_for_one(of_best, of_reference), _runs_for_one(of_reference, of_best)


def _runs_for_one(deviation: float, other: float) -> int:
    """Return how many runs a case makes for one of the other case."""
    if deviation <= other:
        return 1
    if deviation >= MAX_TO_ONE * SURE_TIMES * other:
        return MAX_TO_ONE
    return max(1, int(deviation / other / SURE_TIMES))


def analyse(
    best: Sequence[float], reference: Sequence[float], margin: float, earlier: int, last: bool
) -> InterimAnalysis:
    """Analyse the confirmation's values so far; `margin` is a logarithm.

    `earlier` is the number of earlier analyses, `last` whether no more runs can be made.
    """
    if min(len(best), len(reference)) < MIN_RUNS:
        return InterimAnalysis("undecided" if last else "", None)
    a, b = Moments.of(best), Moments.of(reference)
    gain = b.mean - a.mean
    error, df = welch(a, b)
    if error == 0:
        return InterimAnalysis("undecided" if last else "", 1.0)
    p = p_value(gain, error, df)
    level = ALPHA - EARLY_ALPHA * min(earlier, MAX_EARLY_ANALYSES) if last else EARLY_ALPHA
    may_report = last or earlier < MAX_EARLY_ANALYSES
    if may_report and p < level and gain > margin:
        return InterimAnalysis("gain", p)
    excluded = p_value(margin - gain, error, df)
    if excluded < (ALPHA if last else EARLY_NO_GAIN_ALPHA):
        return InterimAnalysis("no gain", p)
    return InterimAnalysis("undecided" if last else "", p)
