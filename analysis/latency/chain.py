"""Orders of CPUs in which neighbours are near each other: chains, and pairs. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Of more starts, only the shortest chains are improved.
_MAX_IMPROVED = 8
# Gains below are rounding.
_MIN_GAIN = 1e-9


def short_chain(cost: Array, length: int) -> list[int]:
    """Return `length` rows of a symmetric matrix whose sum over neighbours is small.

    The nearest neighbour from every start, of which the shortest are improved by reversing parts
    (2-opt; Croes 1958) until no reversal shortens them. Deterministic; the order that the rows have
    is one of those that are improved, so that the result is never longer.
    """
    starts = [_nearest(cost, start, length) for start in range(len(cost))]
    starts.sort(key=lambda chain: total(cost, chain))
    chosen = [*starts[:_MAX_IMPROVED], np.arange(length)]
    best = min((_improved(cost, chain) for chain in chosen), key=lambda chain: total(cost, chain))
    return [int(row) for row in best]


def near_pairs(cost: Array) -> list[int]:
    """Return rows in which the 1st and 2nd, 3rd and 4th … are near; without the last of odd many.

    Nearest pairs first, improved by exchanging partners of two pairs while that helps.
    """
    free = set(range(len(cost)))
    pairs: list[tuple[int, int]] = []
    first, second = np.triu_indices(len(cost), 1)
    for at in np.argsort(cost[first, second], kind="stable"):
        a, b = int(first[at]), int(second[at])
        if a in free and b in free:
            free -= {a, b}
            pairs.append((a, b))
    while _exchanged(cost, pairs):
        pass
    return [row for pair in sorted(pairs, key=lambda pair: float(cost[pair])) for row in pair]


def total(cost: Array, chain: Rows) -> float:
    """Return the sum over neighbours of a chain."""
    return float(cost[chain[:-1], chain[1:]].sum())


def _nearest(cost: Array, start: int, length: int) -> Rows:
    chain = [start]
    taken = np.zeros(len(cost))
    taken[start] = np.inf
    while len(chain) < length:
        chain.append(int(np.argmin(cost[chain[-1]] + taken)))
        taken[chain[-1]] = np.inf
    return np.array(chain)


def _improved(cost: Array, chain: Rows) -> Rows:
    n = len(chain)
    first, last = np.triu_indices(n, 1)
    while True:
        along = cost[np.ix_(chain, chain)]
        # Ends of the chain have no neighbour, and cost nothing there.
        padded = np.zeros((n + 2, n + 2))
        padded[1:-1, 1:-1] = along
        i, j = first + 1, last + 1
        now = padded[i - 1, i] + padded[j, j + 1]
        gain = now - padded[i - 1, j] - padded[i, j + 1]
        best = int(np.argmax(gain)) if len(gain) else 0
        if not len(gain) or gain[best] <= _MIN_GAIN:
            return chain
        a, b = first[best], last[best] + 1
        chain = np.concatenate([chain[:a], chain[a:b][::-1], chain[b:]])


def _exchanged(cost: Array, pairs: list[tuple[int, int]]) -> bool:
    """Exchange partners once wherever that shortens two pairs; return whether it did."""
    changed = False
    for one in range(len(pairs)):
        for other in range(one + 1, len(pairs)):
            (a, b), (c, d) = pairs[one], pairs[other]
            now = cost[a, b] + cost[c, d]
            for p, q in (((a, c), (b, d)), ((a, d), (b, c))):
                if cost[p] + cost[q] < now - _MIN_GAIN:
                    pairs[one], pairs[other] = p, q
                    changed = True
                    break
    return changed
