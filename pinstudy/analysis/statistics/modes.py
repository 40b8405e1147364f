"""Modes of a case's runs: a program that starts in one of two states has no single typical time.

Trimming a fifth of the runs removes a rare mode whole. It does not remove a common one, and then
chance decides which mode is called typical: of ten runs in two equal modes, eight or more are of
one of them in 11 of 100 studies (binomial), and the other's are trimmed away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pinstudy.analysis.statistics.sample import MIN_FOR_INTERVALS, Array, cut_from_each_end

Cuts = NDArray[np.intp]

# A mode of no more of the runs is rare: trimming removes it, and its runs are counted as slow ones.
# A fifth is trimmed, but by chance the runs show more of a mode than there is.
RARE_SHARE = 0.15
# Modes are further apart than the margin up to which nobody tells two cases from each other.
MIN_APART = 0.01
# The least distance of two modes in standard deviations within modes, for ever more runs, and what
# few degrees of freedom add to it. The best cut of ten normal values reaches it once in 500 times,
# of exponential ones twice in 100 (`make noise`, table "modes").
MIN_DEVIATIONS = 5.0
DEVIATIONS_OF_FEW = 30.0
# Two modes, or three: as many as there are kinds of cores.
MAX_MODES = 3
# Three groups of fewer runs are found in noise.
MIN_FOR_THREE = 8
# The mode that is missed oftenest while it moves what is typical: one run in four.
MISSED_MODE = 0.25
# Partitions are tried of so many values at most; of more, of as many quantiles.
MAX_VALUES = 400
# Modes that both runs of a pair share leave the ratios less spread than this share of their
# distance; modes of one case alone, the rarer one of a seventh of the runs, bring 0.36 of it.
SHARED = 1 / 3
# Of so many runs in two even modes, all lie on one side of a quiet case's in 0.8 of 100 studies by
# chance (2 / 2^8).
MIN_SEPARATED = 8


@dataclass(frozen=True)
class Mode:
    """`count` runs about `value`, a mean of logarithms."""

    count: int
    value: float


@dataclass(frozen=True)
class Modes:
    """The common modes of `n` logarithms, the lowest first; rare ones are not among them."""

    modes: tuple[Mode, ...]
    n: int

    @property
    def apart(self) -> float:
        """The distance of the two nearest modes, a difference of logarithms."""
        values = [mode.value for mode in self.modes]
        return min(high - low for low, high in pairwise(values))


def modes_of(logs: Array) -> Modes | None:
    """Return the modes of a case's logarithms; None where it has one, or fewer than five values.

    The values are cut into two groups, or three, within which they differ least (squares). They are
    modes where the two nearest means are many standard deviations within groups apart, and two
    groups have more than 15 % of the runs, and two runs, each; a third may be of rare ones.
    """
    return _modes_of(np.sort(np.asarray(logs, dtype=float)).tobytes())


# Each case is compared with all others of its configuration.
@lru_cache(maxsize=4096)
def _modes_of(values_in_order: bytes) -> Modes | None:
    ordered = np.frombuffer(values_in_order, dtype=float)
    if len(ordered) < MIN_FOR_INTERVALS or ordered[-1] - ordered[0] < MIN_APART:
        return None
    n = len(ordered)
    values = ordered - np.median(ordered)
    if n > MAX_VALUES:
        values = np.quantile(values, (np.arange(MAX_VALUES) + 0.5) / MAX_VALUES)
    for count in range(2, MAX_MODES + 1):
        ends = _clear_cut(values, count)
        if ends is None:
            continue
        found = _named(ordered, np.rint(ends * n / len(values)).astype(np.intp))
        if len(found.modes) > 1:
            return found
    return None


def _clear_cut(values: Array, count: int) -> Cuts | None:
    """Return the ends of so many groups; None where the nearest two of them are not apart."""
    n = len(values)
    cuts = _cuts(n, count)
    if not cuts.shape[1]:
        return None
    sums, squares = (
        np.diff(np.concatenate([[0.0], np.cumsum(powers)])[cuts], axis=0)
        for powers in (values, values**2)
    )
    means = sums / np.diff(cuts, axis=0)
    within = np.maximum((squares - sums * means).sum(axis=0), 0.0)
    best = int(np.argmin(within))
    deviation = float(np.sqrt(within[best] / (n - count)))
    apart = float(np.diff(means[:, best]).min())
    least = (MIN_DEVIATIONS + DEVIATIONS_OF_FEW / (n - count)) * deviation
    return np.asarray(cuts[:, best]) if apart >= max(MIN_APART, least) else None


# The cuts of the largest number of values take 3 MB.
@lru_cache(maxsize=16)
def _cuts(n: int, count: int) -> Cuts:
    """Return all cuts of n ordered values into two or three groups.

    Columns are cuts; the first row is 0, the last is n. There is none into three of few values.
    """
    if count == 2:
        inner = np.arange(1, n)[None, :]
    elif n >= MIN_FOR_THREE:
        inner = np.stack(np.triu_indices(n - 1, 1)) + 1
    else:
        inner = np.empty((2, 0), dtype=np.intp)
    edges = np.zeros((1, inner.shape[1]), dtype=np.intp)
    return np.concatenate([edges, inner, edges + n])


def least_common(n: int) -> int:
    """Return of how many of n runs a mode is common: more than 15 %, and two."""
    return max(2, int(RARE_SHARE * n) + 1)


def _named(ordered: Array, ends: Cuts) -> Modes:
    groups = [ordered[low:high] for low, high in pairwise(ends)]
    common = [group for group in groups if len(group) >= least_common(len(ordered))]
    return Modes(tuple(Mode(len(group), float(group.mean())) for group in common), len(ordered))


def within_units(logs: Array, units: NDArray[np.intp]) -> Array:
    """Return logarithms as if all boots or days had one median: a boot is no mode of the runs."""
    _, at = np.unique(units, return_inverse=True)
    if not len(logs) or at.max() == 0:
        return logs
    medians = np.array([np.median(logs[at == unit]) for unit in range(at.max() + 1)])
    return np.asarray(logs - medians[at] + np.median(logs))


def hide_what_is_typical(a: Array, b: Array, *, paired: bool) -> bool:
    """Whether modes leave it to chance which ratio of two cases' logarithms is typical.

    Paired arrays have one length. What changes both runs of a block, as a step of the clock does,
    is not in their ratio: modes that the ratios lack do not count then. Nor do modes that change no
    word: of eight runs or more, all of one case lie beyond all of the other.
    """
    if _beyond(a, b) or _beyond(b, a):
        return False
    own = [modes for modes in (modes_of(a), modes_of(b)) if modes is not None]
    if not paired:
        return bool(own)
    ratios = a - b
    spread = float(np.std(ratios))
    return modes_of(ratios) is not None or any(spread > SHARED * modes.apart for modes in own)


def _beyond(a: Array, b: Array) -> bool:
    return min(len(a), len(b)) >= MIN_SEPARATED and bool(a.min() > b.max())


def share_of_unseen_modes(n: int, comparisons: int) -> float:
    """Return in which share of questions a mode of one run in four is missed, and a word false.

    So few of a case's n runs are in that mode that they are rare, and trimmed (binomial); each of
    the comparisons is wrong by itself. `make noise` finds no more, table "words".
    """
    most = min(cut_from_each_end(n), least_common(n) - 1)
    missed = float(special.bdtr(most, n, MISSED_MODE))
    return 1 - (1 - missed) ** comparisons
