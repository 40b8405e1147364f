"""By what a case's threads are bound: the choice of a mechanism, and the words it takes. Pure.

Where the runtime itself makes the places (`cores`) or chooses the CPUs (`4c:intel_core`), this
module says which places the words mean on this node; whether the runtime took them so is seen by
the threads' affinity masks (runners/placement/thread_placement.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from base.cpulist import format_cpulist
from configs.app import MPI_LAUNCHERS, App
from configs.mapping import BINDINGS, PINS_ONE_THREAD, Mapping
from configs.variables import BY_AFFINITY
from runners.host.software import for_mpi, for_tools
from runners.node.topology import Core, Topology, sharing
from runners.plan.selection import CannotMapError, ranked_cores, usable

WITHOUT_OPENMP = ("none", "pthreads")
# The runtime itself finds the CPUs that a name, a list or a count describes.
BY_WORDS = ("omp-places-named", "kmp-affinity", "kmp-hw-subset")
IN_ANY_ORDER = ("omp-places-named", "kmp-hw-subset")
BY_OPENMP = ("omp-places", *BY_WORDS)
# What libgomp does not read.
OF_LIBOMP = {"kmp-affinity": "KMP_AFFINITY", "kmp-hw-subset": "KMP_HW_SUBSET"}
# libomp's words for Intel's core kinds (LLVM review D114901).
_CORE_TYPES = {"P": "intel_core", "E": "intel_atom"}
_NO_CORE_TYPES = "libomp knows core types of Intel's hybrid CPUs only; use omp-places"

Places = tuple[tuple[int, ...], ...]


def choose_mechanism(mapping: Mapping, app: App, runtime: str, threads: int) -> str | None:
    """Return the mechanism of a mapping for a build of the app with this OpenMP runtime.

    It is the one that the mapping names, else the best one that can express the mapping. Raises
    CannotMapError with the reason when there is none.
    """
    mechanism = mapping.mechanism or _usual_mechanism(mapping.binding, runtime, threads)
    if mechanism in BY_OPENMP and runtime in WITHOUT_OPENMP:
        variable = OF_LIBOMP.get(mechanism, "OMP_PLACES")
        raise CannotMapError(
            f"a program without OpenMP does not read {variable}; {_instead(mapping, runtime)}"
        )
    if mechanism in OF_LIBOMP and runtime == "libgomp":
        raise CannotMapError(f"libgomp does not read {OF_LIBOMP[mechanism]}; use omp-places")
    if runtime == "libgomp" and mapping.names_core_type:
        raise CannotMapError(f"libgomp has no places {mapping.places!r}; use omp-places")
    if mechanism == "program" and not (app.placement and app.placement.pin):
        raise CannotMapError(
            f"{app.name} cannot pin its threads itself; {_instead(mapping, runtime)}"
        )
    return mechanism


def _instead(mapping: Mapping, runtime: str) -> str:
    """Return what can bind threads as the mapping says, where the program itself cannot."""
    if mapping.binding == "set" or runtime == "none":
        return "use taskset"
    if mapping.selection != "same-cpu":
        return "use likwid-pin"
    if runtime in WITHOUT_OPENMP:
        return "nothing else puts two of its threads on one CPU"
    return "use omp-places"


def _usual_mechanism(binding: str, runtime: str, threads: int) -> str | None:
    if binding == "pin" and threads == 1 and runtime in (*WITHOUT_OPENMP, "other"):
        return "taskset"
    if binding == "pin" and runtime in WITHOUT_OPENMP:
        return "program"
    if binding == "pin" and runtime == "other":
        raise CannotMapError(
            "a program of `runtime: other` need not read OMP_PLACES; say libgomp or libomp if it "
            "does, or give the mapping a mechanism: omp-places or likwid-pin"
        )
    return next(iter(BINDINGS[binding]), None)


def check_count(threads_by: Iterable[str], cpus: Iterable[int], threads: int) -> None:
    """Raise CannotMapError when a program that counts its CPUs would start other threads."""
    counted = len(set(cpus))
    if BY_AFFINITY in threads_by and counted != threads:
        raise CannotMapError(
            f"the program starts a thread for each CPU that it may use, {counted} here and not "
            f"{threads}"
        )


def check_mechanism(
    mechanism: str | None,
    mapping: Mapping,
    threads: int,
    topology: Topology,
    tools: Iterable[str],
) -> None:
    """Raise CannotMapError when this node cannot run the mechanism; `tools` are its launchers."""
    if mapping.binding == "pin" and mechanism in PINS_ONE_THREAD and threads > 1:
        raise CannotMapError(
            f"{mechanism} sets one mask for all threads and cannot pin {threads} of them"
        )
    if mapping.names_core_type and not topology.core_types:
        raise CannotMapError(_NO_CORE_TYPES)
    if mechanism in ("likwid-pin", "kmp-hw-subset") and mapping.selection == "same-cpu":
        raise CannotMapError(f"{mechanism} does not put two threads on one CPU; use omp-places")
    needed = needed_tool(mechanism, mapping)
    if needed is not None and needed not in tools:
        raise CannotMapError(f"{needed} is not installed; {for_tools().sentence}")
    if mechanism == "likwid-pin" and topology.allowed != topology.online:
        raise CannotMapError(
            "inside a restricted CPU set likwid-pin takes CPU numbers as logical ones "
            f"(allowed {format_cpulist(topology.allowed)} of {format_cpulist(topology.online)})"
        )


def check_ranks(
    ranks: int, mechanism: str | None, mapping: Mapping, mpi: str, tools: Iterable[str]
) -> None:
    """Raise CannotMapError when ranks cannot be bound by the mechanism, or not be started here."""
    if mpi not in tools:
        raise CannotMapError(f"{MPI_LAUNCHERS[mpi]} was not found; {for_mpi().sentence}")
    if mechanism == "likwid-pin":
        raise CannotMapError(
            "likwid-pin counts the threads that MPI starts in a rank, too; use omp-places"
        )
    if ranks > 1 and (mechanism == "kmp-hw-subset" or mapping.names_core_type):
        asked = mapping.places or mechanism
        raise CannotMapError(f"{asked} would take the same cores in every rank; use omp-places")


def needed_tool(mechanism: str | None, mapping: Mapping) -> str | None:
    """Return the launcher that a mechanism needs.

    OpenMP's places and a program's own pinning are combined with taskset, unless the runtime itself
    chooses the CPUs: under taskset one would not see that it ignored what it was asked.
    """
    if mechanism == "kmp-hw-subset" or mapping.names_core_type:
        return None
    return "taskset" if mechanism in (*BY_OPENMP, "program") else mechanism


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


def hw_subset(cpus: Iterable[int], topology: Topology) -> str:
    """Return KMP_HW_SUBSET for these CPUs, such as `4c:intel_core,8c:intel_atom,1t`.

    It counts from the first core of each package and from the first CPU of each core, among those
    that the process may use. Raises CannotMapError for CPUs that cannot be counted so.
    """
    wanted = set(cpus)
    cores = [core for core in ranked_cores(topology) if usable(core, topology)]
    taken = [core for core in cores if wanted.intersection(core.cpus)]
    used = {core.package for core in taken}
    threads = max(len(wanted.intersection(core.cpus)) for core in taken)
    of_kind = Counter(core.kind for core in taken)
    counts = {kind: -(-count // len(used)) for kind, count in of_kind.items()}
    packages = sorted({core.package for core in cores})
    meant = [
        core
        for (package, kind), there in _by_package(cores).items()
        if package in packages[: len(used)]
        for core in there[: counts.get(kind, 0)]
    ]
    if {cpu for core in meant for cpu in usable(core, topology)[:threads]} != wanted:
        raise CannotMapError(
            f"KMP_HW_SUBSET cannot say CPUs {format_cpulist(sorted(wanted))}: it counts from the "
            "first core of each package, equally many of each; use omp-places"
        )
    parts = [f"{len(used)}s"] if len(packages) > 1 else []
    parts += [f"{count}c{_core_type(kind, topology)}" for kind, count in counts.items()]
    whole = all(wanted.issuperset(usable(core, topology)) for core in taken)
    return ",".join(parts if whole else [*parts, f"{threads}t"])


def _by_package(cores: Iterable[Core]) -> dict[tuple[int, str], list[Core]]:
    """Return the cores by package and kind."""
    groups: dict[tuple[int, str], list[Core]] = {}
    for core in cores:
        groups.setdefault((core.package, core.kind), []).append(core)
    return groups


def _core_type(kind: str, topology: Topology) -> str:
    """Return the attribute that tells a kind from the node's others; empty where there are none."""
    if not topology.hybrid:
        return ""
    if not topology.core_types:
        # It would take as many cores, of whatever kind, from the first on.
        raise CannotMapError(_NO_CORE_TYPES)
    if kind not in _CORE_TYPES:
        raise CannotMapError(f"KMP_HW_SUBSET has no word for {kind}-cores; use omp-places")
    return f":{_CORE_TYPES[kind]}"
