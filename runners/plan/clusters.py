"""Cores in the order of their kinds, and clusters: cores that share a cache. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from runners.node.topology import Core, Topology
from runners.plan.unmappable import CannotMapError

NO_CLUSTERS = "no cores share a cache that others do not"


def usable(core: Core, topology: Topology) -> tuple[int, ...]:
    """Return the CPUs of a core that this process may use, ascending."""
    return tuple(sorted(cpu for cpu in core.cpus if cpu in topology.allowed))


def ranked_cores(topology: Topology) -> list[Core]:
    """Return the cores, best kind first, then by their first CPU; of no kind last."""
    return sorted(topology.cores, key=lambda core: (core.rank, core.cpus))


def clusters_of(topology: Topology) -> list[list[Core]]:
    """Return the groups of cores that share a cache which not all cores share.

    These are cores with one L2 (a module of E-cores), or where no cores share an L2, with one L3.
    """
    return _sharing(topology, 2) or _sharing(topology, 3)


def cores_of_half_the_clusters(topology: Topology) -> list[Core]:
    """Return the usable cores of the first half of each kind's clusters, best kind first.

    The clusters of a kind are its cores with one L2, or where no two have one, with one L3, each of
    which not all cores of the node share; a core beside them is a cluster of its own. They come in
    the order of packages, then of CPUs, and an odd number is rounded up. A kind without clusters
    keeps all its cores. Raises CannotMapError when that would leave out no core.
    """
    cores = [core for core in ranked_cores(topology) if usable(core, topology)]
    kept: list[Core] = []
    clustered = False
    for kind in dict.fromkeys(core.kind for core in cores):
        of_kind = [core for core in cores if core.kind == kind]
        clusters = _clusters_among(of_kind, topology)
        clustered = clustered or bool(clusters)
        first = clusters[: (len(clusters) + 1) // 2]
        kept += [core for core in of_kind if not clusters or any(core in some for some in first)]
    if len(kept) == len(cores):
        raise CannotMapError(
            "no core kind has two clusters, of which one could be left out"
            if clustered
            else NO_CLUSTERS
        )
    return kept


def _clusters_among(cores: Sequence[Core], topology: Topology) -> list[list[Core]]:
    """Return these cores by cluster, or nothing when no two of them are in one."""
    for level in (2, 3):
        groups = [[core for core in cores if core in group] for group in _sharing(topology, level)]
        if any(len(group) > 1 for group in groups):
            alone = [[core] for core in cores if not any(core in group for group in groups)]
            clusters = [group for group in groups if group] + alone
            return sorted(clusters, key=lambda group: (group[0].package, group[0].cpus))
    return []


def _sharing(topology: Topology, level: int) -> list[list[Core]]:
    cores = ranked_cores(topology)
    groups = [
        [core for core in cores if core.cpus[0] in cache.cpus]
        for cache in topology.caches
        if cache.level == level and cache.type != "Instruction"
    ]
    groups = [group for group in groups if 1 < len(group) < len(cores)]
    return sorted(groups, key=lambda group: cores.index(group[0]))
