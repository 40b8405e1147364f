"""Clusters of CPUs, from the measured latencies alone: groups that stand apart from all others.

A branch of the tree is a cluster within another when

- the pairs of its parts are nearer than the pairs that lead out of it, by Student's t test of log
  latencies. The least p of all groups of as many CPUs, for each number of CPUs, is what noise would
  give by luck, so the level is divided by how many such groups there are (Bonferroni): of 100
  matrices without structure, at most 5 show any cluster;
- none of its parts is as near to the outside as to the rest of the cluster, and the nearest branch
  outside is no half-way house: the gap to each of them is half of the whole gap at least, and 5 %;
- each of its CPUs is nearer to the cluster than to as many CPUs outside, those nearest to it, by a
  quarter of the gap.

The latter two are what keeps gradual differences (along a ring, a mesh) from being called clusters,
and a fast kind's cores from being joined with one group of slow ones. docs/latency.md says how
often known structures are found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special
from scipy.cluster.hierarchy import linkage

from analysis.latency.model import Array, Rows

# How often a matrix without structure may show clusters.
FALSE_ALARMS = 0.05
# Closer by less is nothing to place threads by.
MIN_GAP = math.log(1.05)
# By which share of a cluster's gap each of its CPUs must be nearer to it than to others outside.
MIN_OF_EACH = 0.25
# The share of pairs that must have been measured for clusters to be detected.
ENOUGH = 0.75
# Equal medians have no spread; what their rounding makes is none either.
_MIN_SD = 1e-6
# A pair that many times as slow as the way over a third CPU was disturbed. Kinds of cores make ways
# over a third one shorter, too, but not by half.
DISTURBED = 3.0


@dataclass(frozen=True)
class Cluster:
    """Rows of the matrix that are near each other, and how near, in ns (geometric means).

    `within_ns` is between its parts, clusters inside it left aside; `outside_ns` to the other rows
    of the next larger cluster. `level` is 1 for a cluster without clusters inside, else one more
    than the highest of these.
    """

    rows: tuple[int, ...]
    within_ns: float
    outside_ns: float
    level: int


@dataclass(frozen=True)
class Clusters:
    """All clusters, larger ones before those inside them.

    `disturbed` are pairs of rows that took so much longer than the way over a third that they were
    left aside; `scatter` is by which share the pairs of one level differ (robust sd of logarithms).
    """

    found: tuple[Cluster, ...]
    disturbed: tuple[tuple[int, int], ...]
    scatter: float

    @property
    def levels(self) -> int:
        """How many levels of clusters there are."""
        return max((cluster.level for cluster in self.found), default=0)


def find_clusters(ns: Array) -> Clusters:
    """Return the clusters of a symmetric matrix of one-way times; NaN where unmeasured.

    There are none when less than three quarters of all pairs were measured.
    """
    log_ns = np.log(ns)
    np.fill_diagonal(log_ns, np.nan)
    wrong = _disturbed(log_ns)
    used = np.where(wrong, np.nan, log_ns)
    clusters = _Search(used).below(tree_of(used)) if len(used) > 2 and enough(ns) else []
    clusters.sort(key=lambda cluster: (-len(cluster.rows), cluster.rows))
    pairs = tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(wrong)))
    return Clusters(tuple(clusters), pairs, _scatter(used, clusters))


def enough(ns: Array) -> bool:
    """Return whether so many pairs were measured that clusters can be looked for."""
    return bool(np.isfinite(ns).sum() >= ENOUGH * len(ns) * (len(ns) - 1))


@dataclass(frozen=True)
class _Search:
    """The search in one matrix of log latencies."""

    log_ns: Array

    def below(self, whole: Branch) -> list[Cluster]:
        """Return the clusters inside a branch, itself excluded, outer ones first."""
        clusters: list[Cluster] = []
        # A list in place of calls: a tree of equal pairs is as deep as it has rows.
        todo = [(part, whole, whole) for part in whole.parts]
        while todo:
            branch, parent, around = todo.pop()
            if not branch.parts:
                continue
            gap = self._gap(branch, parent, around)
            if gap is None:
                todo += [(part, branch, around) for part in branch.parts]
                continue
            inner = self.below(branch)
            within, outside = gap
            level = 1 + max((cluster.level for cluster in inner), default=0)
            rows = tuple(sorted(int(row) for row in branch.rows))
            clusters += [Cluster(rows, math.exp(within), math.exp(outside), level), *inner]
        return clusters

    def _gap(self, branch: Branch, parent: Branch, around: Branch) -> tuple[float, float] | None:
        """Return the mean log latencies within and outwards; None when it is no cluster."""
        outside = around.rows[~np.isin(around.rows, branch.rows)]
        outwards = self._between(branch.rows, outside)
        if not len(outwards):
            return None
        far = float(outwards.mean())
        inside = self._inside(branch, far)
        within = inside[np.tri(len(inside), k=-1, dtype=bool)]
        within = within[~np.isnan(within)]
        if not len(within):
            return None
        near = float(within.mean())
        least = max(MIN_GAP, (far - near) / 2)
        beside = parent.rows[~np.isin(parent.rows, branch.rows)]
        steps = [self._between(branch.rows, beside)]
        steps += [self._between(part.rows, outside) for part in branch.parts]
        if any(len(step) and step.mean() - near < least for step in steps):
            return None
        level = math.log(FALSE_ALARMS) - _log_groups(len(self.log_ns), len(branch.rows))
        if self._log_p(within, branch.rows, outside) >= level:
            return None
        nearer = _lead(inside, self.log_ns[branch.rows[:, None], outside])
        return None if (nearer < (far - near) * MIN_OF_EACH).any() else (near, far)

    def _between(self, some: Rows, others: Rows) -> Array:
        """Return the log latencies of all measured pairs of one of each."""
        values = self.log_ns[some[:, None], others]
        return values[~np.isnan(values)]

    def _inside(self, branch: Branch, outwards: float) -> Array:
        """Return the log latencies of a branch's rows, NaN within parts that are nearer by far.

        What lies lower by half of the gap outwards is a matter of a cluster inside.
        """
        floor = branch.height - (outwards - branch.height) / 2
        part_of = np.empty(len(self.log_ns), dtype=np.intp)
        for number, part in enumerate(_blocks(branch, floor)):
            part_of[part.rows] = number
        parts = part_of[branch.rows]
        together = parts[:, None] == parts[None, :]
        return np.where(together, np.nan, self.log_ns[branch.rows[:, None], branch.rows])

    def _log_p(self, within: Array, rows: Rows, outside: Rows) -> float:
        """Return the log of the p of "no nearer within than outwards".

        The spread outwards is taken once as it is and once about what each row outside has to this
        branch on average, since rows outside may be unlike; the smaller p is doubled.
        """
        block = self.log_ns[rows[:, None], outside]
        outwards = block[~np.isnan(block)]
        counts = (~np.isnan(block)).sum(axis=0)
        several = block[:, counts > 1]
        means = np.nansum(several, axis=0) / counts[counts > 1]
        spreads = (
            (outwards - outwards.mean(), len(outwards) - 1),
            ((several - means)[~np.isnan(several)], int((counts[counts > 1] - 1).sum())),
        )
        gap = float(outwards.mean() - within.mean())
        about = within - within.mean()
        least = 0.0
        for away, free in spreads:
            df = free + len(within) - 1
            if df > 0:
                sd = math.sqrt(float((away**2).sum() + (about**2).sum()) / df)
                error = max(sd, _MIN_SD) * math.sqrt(1 / len(within) + 1 / len(outwards))
                p = 2 * float(special.stdtr(df, -gap / error))
                least = min(least, math.log(p) if p else -math.inf)
        return least


def _blocks(branch: Branch, height: float) -> Iterator[Branch]:
    """Yield the largest branches below that height, single rows in any case."""
    todo = [branch]
    while todo:
        one = todo.pop()
        if not one.parts or one.height < height:
            yield one
        else:
            todo += one.parts


def _lead(inside: Array, outside: Array) -> Array:
    """Return by how much each row is nearer to those inside than to its nearest ones outside.

    Both are means of log latencies, of as many outside as inside. A row without a pair inside, or
    outside, is judged by the others: infinite.
    """
    counts = (~np.isnan(inside)).sum(axis=1)
    most = np.minimum(counts, (~np.isnan(outside)).sum(axis=1))
    sums = np.cumsum(np.sort(outside, axis=1), axis=1)
    last = np.maximum(most - 1, 0)
    nearest = sums[np.arange(len(sums)), last] / np.maximum(most, 1)
    own = np.nansum(inside, axis=1) / np.maximum(counts, 1)
    return np.where(most > 0, nearest - own, np.inf)


def _log_groups(rows: int, members: int) -> float:
    """Return the log of how many groups of so many members there are, times the sizes."""
    ways = special.gammaln(rows + 1) - special.gammaln(members + 1)
    return float(ways - special.gammaln(rows - members + 1) + math.log(rows))


def _scatter(log_ns: Array, found: list[Cluster]) -> float:
    """Return the robust standard deviation of the pairs' logarithms about their level's median."""
    level = np.zeros(log_ns.shape, dtype=np.intp)
    for number, cluster in enumerate(found, 1):
        level[np.ix_(cluster.rows, cluster.rows)] = number
    upper = np.triu_indices(len(log_ns), 1)
    values, levels = log_ns[upper], level[upper]
    known = ~np.isnan(values)
    values, levels = values[known], levels[known]
    away = values - pd.Series(values).groupby(levels).transform("median").to_numpy()
    if not len(away):
        return 0.0
    # The median absolute deviation, in standard deviations of a normal distribution.
    return float(np.median(np.abs(away - np.median(away))) / special.ndtri(0.75))


@dataclass(frozen=True)
class Branch:
    """A row, or the rows of two parts that were joined, at this mean log latency between them."""

    rows: Rows
    height: float
    parts: tuple[Branch, ...] = ()


def _disturbed(log_ns: Array) -> NDArray[np.bool_]:
    """Return which pairs took more than three times as long as the way over a third CPU."""
    known = np.where(np.isnan(log_ns), -np.inf, log_ns)
    return np.asarray(known > _over_a_third(log_ns) + math.log(DISTURBED))


def _over_a_third(log_ns: Array) -> Array:
    """Return the shortest way over one other row: the longer of its two steps; inf without one."""
    far = np.where(np.isnan(log_ns), np.inf, log_ns)
    np.fill_diagonal(far, np.inf)
    return np.stack([np.maximum(row, far).min(axis=1) for row in far])


def completed(log_ns: Array) -> Array:
    """Return the matrix with what was not measured filled in by ways over others; 0 diagonal.

    A pair that was not measured, or that is far beyond the way over a third CPU, takes that way's
    latency: where caches form nested groups, no two CPUs are farther apart than the longer of both
    steps over any third.
    """
    far = np.where(np.isnan(log_ns), _over_a_third(log_ns), log_ns)
    np.fill_diagonal(far, np.inf)
    # Sparse plans need longer ways; each round doubles how many steps are looked at.
    while np.isinf(far[~np.eye(len(far), dtype=bool)]).any():
        longer = np.minimum(far, _over_a_third(far))
        if np.array_equal(longer, far):
            far[np.isinf(far)] = far[np.isfinite(far)].max(initial=0.0) + math.log(DISTURBED)
            break
        far = longer
    np.fill_diagonal(far, 0.0)
    return far


def tree_of(log_ns: Array) -> Branch:
    """Return the tree of a matrix of two rows or more; NaN where a pair is not to be used.

    Average linkage (Sokal and Michener 1958, as scipy has it) on the logarithms of the medians, so
    that what counts is how many times as far two CPUs are.
    """
    full = completed(log_ns)
    upper = np.triu_indices(len(full), 1)
    # Linkage takes distances, which are not negative; a shift changes no height against another.
    least = float(full[upper].min())
    branches = [Branch(np.array([row]), -math.inf) for row in range(len(full))]
    for first, second, height, _ in linkage(full[upper] - least, "average"):
        parts = branches[int(first)], branches[int(second)]
        rows = np.concatenate([part.rows for part in parts])
        branches.append(Branch(rows, float(height) + least, parts))
    return branches[-1]
