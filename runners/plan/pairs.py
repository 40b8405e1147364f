"""Which CPUs pairs of threads take, from close to far: threads 2i and 2i + 1 are neighbours. Pure.

The programs of the affinity experiments find the same CPUs by themselves
(apps/common/placements.hpp); a test compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from base.text import plural
from runners.node.topology import Core, Topology
from runners.plan.clusters import NO_CLUSTERS, clusters_of, ranked_cores, usable
from runners.plan.unmappable import CannotMapError


def siblings(topology: Topology, threads: int) -> tuple[int, ...]:
    """Return two SMT siblings of each core that has two, best kind first."""
    cores = [usable(core, topology) for core in ranked_cores(topology)]
    with_two = [cpus[:2] for cpus in cores if len(cpus) > 1]
    if not with_two:
        raise CannotMapError("no core has two usable CPUs (SMT is off or absent)")
    return _enough("siblings", with_two, threads)


def same_cpu(topology: Topology, threads: int) -> tuple[int, ...]:
    """Return one CPU of each core, twice, best kind first."""
    firsts = _firsts(ranked_cores(topology), topology)
    return _enough("same-cpu", list(zip(firsts, firsts, strict=True)), threads)


def same_cluster(topology: Topology, threads: int) -> tuple[int, ...]:
    """Return neighbouring cores of each cluster, two and two, best kind first."""
    clusters = clusters_of(topology)
    if not clusters:
        raise CannotMapError(NO_CLUSTERS)
    pairs: list[tuple[int, int]] = []
    for cluster in clusters:
        firsts = _firsts(cluster, topology)
        pairs += zip(firsts[::2], firsts[1::2], strict=False)
    return _enough("same-cluster", pairs, threads)


def across_kinds(topology: Topology, threads: int) -> tuple[int, ...]:
    """Return a core of the best kind and a core of the next, in turn."""
    if not topology.hybrid:
        raise CannotMapError(f"the node has one core kind ({topology.kinds[0].name})")
    fast, slow = (kind.name for kind in topology.kinds[:2])
    cores = ranked_cores(topology)
    of_fast = _firsts([core for core in cores if core.kind == fast], topology)
    of_slow = _firsts([core for core in cores if core.kind == slow], topology)
    return _enough("across-kinds", list(zip(of_fast, of_slow, strict=False)), threads)


def across_packages(topology: Topology, threads: int) -> tuple[int, ...]:
    """Return a core of the first package and a core of the next, in turn."""
    packages = sorted({core.package for core in topology.cores})
    if len(packages) < 2:
        raise CannotMapError("the node has one package")
    cores = ranked_cores(topology)
    here = _firsts([core for core in cores if core.package == packages[0]], topology)
    there = _firsts([core for core in cores if core.package == packages[1]], topology)
    return _enough("across-packages", list(zip(here, there, strict=False)), threads)


PAIR_SELECTIONS: dict[str, Callable[[Topology, int], tuple[int, ...]]] = {
    "siblings": siblings,
    "same-cpu": same_cpu,
    "same-cluster": same_cluster,
    "across-kinds": across_kinds,
    "across-packages": across_packages,
}


def _firsts(cores: Iterable[Core], topology: Topology) -> list[int]:
    """Return one usable CPU of each core that has one."""
    return [cpus[0] for core in cores if (cpus := usable(core, topology))]


def _enough(selection: str, pairs: Sequence[Sequence[int]], threads: int) -> tuple[int, ...]:
    """Return the CPUs of the pairs in a row; raise CannotMapError when they are too few."""
    needed = -(-threads // 2)
    if needed > len(pairs):
        raise CannotMapError(
            f"{plural(threads, 'thread')} are {plural(needed, 'pair')}; {selection} has room for "
            f"{plural(len(pairs), 'pair')} here"
        )
    return tuple(cpu for pair in pairs for cpu in pair)
