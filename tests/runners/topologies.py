"""Topologies made by hand for tests of what is pure."""

from __future__ import annotations

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.runners.node.topology import (
    ATOM,
    CORE,
    Cache,
    Core,
    CoreKind,
    CoreType,
    NumaNode,
    Topology,
)


def topology(
    cores: list[tuple[str, str, int]],
    caches: list[tuple[int, str]] = (),  # type: ignore[assignment]
    allowed: str | None = None,
    core_types: bool = False,
) -> Topology:
    """Return a node of cores (CPUs, kind, package) and caches (level, CPUs).

    With `core_types` it is one of Intel's hybrids, whose E- and LP-E-cores are Atoms.
    """
    made = tuple(Core(parse_cpulist(cpus), kind, package) for cpus, kind, package in cores)
    online = tuple(sorted(cpu for core in made for cpu in core.cpus))
    kinds = tuple(
        CoreKind(
            name,
            tuple(sorted(c for core in made if core.kind == name for c in core.cpus)),
            "by hand",
        )
        for name in ("P", "E", "LP-E")
        if any(core.kind == name for core in made)
    )
    return Topology(
        kinds=kinds,
        cores=made,
        caches=tuple(Cache(level, "Unified", None, parse_cpulist(cpus)) for level, cpus in caches),
        numa=(NumaNode(0, online),),
        online=online,
        offline=(),
        allowed=online if allowed is None else parse_cpulist(allowed),
        core_types=intels_types(made) if core_types else (),
    )


def intels_types(cores: tuple[Core, ...]) -> tuple[CoreType, ...]:
    """Return the P-cores as Cores and all others as Atoms; none where all are of one type."""
    fast = tuple(sorted(cpu for core in cores if core.kind == "P" for cpu in core.cpus))
    slow = tuple(sorted(cpu for core in cores if core.kind != "P" for cpu in core.cpus))
    return (CoreType(CORE, fast), CoreType(ATOM, slow)) if fast and slow else ()


def i9_14900k_without_smt(allowed: str | None = None) -> Topology:
    """P 0-7 with an L2 each, E 8-23 in modules of four that share one (hybrid-facts' table 1.4)."""
    cores = [(str(cpu), "P" if cpu < 8 else "E", 0) for cpu in range(24)]
    caches = [(3, "0-23")] + [(2, str(cpu)) for cpu in range(8)]
    caches += [(2, f"{first}-{first + 3}") for first in range(8, 24, 4)]
    return topology(cores, caches, allowed, core_types=True)


def core_ultra_7_164u() -> Topology:
    """P 0-3 in SMT pairs, E 4-11 in two modules, LP-E 12-13 without L3."""
    cores = [("0-1", "P", 0), ("2-3", "P", 0)]
    cores += [(str(cpu), "E", 0) for cpu in range(4, 12)]
    cores += [(str(cpu), "LP-E", 0) for cpu in (12, 13)]
    caches = [(3, "0-11"), (2, "0-1"), (2, "2-3"), (2, "4-7"), (2, "8-11"), (2, "12-13")]
    return topology(cores, caches, core_types=True)


def two_packages_with_smt() -> Topology:
    """Two packages of two cores with SMT, siblings numbered i and i+4 as on servers."""
    cores = [("0,4", "P", 0), ("1,5", "P", 0), ("2,6", "P", 1), ("3,7", "P", 1)]
    caches = [(3, "0-1,4-5"), (3, "2-3,6-7")] + [(2, f"{i},{i + 4}") for i in range(4)]
    return topology(cores, caches)
