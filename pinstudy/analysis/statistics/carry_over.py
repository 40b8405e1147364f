"""Whether run times depend on the case that ran before, and how much that moved their means.

First-order carry-over: the log time of a run is that of its case, its block, and of what the run
before left behind. Within blocks the order was drawn, so that without carry-over any other order
was as likely: the test shuffles runs within their blocks (R. A. Fisher's randomisation test). Its
statistic is the largest of all cases' standardised effects, whose distribution corrects for there
being many (P. H. Westfall and S. S. Young, "Resampling-Based Multiple Testing", 1993). Neither
unlike noise of cases nor rare slow runs harm its level (docs/error-rates.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinstudy.analysis.statistics.decision import ALPHA
from pinstudy.analysis.statistics.sample import Array

Codes = NDArray[np.intp]

# A test needs at least as many degrees of freedom.
MIN_DF = 8
# Orders that are drawn: fewer of many runs, at least so many that p can be below 0.02.
MOST_ORDERS, FEWEST_ORDERS, SHUFFLED_RUNS = 999, 59, 300_000
# Of backfitting (Buja, Hastie and Tibshirani 1989), which ends when a sweep changes nothing.
_SWEEPS, _SETTLED = 500, 1e-9
_SEED = 1
# What is left of runs is clipped at so many medians: at 3 standard deviations of normal noise.
_CLIPPED = 3 / 0.6745
# A case after which cases and blocks leave less than this share of the variance tells nothing.
_LEAST_LEFT = 0.05
# Of shuffled blocks one in k begins with the case before it, of balanced ones nearly all.
_CHAINED = 0.75


@dataclass(frozen=True)
class RunOrder:
    """The runs of a study in the order in which they were made; warm-up and lost runs, too.

    Each array has one number for each run: its `case` from 0, its `attempt` from 0, its `block`
    (runs of one attempt that stand together and have equal ones are shuffled), and its `log` time,
    NaN where it is not averaged.
    """

    case: Codes
    attempt: Codes
    block: Array
    log: Array


@dataclass(frozen=True)
class CarryOver:
    """How much longer runs take after each case: shares of their time, 0 on average.

    `effects`, `p` (corrected for all cases) and `n`, the runs after it, are by case; `carried` is
    the mean effect that the runs of a case inherited. NaN where a case has no such runs.
    """

    effects: Array
    p: Array
    n: Codes
    carried: Array

    @property
    def found(self) -> bool:
        """Whether any case's effect is told from chance, at 5 % for all of them together."""
        return bool(np.any(self.p <= ALPHA))

    @property
    def most(self) -> int:
        """The case with the largest effect among those told from chance, else of the least p."""
        told = self.p <= max(ALPHA, float(self.p.min()))
        return int(np.argmax(np.where(told & (self.n > 0), np.abs(self.effects), -1.0)))


def carry_over(order: RunOrder) -> CarryOver | None:
    """Return what runs inherit from the case before; None with fewer than 8 degrees of freedom.

    Runs are in the order in which they were made.
    """
    if not len(order.case):
        return None
    segment = _numbered(order.attempt, order.block)
    within, before = _pairs(order.attempt, order.case), _before(order.case, order.attempt)
    known = np.isfinite(order.log)
    cases = int(order.case.max()) + 1
    used = known & (before >= 0)
    df = used.sum() - len(np.unique(within[used])) - len(np.unique(segment[used])) - cases
    if df < MIN_DF:
        return None
    logs = np.where(known, order.log, 0.0)
    _, left = _fitted(logs, [within, segment], known)
    # A slow run would hide what all others tell.
    most = _CLIPPED * float(np.median(np.abs(left[known])))
    logs = logs + np.clip(left, -most, most) - left
    _, left = _fitted(_standardised(left, order.case, known), [within, segment], known)
    p = _p_values(order, segment, left, known)
    (_, _, levels), _ = _fitted(logs, [within, segment, before], used)
    n = np.bincount(before[used], minlength=cases)
    made = np.bincount(order.case[used], minlength=cases)
    effects = np.full(cases, np.nan)
    effects[: len(levels)] = levels
    effects[n == 0] = np.nan
    effects -= np.nansum(effects * n) / n.sum()
    inherited = np.bincount(order.case[used], effects[before[used]], minlength=cases)
    carried = np.divide(inherited, made, out=np.full(cases, np.nan), where=made > 0)
    return CarryOver(np.expm1(effects), p, n, np.expm1(carried))


def _numbered(attempt: Codes, block: Array) -> Codes:
    """Return the number of each run's stretch of one attempt and one block."""
    ends = (np.diff(attempt) != 0) | (np.diff(block) != 0)
    return np.concatenate([[0], np.cumsum(ends)]).astype(np.intp)


def _pairs(a: Codes, b: Codes) -> Codes:
    return np.unique(np.stack([a, b]), axis=1, return_inverse=True)[1].ravel().astype(np.intp)


def _before(case: Codes, attempt: Codes) -> Codes:
    """Return the case before each run, -1 before an attempt's first; runs along the last axis."""
    before = np.roll(case, 1, axis=-1)
    before[..., 0] = -1
    before[..., 1:][..., np.diff(attempt) != 0] = -1
    return before


def _fitted(
    values: Array, factors: list[Codes], used: NDArray[np.bool_]
) -> tuple[list[Array], Array]:
    """Return the levels of factors by least squares (backfitting), and what they leave of values.

    Values that are not used are left as 0.
    """
    levels = [np.zeros(int(factor.max()) + 1) for factor in factors]
    counts = [
        np.maximum(1, np.bincount(factor[used], minlength=len(level)))
        for factor, level in zip(factors, levels, strict=True)
    ]
    left = np.where(used, values, 0.0)
    for _ in range(_SWEEPS):
        moved = 0.0
        for at, (factor, count) in enumerate(zip(factors, counts, strict=True)):
            step = np.bincount(factor[used], left[used], minlength=len(count)) / count
            levels[at] += step
            left[used] -= step[factor[used]]
            moved = max(moved, float(np.abs(step).max()))
        if moved < _SETTLED:
            break
    return levels, left


def _standardised(left: Array, case: Codes, known: NDArray[np.bool_]) -> Array:
    """Return what is left of each run in deviations of its case, 0 for runs that are not known."""
    found = np.zeros(len(left))
    for number in np.unique(case[known]):
        runs = known & (case == number)
        spread = float(np.median(np.abs(left[runs])))
        found[runs] = left[runs] / (spread or float(np.median(np.abs(left[known]))) or 1.0)
    return np.clip(found, -_CLIPPED, _CLIPPED)


def _p_values(order: RunOrder, segment: Codes, left: Array, known: NDArray[np.bool_]) -> Array:
    """Return each case's p-value, corrected for all, from orders that were as likely.

    What is left of a run stays where it is, because drift is there, too, and cases change places.
    """
    runs, cases = len(left), int(order.case.max()) + 1
    drawn = int(np.clip(SHUFFLED_RUNS // runs, FEWEST_ORDERS, MOST_ORDERS))
    orders = np.vstack([np.arange(runs), _shuffled(order, segment, known, drawn)])
    before = _before(order.case[orders], order.attempt)
    used = known & (before >= 0)
    # One number for each order and case before.
    groups = (np.arange(drawn + 1)[:, None] * cases + before)[used]
    size = (drawn + 1) * cases
    sums = np.bincount(groups, np.broadcast_to(left, before.shape)[used], minlength=size)
    n = np.bincount(groups, minlength=size).astype(float)
    # The variance of such a sum of unit noise, without what cases and blocks take from it. An order
    # that is balanced leaves it more than another one.
    factors = (_pairs(order.attempt, order.case), segment)
    taken = sum(
        _taken(groups, np.broadcast_to(f, before.shape)[used], f[known], size) for f in factors
    )
    variance = n - taken + n**2 / known.sum()
    is_left = variance > _LEAST_LEFT * n
    in_deviates = np.zeros(size)
    in_deviates[is_left] = np.abs(sums[is_left]) / variance[is_left] ** 0.5
    deviates = in_deviates.reshape(-1, cases)
    # A tie by rounding is no smaller.
    p = np.mean(deviates.max(axis=1)[:, None] >= deviates[0] * (1 - 1e-9), axis=0)
    return np.where(deviates[0] > 0, p, 1.0)


def _taken(groups: Codes, levels: Codes, known: Codes, size: int) -> Array:
    """Return the part of each group's variance that a factor's means take: sum of n_gl^2 / n_l."""
    sizes = np.bincount(known)
    pairs, counts = np.unique(groups * len(sizes) + levels, return_counts=True)
    shares = counts**2 / sizes[pairs % len(sizes)]
    return np.asarray(np.bincount(pairs // len(sizes), shares, minlength=size))


def _shuffled(order: RunOrder, segment: Codes, known: NDArray[np.bool_], drawn: int) -> Codes:
    """Return so many orders of the runs, each shuffled within its segments.

    Where segments begin with the case before them, as balanced blocks do, they still do.
    """
    rng = np.random.default_rng(_SEED)
    orders = np.empty((drawn, len(segment)), dtype=np.intp)
    begins = np.flatnonzero(np.diff(segment, prepend=-1))
    rows = np.arange(drawn)
    links = begins[1:][(np.diff(order.attempt)[begins[1:] - 1] == 0) & known[begins[1:]]]
    same = order.case[links] == order.case[links - 1]
    chained = set(links[same]) if same.sum() > _CHAINED * len(same) else set[int]()
    for begin, end in zip(begins, [*begins[1:], len(segment)], strict=True):
        block = begin + np.argsort(rng.random((drawn, end - begin)), axis=1)
        if begin in chained:
            alike = order.case[block] == order.case[orders[:, begin - 1]][:, None]
            to = np.where(alike.any(axis=1), alike.argmax(axis=1), 0)
            block[rows, to], block[:, 0] = block[:, 0].copy(), block[rows, to].copy()
        orders[:, begin:end] = block
    return orders
