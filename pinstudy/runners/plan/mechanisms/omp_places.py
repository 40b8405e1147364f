"""OMP_PLACES: CPUs one by one, or by a name of which the runtime makes the places.

Only explicit CPUs give the same map in libgomp and libomp on hybrid nodes. Which places a name
means on this node is worked out here; whether the runtime took it so is seen by the threads'
affinity masks (pinstudy/runners/placement/thread_placement.py).

Source: OpenMP 5.2, section 21.1.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.configs.mapping import Mapping, places_of
from pinstudy.configs.mechanisms import NAMED
from pinstudy.runners.node.topology import ATOM, CORE, Topology, sharing
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms.base import WITHOUT_OPENMP, Mechanism, Places, instead
from pinstudy.runners.plan.selection import CannotMapError

NO_CORE_TYPES = "libomp knows core types of Intel's hybrid CPUs only; use omp-places"
# libomp's words for what CPUID says of a core (LLVM, reviews D114901 and D154547).
CORE_TYPE_WORDS = {CORE: "intel_core", ATOM: "intel_atom"}


class OmpPlaces(Mechanism):
    """`OMP_PLACES={0},{2}`; under `set` one place of all CPUs.

    OMP_PROC_BIND is set only together with places: libomp 14 binds threads even under
    OMP_PROC_BIND=false as soon as there are places.
    """

    name = "omp-places"
    launcher: ClassVar[str | None] = "taskset"
    variable: ClassVar[str] = "OMP_PLACES"

    def refusal(self, case: Case) -> str | None:
        if case.build.runtime in WITHOUT_OPENMP:
            return f"a program without OpenMP does not read {self.variable}; {instead(case)}"
        return None

    def variables(self, case: Case) -> dict[str, str]:
        places = places_of(case.mapping.binding, case.cpus)
        return {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}


class NamedPlaces(OmpPlaces):
    """`OMP_PLACES=cores`; core types choose the CPUs, other names stay within the case's.

    A name that chooses CPUs starts without taskset, under which one would not see that the runtime
    ignored it.
    """

    name = NAMED
    by_words = True
    in_order = False

    def needs(self, mapping: Mapping) -> str | None:
        return None if mapping.names_core_type else super().needs(mapping)

    def refusal(self, case: Case) -> str | None:
        if case.build.runtime == "libgomp" and case.mapping.names_core_type:
            return f"libgomp has no places {case.mapping.places!r}; use omp-places"
        return super().refusal(case)

    def problem(self, node: Topology, case: Case) -> str | None:
        if not case.mapping.names_core_type:
            return None
        if not node.core_types:
            return NO_CORE_TYPES
        name = str(case.mapping.places)
        taken = _usable_of_type(name.partition(":")[2], node)
        if taken != set(case.cpus):
            return (
                f"{name} takes CPUs {format_cpulist(taken)} here, and the selection "
                f"{case.mapping.selection} has {format_cpulist(case.mask)}; use omp-places"
            )
        if case.engine.processes > 1:
            return f"{name} would take the same cores in every rank; use omp-places"
        return None

    def places(self, node: Topology, case: Case) -> Places:
        return named_places(str(case.mapping.places), case.cpus, node)

    def variables(self, case: Case) -> dict[str, str]:
        return {"OMP_PLACES": str(case.mapping.places), "OMP_PROC_BIND": "close"}


def _usable_of_type(word: str, node: Topology) -> set[int]:
    types = (core_type for core_type in node.core_types if CORE_TYPE_WORDS[core_type.name] == word)
    return {cpu for core_type in types for cpu in core_type.cpus if cpu in node.usable}


def named_places(name: str, cpus: Iterable[int], topology: Topology) -> Places:
    """Return the places that a name of OMP_PLACES means within these CPUs, by their first CPU.

    Raises CannotMapError where the node's files do not show such parts.
    """
    within = set(cpus)
    parts = _PARTS[name.partition(":")[0]](topology)
    places = {tuple(sorted(within.intersection(part))) for part in parts} - {()}
    if within.difference(*places):
        raise CannotMapError(f"the node's files do not show its {name}")
    return tuple(sorted(places))


def _last_level_caches(topology: Topology) -> Sequence[tuple[int, ...]]:
    """Return the CPUs of each CPU's last cache: LP-E-cores have no L3, but an L2."""
    last: dict[int, tuple[int, ...]] = {}
    for level in sorted({cache.level for cache in topology.caches}):
        for cpus in sharing(topology.caches, level):
            last |= dict.fromkeys(cpus, cpus)
    return list(last.values())


def _packages(topology: Topology) -> Sequence[tuple[int, ...]]:
    packages: dict[int, tuple[int, ...]] = {}
    for core in topology.cores:
        packages[core.package] = packages.get(core.package, ()) + core.cpus
    return list(packages.values())


_PARTS: dict[str, Callable[[Topology], Sequence[tuple[int, ...]]]] = {
    "threads": lambda topology: [(cpu,) for cpu in topology.online],
    "cores": lambda topology: [core.cpus for core in topology.cores],
    "sockets": _packages,
    "ll_caches": _last_level_caches,
    "numa_domains": lambda topology: [numa.cpus for numa in topology.numa],
}
