"""A matrix of latencies as a tree: which CPUs are near each other, nearest first.

Average linkage (Sokal and Michener 1958, as scipy has it) on the logarithms of the medians, so that
what counts is how many times as far two CPUs are. A pair that was not measured, or that is far
beyond the way over a third CPU, takes that way's latency: where caches form nested groups, no two
CPUs are farther apart than the longer of both steps over any third.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# A pair that many times as slow as the way over a third CPU was disturbed. Kinds of cores make ways
# over a third one shorter, too, but not by half.
DISTURBED = 3.0


@dataclass(frozen=True)
class Branch:
    """Two sets of rows that were joined, and at which mean log latency between them."""

    rows: Rows
    height: float
    parts: tuple[Branch, Branch] | None

    @property
    def both(self) -> tuple[Branch, Branch]:
        """The two parts of a branch that has more than one row."""
        assert self.parts is not None
        return self.parts


def disturbed(log_ns: Array) -> NDArray[np.bool_]:
    """Return which pairs took more than three times as long as the way over a third CPU."""
    known = np.where(np.isnan(log_ns), -np.inf, log_ns)
    return np.asarray(known > over_a_third(log_ns) + math.log(DISTURBED))


def over_a_third(log_ns: Array) -> Array:
    """Return the shortest way over one other row: the longer of its two steps; inf without one."""
    far = np.where(np.isnan(log_ns), np.inf, log_ns)
    np.fill_diagonal(far, np.inf)
    return np.stack([np.maximum(row, far).min(axis=1) for row in far])


def completed(log_ns: Array) -> Array:
    """Return the matrix with what was not measured filled in by ways over others; 0 diagonal."""
    far = np.where(np.isnan(log_ns), over_a_third(log_ns), log_ns)
    np.fill_diagonal(far, np.inf)
    # Sparse plans need longer ways; each round doubles how many steps are looked at.
    while np.isinf(far[~np.eye(len(far), dtype=bool)]).any():
        longer = np.minimum(far, over_a_third(far))
        if np.array_equal(longer, far):
            far[np.isinf(far)] = far[np.isfinite(far)].max(initial=0.0) + math.log(DISTURBED)
            break
        far = longer
    np.fill_diagonal(far, 0.0)
    return far


def tree_of(log_ns: Array) -> Branch:
    """Return the tree of a matrix of two rows or more; NaN where a pair is not to be used."""
    full = completed(log_ns)
    upper = np.triu_indices(len(full), 1)
    # Linkage takes distances, which are not negative; a shift changes no height against another.
    least = float(full[upper].min())
    branches = [Branch(np.array([row]), -math.inf, None) for row in range(len(full))]
    for first, second, height, _ in linkage(full[upper] - least, "average"):
        parts = branches[int(first)], branches[int(second)]
        rows = np.concatenate([part.rows for part in parts])
        branches.append(Branch(rows, float(height) + least, parts))
    return branches[-1]
