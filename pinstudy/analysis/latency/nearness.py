"""Groups of CPUs that a matrix of latencies shows by itself, where nobody tells the topology."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pinstudy.analysis.statistics.sample import Array

# So many times as far as the farthest pair inside is the nearest CPU outside, at least. 37 public
# matrices of core-to-core-latency show the siblings, third-level caches and packages that they
# have by 1.25, and by 1.05 also CPUs that share nothing known (two of Graviton2, three of Power7);
# 1.25 loses two clusters of Kunpeng 920, which are a tenth nearer. Of 500 matrices of 8, 16 and 32
# CPUs that are alike, none shows a group where pairs scatter by 8 %, and 6 to 11 in 100 by 15 %.
NEARER = 1.25


def groups_shown(cpus: Sequence[int], ns: Array) -> tuple[tuple[int, ...], ...]:
    """Return groups of CPUs that are all NEARER to each other than to any other; smaller first.

    `ns` is symmetric, NaN where not measured; such a pair is in no group, and a group of which no
    pair to others was measured is none. Groups are disjoint or nested. The set of all CPUs is none.
    """
    far = np.where(np.isnan(ns), math.inf, ns)
    member = np.arange(len(cpus))
    groups = []
    rows, columns = np.triu_indices(len(cpus), 1)
    # Joined in ascending order, CPUs that are all nearer to each other than to others are a set
    # before any of them is joined with one outside.
    for at in np.argsort(far[rows, columns], kind="stable"):
        a, b = member[rows[at]], member[columns[at]]
        if a == b or not math.isfinite(far[rows[at], columns[at]]):
            continue
        member[member == b] = a
        inside = member == a
        own, others = far[np.ix_(inside, inside)], far[np.ix_(inside, ~inside)]
        farthest = float(own[~np.eye(len(own), dtype=bool)].max())
        nearest = float(others.min(initial=math.inf))
        if math.isfinite(nearest) and farthest * NEARER <= nearest:
            groups.append(tuple(np.asarray(cpus)[inside].tolist()))
    return tuple(sorted(groups, key=lambda group: (len(group), group)))
