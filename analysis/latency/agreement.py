"""Measured clusters beside the kernel's groups: which are the same, and what differs how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from analysis.latency.clusters import Cluster, Clusters, enough
from analysis.latency.kernel import (
    LEVELS,
    KernelGroup,
    inner_groups,
    kernel_groups,
    outer_cpus,
)
from analysis.latency.model import Latency

Array = NDArray[np.float64]
# By a smaller factor a group is not nearer in any way that matters to thread placement.
NO_NEARER = 1.05


@dataclass(frozen=True)
class Measured:
    """A measured cluster's CPUs, and the kernel's group of the same CPUs, None without one."""

    cpus: tuple[int, ...]
    cluster: Cluster
    same: KernelGroup | None


@dataclass(frozen=True)
class Denied:
    """A group of the kernel that was not found as a cluster.

    `within_ns` and `outside_ns` are medians, within and to the CPUs around it, None where no such
    pair was measured. `nearest` are the CPUs of the measured cluster that shares most with it,
    empty when none has more than half of both together.
    """

    group: KernelGroup
    within_ns: float | None
    outside_ns: float | None
    nearest: tuple[int, ...]

    @property
    def no_nearer(self) -> bool:
        """Whether its CPUs are no nearer to each other than to those around them."""
        if self.within_ns is None or self.outside_ns is None:
            return False
        return self.within_ns * NO_NEARER >= self.outside_ns


@dataclass(frozen=True)
class LevelMatch:
    """A level of measured clusters, and the kernel's level that is most like it.

    `alike` is the adjusted Rand index of both partitions of the CPUs: 1 when they are the same,
    about 0 when they agree as chance would have it. `name` is empty when the kernel has no groups.
    """

    level: int
    clusters: tuple[tuple[int, ...], ...]
    name: str
    alike: float


@dataclass(frozen=True)
class Agreement:
    """All of it: every measured cluster, the groups that were not found, the levels."""

    measured: tuple[Measured, ...]
    denied: tuple[Denied, ...]
    groups: tuple[KernelGroup, ...]
    levels: tuple[LevelMatch, ...]


def compare(latency: Latency, clusters: Clusters) -> Agreement:
    """Compare the measured clusters with the kernel's topology in the file."""
    groups = kernel_groups(latency.topology, latency.cpus)
    by_cpus = {group.cpus: group for group in groups}
    measured = tuple(
        Measured(cpus, cluster, by_cpus.get(cpus))
        for cluster in clusters.found
        for cpus in [_cpus(latency, cluster.rows)]
    )
    found = {one.cpus for one in measured}
    denied = tuple(
        _denied(latency, group, groups, found)
        for group in groups
        if group.names and group.cpus not in found and enough(latency.both_ways)
    )
    levels = tuple(
        _level(latency, clusters, level, groups) for level in range(1, clusters.levels + 1)
    )
    return Agreement(measured, denied, tuple(groups), levels)


def _cpus(latency: Latency, rows: Iterable[int]) -> tuple[int, ...]:
    return tuple(latency.cpus[row] for row in rows)


def _denied(
    latency: Latency,
    group: KernelGroup,
    groups: Sequence[KernelGroup],
    found: Iterable[tuple[int, ...]],
) -> Denied:
    around = outer_cpus(group.cpus, groups, latency.cpus)
    within = _direct(latency, group, groups)
    outside = _block(latency, group.cpus, [cpu for cpu in around if cpu not in group.cpus])
    mine = frozenset(group.cpus)
    shared = {cpus: len(mine.intersection(cpus)) / len(mine.union(cpus)) for cpus in found}
    nearest = max(shared, key=lambda cpus: shared[cpus], default=())
    return Denied(
        group,
        _median(within),
        _median(outside),
        nearest if shared.get(nearest, 0.0) > 0.5 else (),
    )


def _direct(latency: Latency, group: KernelGroup, groups: Sequence[KernelGroup]) -> Array:
    """Return the latencies of a group's pairs that are in no group inside it together."""
    rows = [latency.row_of[cpu] for cpu in group.cpus]
    values = latency.both_ways[np.ix_(rows, rows)].copy()
    place = {cpu: at for at, cpu in enumerate(group.cpus)}
    for inner in inner_groups(group.cpus, groups):
        inside = [place[cpu] for cpu in inner.cpus]
        values[np.ix_(inside, inside)] = np.nan
    return values[np.triu_indices(len(rows), 1)]


def _block(latency: Latency, some: Sequence[int], others: Sequence[int]) -> Array:
    rows, columns = ([latency.row_of[cpu] for cpu in cpus] for cpus in (some, others))
    return latency.both_ways[np.ix_(rows, columns)].ravel()


def _median(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _level(
    latency: Latency, clusters: Clusters, level: int, groups: Sequence[KernelGroup]
) -> LevelMatch:
    mine = tuple(_cpus(latency, cluster.rows) for cluster in clusters.at_level(level))
    labels = _labels(latency.cpus, mine)
    alike = {
        name: rand_index(labels, _labels(latency.cpus, named))
        for name in LEVELS
        if (named := [group.cpus for group in groups if name in group.names])
    }
    best = max(alike, key=lambda name: alike[name], default="")
    return LevelMatch(level, mine, best, alike.get(best, 0.0))


def _labels(cpus: Sequence[int], groups: Iterable[tuple[int, ...]]) -> list[int]:
    """Return a number a CPU: that of its group, or its own where it is in none."""
    numbers = {cpu: -1 - at for at, cpu in enumerate(cpus)}
    for number, group in enumerate(groups):
        numbers.update(dict.fromkeys(group, number))
    return [numbers[cpu] for cpu in cpus]


def rand_index(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the adjusted Rand index of two partitions, by the label of each member.

    Hubert and Arabie, "Comparing Partitions" (1985), equation 5; 1 when both are the same.
    """
    together = sum(comb(n, 2) for n in Counter(zip(one, other, strict=True)).values())
    in_one = sum(comb(n, 2) for n in Counter(one).values())
    in_other = sum(comb(n, 2) for n in Counter(other).values())
    by_chance = in_one * in_other / comb(len(one), 2)
    most = (in_one + in_other) / 2
    return 1.0 if most == by_chance else (together - by_chance) / (most - by_chance)
