"""The groups of CPUs that the kernel's topology tells, as far as they were measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runners.node.topology import Topology

SIBLINGS, L2, L3, PACKAGE, NUMA, KIND = "SMT siblings", "L2", "L3", "package", "NUMA node", "kind"
# What the kernel tells of how near CPUs are, inner levels first; a kind says nothing of that.
LEVELS = (SIBLINGS, L2, L3, PACKAGE, NUMA)


@dataclass(frozen=True)
class KernelGroup:
    """CPUs, two or more and not all of those measured, and what the kernel calls them.

    `names` are of LEVELS, inner ones first; a core's CPUs that have an L2 to themselves have both.
    `kind` is the core kind that consists of just these CPUs, empty without one.
    """

    cpus: tuple[int, ...]
    names: tuple[str, ...]
    kind: str = ""


def kernel_groups(topology: Topology, measured: Iterable[int]) -> list[KernelGroup]:
    """Return the kernel's groups among the measured CPUs, smaller ones first."""
    cpus = frozenset(measured)
    names: dict[tuple[int, ...], list[str]] = {}
    kinds: dict[tuple[int, ...], str] = {}
    for name, group in _told(topology):
        kept = tuple(sorted(cpus.intersection(group)))
        if not 1 < len(kept) < len(cpus):
            continue
        called = names.setdefault(kept, [])
        if name in LEVELS and name not in called:
            called.append(name)
        elif name not in LEVELS:
            kinds[kept] = name
    groups = [KernelGroup(group, tuple(names[group]), kinds.get(group, "")) for group in names]
    return sorted(groups, key=lambda group: (len(group.cpus), group.cpus))


def _told(topology: Topology) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield every group with its name, inner ones first; a kind's is the kind's own."""
    for core in topology.cores:
        yield SIBLINGS, core.cpus
    for level, name in ((2, L2), (3, L3)):
        for cache in topology.caches:
            if cache.level == level:
                yield name, cache.cpus
    for package in {core.package: None for core in topology.cores}:
        yield PACKAGE, tuple(c for o in topology.cores if o.package == package for c in o.cpus)
    for node in topology.numa:
        yield NUMA, node.cpus
    for kind in topology.kinds:
        yield kind.name, kind.cpus


def inner_groups(group: tuple[int, ...], groups: Iterable[KernelGroup]) -> list[KernelGroup]:
    """Return the largest of the kernel's groups that lie within these CPUs and are not all of them.

    Core kinds are none: they say nothing of how near CPUs are.
    """
    held = frozenset(group)
    chosen: list[KernelGroup] = []
    for one in sorted(groups, key=lambda other: -len(other.cpus)):
        inside = len(one.cpus) < len(held) and held.issuperset(one.cpus)
        if inside and one.names and not any(held_in(one, other) for other in chosen):
            chosen.append(one)
    return chosen


def outer_cpus(
    group: tuple[int, ...], groups: Iterable[KernelGroup], measured: Iterable[int]
) -> tuple[int, ...]:
    """Return the CPUs of the smallest of the kernel's groups around these, all without one."""
    held = frozenset(group)
    around = [one.cpus for one in groups if one.names and held < frozenset(one.cpus)]
    return min(around, key=len, default=tuple(measured))


def held_in(one: KernelGroup, other: KernelGroup) -> bool:
    """Return whether a group's CPUs are all in the other one."""
    return frozenset(one.cpus) <= frozenset(other.cpus)
