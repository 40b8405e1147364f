"""A node's parts: core kinds, cores, caches, NUMA nodes. Data only, no reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import to_builtins

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.records.node_file import (
    CacheTable,
    CoreTable,
    KindTable,
    NumaTable,
    TopologyTable,
)

# Ranked by performance, best first; LP-E cores are E-cores without an L3 cache.
KIND_ORDER = ("P", "E", "LP-E")


# How near two CPUs are, nearest first; the first relation that is true of a pair counts.
SIBLINGS = "SMT siblings"
SHARED_L2 = "one L2"
SHARED_L3 = "one L3"
SAME_NODE = "one NUMA node without a shared cache"
SAME_PACKAGE = "one package, different NUMA nodes"
ACROSS_PACKAGES = "different packages"
RELATIONS = (SIBLINGS, SHARED_L2, SHARED_L3, SAME_NODE, SAME_PACKAGE, ACROSS_PACKAGES)

# What CPUID leaf 0x1A of Intel's hybrid CPUs tells a program of the core that it runs on (Intel SDM
# vol. 2A, CPUID, leaf 1AH, EAX 31:24).
CORE, ATOM = "Core", "Atom"

_NO_KIND = "no kind"


@dataclass(frozen=True)
class CoreKind:
    """A set of CPUs of equal capability, and the evidence by which it was found."""

    name: str
    cpus: tuple[int, ...]
    evidence: str
    declared: bool = False


@dataclass(frozen=True)
class Core:
    """A physical core: its CPUs (SMT siblings), its kind's name, its package.

    `kind` is empty for CPUs that `--kinds` does not name.
    """

    cpus: tuple[int, ...]
    kind: str
    package: int

    @property
    def rank(self) -> int:
        """The place of its kind in KIND_ORDER; a core without a kind comes last."""
        return KIND_ORDER.index(self.kind) if self.kind in KIND_ORDER else len(KIND_ORDER)


@dataclass(frozen=True)
class CoreType:
    """The CPUs whose cores are of one type, CORE or ATOM, by what CPUID tells programs.

    A type is no kind: E-cores and LP-E-cores are both Atoms, and a kind may be declared by hand.
    """

    name: str
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Cache:
    """A cache and the CPUs that share it; `size_bytes` is None when it is unknown."""

    level: int
    type: str
    size_bytes: int | None
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node and its CPUs."""

    node: int
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Topology:
    """A node's CPUs; all but those in `offline` are online.

    `allowed` are the CPUs that this process may use (its affinity mask), or all that are online
    when the node is a recorded tree. `notes` list what the tree lacked and what replaced it.
    The kernel balances no threads onto or between `isolated` CPUs; those in `tickless` have no tick
    where one thread runs (pinstudy/runners/node/scheduler.py). `core_types` are those by which
    libomp can tell cores apart, CORE first; none where all are of one, and where programs are told
    none.
    """

    kinds: tuple[CoreKind, ...]
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    numa: tuple[NumaNode, ...]
    online: tuple[int, ...]
    offline: tuple[int, ...]
    allowed: tuple[int, ...]
    notes: tuple[str, ...] = ()
    core_types: tuple[CoreType, ...] = ()
    isolated: tuple[int, ...] = ()
    tickless: tuple[int, ...] = ()

    def kind_of(self, cpu: int) -> str | None:
        """Return the name of the CPU's kind, or None for a CPU that is in no kind."""
        return next((kind.name for kind in self.kinds if cpu in kind.cpus), None)

    def core_type(self, core: Core) -> str:
        """Return the type of a core; empty where programs are told none."""
        return next((kind.name for kind in self.core_types if core.cpus[0] in kind.cpus), "")

    @cached_property
    def usable(self) -> frozenset[int]:
        """The CPUs of `allowed`, to look one up: a plan does so for each core and case."""
        return frozenset(self.allowed)

    @property
    def hybrid(self) -> bool:
        """Whether the node has more than one core kind."""
        return len(self.kinds) > 1


def sharing(caches: Iterable[Cache], level: int) -> list[tuple[int, ...]]:
    """Return the CPUs of each cache of a level, without instruction caches."""
    return [cache.cpus for cache in caches if cache.level == level and cache.type != "Instruction"]


def relations(topology: Topology) -> Callable[[int, int], str]:
    """Return a function from two different CPUs to their relation, one of RELATIONS."""
    core = _group_of(core.cpus for core in topology.cores)
    l2, l3 = (_group_of(sharing(topology.caches, level)) for level in (2, 3))
    numa = _group_of(node.cpus for node in topology.numa)
    package = {cpu: core.package for core in topology.cores for cpu in core.cpus}
    shared = ((SIBLINGS, core), (SHARED_L2, l2), (SHARED_L3, l3))

    def relation(a: int, b: int) -> str:
        for name, group in shared:
            if a in group and group[a] == group.get(b):
                return name
        if package.get(a) != package.get(b):
            return ACROSS_PACKAGES
        return SAME_NODE if numa.get(a) == numa.get(b) else SAME_PACKAGE

    return relation


def kinds_of_pairs(topology: Topology) -> Callable[[int, int], str]:
    """Return a function from two CPUs to their core kinds, best first, such as `P and E`.

    Equal kinds are named once. A CPU that --kinds leaves out is of `no kind`.
    """
    names = [*(kind.name for kind in topology.kinds), _NO_KIND]
    kind = {cpu: kind.name for kind in topology.kinds for cpu in kind.cpus}

    def kinds(a: int, b: int) -> str:
        both = (kind.get(a, _NO_KIND), kind.get(b, _NO_KIND))
        return " and ".join(name for name in names if name in both)

    return kinds


def _group_of(groups: Iterable[tuple[int, ...]]) -> dict[int, int]:
    return {cpu: number for number, cpus in enumerate(groups) for cpu in cpus}


def with_siblings(cores: Iterable[Core], cpus: Iterable[int]) -> tuple[int, ...]:
    """Return these CPUs and their SMT siblings, ascending."""
    used = set(cpus)
    shared = (core.cpus for core in cores if used.intersection(core.cpus))
    return tuple(sorted(used.union(*shared)))


def flat_topology(cpus: int) -> Topology:
    """Return the topology of a guest: as many equal cores as it has CPUs, in one package."""
    numbers = tuple(range(cpus))
    return Topology(
        kinds=(CoreKind("P", numbers, "a guest's CPUs are equal"),),
        cores=tuple(Core((cpu,), "P", 0) for cpu in numbers),
        caches=(),
        numa=(NumaNode(0, numbers),),
        online=numbers,
        offline=(),
        allowed=numbers,
    )


def topology_table(topology: Topology) -> TopologyTable:
    """Return the topology as files have it.

    Instruction caches are left out: no mapping depends on them, and their rows would look like
    those of the data caches of the same level.
    """
    return TopologyTable(
        kinds=[
            KindTable(kind.name, format_cpulist(kind.cpus), kind.evidence, kind.declared)
            for kind in topology.kinds
        ],
        cores=[
            CoreTable(format_cpulist(core.cpus), core.kind, core.package) for core in topology.cores
        ],
        caches=[
            CacheTable(cache.level, cache.size_bytes, format_cpulist(cache.cpus))
            for cache in topology.caches
            if cache.type != "Instruction"
        ],
        numa=[NumaTable(numa.node, format_cpulist(numa.cpus)) for numa in topology.numa],
        online=format_cpulist(topology.online),
        offline=format_cpulist(topology.offline),
        allowed=format_cpulist(topology.allowed),
        isolated=format_cpulist(topology.isolated),
        nohz_full=format_cpulist(topology.tickless),
        notes=list(topology.notes),
    )


def topology_json(topology: Topology) -> dict[str, Any]:
    """Return the table of a topology as `pinstudy topology --json` prints it."""
    shown: dict[str, Any] = to_builtins(topology_table(topology))
    return shown
