"""The size of a gain that the pairs of a confirmation show, typically and by the mean. Pure.

The race has decided by these pairs whether there is a gain. What it tells was selected by that, so
that its intervals are those of selected gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pinstudy.analysis.statistics.decision import tail_of_selected
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.runners.records.race.confirmation import EARLY_ALPHA, Means, typical_gain


@dataclass(frozen=True)
class Gain:
    """Gains as logarithms: the interval of the typical one, that of the mean, and its least one.

    Of the gains that are told, the interval or the least gain is false in a share `level`, that of
    the analysis that ended the race. `higher` says that more is better.
    """

    typical: Interval
    mean: float
    least_mean: float
    level: float
    higher: bool = False

    @property
    def ratio(self) -> Interval:
        """The interval of the typical ratio of the best to the reference."""
        ends = (self.typical.low, self.typical.high)
        low, high = ends if self.higher else (-ends[1], -ends[0])
        return Interval(math.exp(low), math.exp(high))

    def share(self, gain: float) -> float:
        """Return a gain as a share of the reference."""
        return math.expm1(gain) if self.higher else -math.expm1(-gain)


def gain_of(best: Sequence[float], reference: Sequence[float], level: float, higher: bool) -> Gain:
    """Return the gain of ten pairs or more, given as logarithms of which less is better."""
    typical, means = typical_gain(best, reference), Means(best, reference, higher)
    low, high = typical.bounds(level)
    # What is told of both sizes is true together, so that each has half of the level. An early
    # analysis has so little of it that a selection needs no correction: it is in its wide interval.
    half, p, early = level / 2, means.p(), level <= EARLY_ALPHA
    if low > 0:
        tail = half / 2 if early else tail_of_selected(typical.p, level / 2, half / 2)
        low = max(0.0, typical.bounds(2 * tail)[0]) if tail else 0.0
        high = typical.bounds(half)[1]
    if p > level:
        return Gain(Interval(low, high), means.gain, means.least_gain(half), level, higher)
    tail = half if early else tail_of_selected(p, level, half)
    least = max(0.0, means.least_gain(tail)) if tail else 0.0
    return Gain(Interval(low, high), means.gain, least, level, higher)
