"""Measured clusters beside the kernel's groups: which are the same, and what differs how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.latency.clusters import Cluster, Clusters, enough
from analysis.latency.model import Array, Latency
from base.text import one_line
from runners.node.topology import Topology

SIBLINGS, L2, L3, PACKAGE, NUMA = "SMT siblings", "L2", "L3", "package", "NUMA node"
# The kernel's levels of nearness, inner levels first; a core kind is none.
LEVELS = (SIBLINGS, L2, L3, PACKAGE, NUMA)
# By a smaller factor a group is not nearer in any way that matters to thread placement.
NO_NEARER = 1.05
# Whether a cluster and a group of the kernel are the same, or why the group is no cluster; `partly`
# if a cluster has most of its CPUs.
Outcome = Literal["found", "not the kernel's", "unmeasured", "no nearer", "partly", "unclear"]


@dataclass(frozen=True)
class KernelGroup:
    """CPUs, two or more and not all of those measured, and what the kernel calls them.

    `names` are of LEVELS, inner ones first; a core's CPUs that have an L2 to themselves have both.
    `kind` is the core kind that consists of just these CPUs, empty without one.
    """

    cpus: tuple[int, ...]
    names: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True)
class Group:
    """CPUs that are measured to be a cluster, or that the kernel groups; often they are both.

    `level` is that of the cluster, 0 without one; `kernel` is what the kernel calls the group,
    empty where it knows none. `within_ns` and `outside_ns` are medians, within and to the CPUs
    around it, None where no such pair was measured. `nearest` is the cluster that has most of the
    CPUs of a group that is found `partly`.
    """

    cpus: tuple[int, ...]
    level: int
    kernel: tuple[str, ...]
    within_ns: float | None
    outside_ns: float | None
    outcome: Outcome
    nearest: tuple[int, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether the kernel has it by one of its levels, not by a core kind alone."""
        return not {*LEVELS}.isdisjoint(self.kernel)


def compare(latency: Latency, clusters: Clusters) -> list[Group]:
    """Return the clusters by level and size, then the groups of the kernel that are none."""
    kernel = kernel_groups(latency.topology, latency.cpus)
    by_cpus = {group.cpus: group for group in kernel}
    found = [
        _found(_cpus(latency, cluster.rows), cluster, by_cpus.get(_cpus(latency, cluster.rows)))
        for cluster in clusters.found
    ]
    found.sort(key=lambda group: (group.level, len(group.cpus), group.kernel))
    named = [group for group in kernel if group.names]
    cpus_found = [group.cpus for group in found]
    lacking = [group for group in named if group.cpus not in cpus_found]
    if not enough(latency.both_ways):
        return found
    return [*found, *(_lacking(latency, group, named, cpus_found) for group in lacking)]


def _found(cpus: tuple[int, ...], cluster: Cluster, same: KernelGroup | None) -> Group:
    kind = (f"all {one_line(same.kind)}-cores",) if same and same.kind else ()
    return Group(
        cpus,
        cluster.level,
        (*same.names, *kind) if same else (),
        cluster.within_ns,
        cluster.outside_ns,
        "found" if same else "not the kernel's",
    )


def kernel_groups(topology: Topology, measured: Iterable[int]) -> list[KernelGroup]:
    """Return the kernel's groups among the measured CPUs, smaller ones first."""
    cpus = frozenset(measured)

    def measured_cpus(group: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(cpus.intersection(group)))

    names: dict[tuple[int, ...], dict[str, None]] = {}
    for name, group in _levels(topology):
        names.setdefault(measured_cpus(group), {})[name] = None
    kinds = {measured_cpus(kind.cpus): kind.name for kind in topology.kinds}
    groups = [
        KernelGroup(group, tuple(names.get(group, ())), kinds.get(group, ""))
        for group in {**names, **kinds}
        if 1 < len(group) < len(cpus)
    ]
    return sorted(groups, key=lambda group: (len(group.cpus), group.cpus))


def _levels(topology: Topology) -> Iterator[tuple[str, Iterable[int]]]:
    for core in topology.cores:
        yield SIBLINGS, core.cpus
    for level, name in ((2, L2), (3, L3)):
        for cache in topology.caches:
            if cache.level == level:
                yield name, cache.cpus
    packages: dict[int, list[int]] = {}
    for core in topology.cores:
        packages.setdefault(core.package, []).extend(core.cpus)
    for cpus in packages.values():
        yield PACKAGE, cpus
    for node in topology.numa:
        yield NUMA, node.cpus


def _cpus(latency: Latency, rows: Iterable[int]) -> tuple[int, ...]:
    return tuple(latency.cpus[row] for row in rows)


def _lacking(
    latency: Latency,
    group: KernelGroup,
    named: Sequence[KernelGroup],
    clusters: Iterable[tuple[int, ...]],
) -> Group:
    """Return a group of the kernel that was not found as a cluster."""
    mine = frozenset(group.cpus)
    larger = [other.cpus for other in named if mine < frozenset(other.cpus)]
    around = min(larger, key=len, default=latency.cpus)
    within = _median(_direct(latency, group, named))
    outside = _median(_block(latency, group.cpus, [cpu for cpu in around if cpu not in mine]))
    shared = {cpus: len(mine.intersection(cpus)) / len(mine.union(cpus)) for cpus in clusters}
    nearest = max(shared, key=lambda cpus: shared[cpus], default=())
    outcome: Outcome = "unclear"
    if within is None or outside is None:
        outcome = "unmeasured"
    elif within * NO_NEARER >= outside:
        outcome = "no nearer"
    elif shared.get(nearest, 0.0) > 0.5:
        outcome = "partly"
    nearest = nearest if outcome == "partly" else ()
    return Group(group.cpus, 0, group.names, within, outside, outcome, nearest)


def _direct(latency: Latency, group: KernelGroup, named: Sequence[KernelGroup]) -> Array:
    """Return the latencies of a group's pairs that are in no group inside it together."""
    values = _block(latency, group.cpus, group.cpus).copy()
    for inner in named:
        if set(inner.cpus) < set(group.cpus):
            inside = [group.cpus.index(cpu) for cpu in inner.cpus]
            values[np.ix_(inside, inside)] = np.nan
    return values[np.triu_indices(len(values), 1)]


def _block(latency: Latency, some: Sequence[int], others: Sequence[int]) -> Array:
    rows, columns = ([latency.row_of[cpu] for cpu in cpus] for cpus in (some, others))
    return latency.both_ways[np.ix_(rows, columns)]


def _median(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None
