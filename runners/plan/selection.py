"""From a mapping's words to CPU numbers of this node. Pure.

Which CPUs a selection means, and in which order pinned threads take them, is defined here and
nowhere else; what cannot be done on a node gets its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest

from base.cpulist import format_cpulist
from configs.checks.mapping import EXPRESSED_BY, PINS_ONE_THREAD
from configs.model import PAIRS, App, Mapping
from runners.host.installation import for_tools
from runners.node.topology import Core, Topology
from runners.plan.clusters import cores_of_half_the_clusters, ranked_cores, usable
from runners.plan.pairs import PAIR_SELECTIONS
from runners.plan.unmappable import CannotMapError


def resolve_cpus(
    mapping: Mapping,
    topology: Topology,
    threads: int,
    what: str = "threads",
    *,
    oversubscribe: bool = False,
) -> tuple[int, ...]:
    """Return the CPUs that the mapping gives to `threads` threads, in the order they take them.

    Under `none` and `set` these are all CPUs of the selection (for `compact`, `spread` and those of
    pairs, which order CPUs rather than choose them, the first `threads`); under `pin` the first
    `threads`. `what` is what they are, for messages. With `oversubscribe` there may be more of
    them than CPUs, unless they are pinned. Raises CannotMapError with the reason when the node
    cannot do it.
    """
    cpus = _candidates(mapping, topology, threads)
    if len(cpus) < threads and not (oversubscribe and mapping.tightness != "pin"):
        raise CannotMapError(
            f"{threads} {what} need {threads} CPUs; {mapping.selection} has {len(cpus)} here "
            f"({format_cpulist(cpus)})"
        )
    ordered_only = mapping.selection in ("compact", "spread", *PAIRS)
    if mapping.tightness == "pin" or (mapping.tightness == "set" and ordered_only):
        return cpus[:threads]
    return cpus


def _candidates(mapping: Mapping, topology: Topology, threads: int) -> tuple[int, ...]:
    """Return the CPUs of the selection; those of pairs raise when they are too few."""
    cpus = _SELECT[mapping.selection](topology, threads)
    if not cpus:
        raise CannotMapError(_why_empty(mapping.selection, topology))
    return cpus


def choose_mechanism(mapping: Mapping, app: App, runtime: str, threads: int) -> str | None:
    """Return what realises the mapping for a build of an app that has this OpenMP runtime.

    A named mechanism is kept or refused, an unnamed one is the best that can express it: a
    program without OpenMP is pinned by taskset, its threads, if it has several, by itself; of a
    runtime that nobody knows threads are pinned by a named mechanism only. Raises CannotMapError
    with the reason.
    """
    able = EXPRESSED_BY[mapping.tightness]
    if mapping.mechanism is None:
        without_openmp = runtime in ("none", "pthreads")
        if mapping.tightness == "pin" and threads == 1 and (without_openmp or runtime == "other"):
            return "taskset"
        if mapping.tightness == "pin" and without_openmp:
            return _checked("program", app, runtime)
        if mapping.tightness == "pin" and runtime == "other":
            raise CannotMapError(
                "a program of `runtime: other` need not read OMP_PLACES; say libgomp or libomp if "
                "it does, or give the mapping a mechanism: omp-places or likwid-pin"
            )
        return able[0] if able else None
    if mapping.mechanism not in able:
        raise CannotMapError(f"{mapping.mechanism} cannot express {mapping.tightness}")
    return _checked(mapping.mechanism, app, runtime)


def _checked(mechanism: str, app: App, runtime: str) -> str:
    if mechanism == "omp-places" and runtime in ("none", "pthreads"):
        instead = "taskset" if runtime == "none" else "likwid-pin"
        raise CannotMapError(f"a program without OpenMP does not read OMP_PLACES; use {instead}")
    if mechanism == "program" and not (app.placement and app.placement.pin):
        raise CannotMapError(f"{app.name} cannot pin its threads itself; use likwid-pin")
    return mechanism


def check_mechanism(
    mechanism: str | None,
    mapping: Mapping,
    threads: int,
    topology: Topology,
    tools: Iterable[str],
) -> None:
    """Raise CannotMapError when this node cannot run the mechanism; `tools` are its launchers."""
    if mapping.tightness == "pin" and mechanism in PINS_ONE_THREAD and threads > 1:
        raise CannotMapError(
            f"{mechanism} sets one mask for all threads and cannot pin {threads} of them"
        )
    if mechanism == "likwid-pin" and mapping.selection == "same-cpu":
        raise CannotMapError("likwid-pin does not put two threads on one CPU; use omp-places")
    needed = needed_tool(mechanism)
    if needed is not None and needed not in tools:
        raise CannotMapError(f"{needed} is not installed; {for_tools().sentence}")
    if mechanism == "likwid-pin" and topology.allowed != topology.online:
        raise CannotMapError(
            "inside a restricted CPU set likwid-pin takes CPU numbers as logical ones "
            f"(allowed {format_cpulist(topology.allowed)} of {format_cpulist(topology.online)})"
        )


def needed_tool(mechanism: str | None) -> str | None:
    """Return the launcher that a mechanism needs.

    Places, and a program that pins its own threads, are combined with taskset.
    """
    return "taskset" if mechanism in ("omp-places", "program") else mechanism


def _why_empty(selection: str, topology: Topology) -> str:
    if selection == "mixed":
        return f"the node has one core kind ({topology.kinds[0].name})"
    kind = _KIND_OF_SELECTION.get(selection)
    if kind and any(core.kind == kind for core in topology.cores):
        cpus = format_cpulist(_all_cpus(topology, kind))
        return (
            f"its {kind}-cores (CPUs {cpus}) are outside this process's CPU set "
            f"({format_cpulist(topology.allowed)})"
        )
    return f"the node has no {kind}-cores" if kind else "no CPU may be used"


def _all_cpus(topology: Topology, kind: str) -> list[int]:
    return [cpu for core in topology.cores if core.kind == kind for cpu in core.cpus]


def _cores_of(topology: Topology, kind: str) -> list[tuple[int, ...]]:
    """Return the usable CPUs of each core of a kind, cores in the order of their first CPU."""
    cores = (usable(core, topology) for core in topology.cores if core.kind == kind)
    return sorted(cpus for cpus in cores if cpus)


def _one_per_core(kind: str) -> Callable[[Topology, int], tuple[int, ...]]:
    return lambda topology, _threads: tuple(cpus[0] for cpus in _cores_of(topology, kind))


def _every_cpu(kind: str) -> Callable[[Topology, int], tuple[int, ...]]:
    """One CPU of each core first, their SMT siblings after them."""
    return lambda topology, _threads: _siblings_last(_cores_of(topology, kind))


def _cores(topology: Topology, _threads: int) -> tuple[int, ...]:
    """One CPU of each core, best kind first."""
    cores = (usable(core, topology) for core in ranked_cores(topology))
    return tuple(cpus[0] for cpus in cores if cpus)


def _half_clusters(topology: Topology, _threads: int) -> tuple[int, ...]:
    return tuple(usable(core, topology)[0] for core in cores_of_half_the_clusters(topology))


def _siblings_last(cores: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    rounds = zip_longest(*cores)
    return tuple(cpu for one_each in rounds for cpu in one_each if cpu is not None)


def _mixed(topology: Topology, threads: int) -> tuple[int, ...]:
    """One CPU of each P- and E-core; the first `threads` are split evenly, P first.

    LP-E-cores are left out: they have no L3 cache and are no peers of E-cores.
    """
    fast, slow = (list(_one_per_core(kind)(topology, threads)) for kind in ("P", "E"))
    if not fast or not slow:
        return ()
    of_slow = min(threads // 2, len(slow))
    of_fast = min(threads - of_slow, len(fast))
    of_slow = min(threads - of_fast, len(slow))
    return tuple(fast[:of_fast] + slow[:of_slow] + fast[of_fast:] + slow[of_slow:])


def _group_keys(topology: Topology, core: Core) -> tuple[int, ...]:
    """Package, then the first CPU of each cache shared with others, outermost first."""
    shared = [
        min(
            (
                cache.cpus[0]
                for cache in topology.caches
                if cache.level == level and core.cpus[0] in cache.cpus
            ),
            default=-1,
        )
        for level in (3, 2)
    ]
    return (core.package, *shared)


def _near_order(topology: Topology) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return (group keys, usable CPUs) of each core, neighbours beside each other, P first."""
    cores = [core for core in topology.cores if usable(core, topology)]
    cores.sort(key=lambda core: (core.rank, _group_keys(topology, core), core.cpus))
    return [(_group_keys(topology, core), usable(core, topology)) for core in cores]


def _compact(topology: Topology, _threads: int) -> tuple[int, ...]:
    return tuple(cpu for _, cpus in _near_order(topology) for cpu in cpus)


def _spread(topology: Topology, _threads: int) -> tuple[int, ...]:
    """Take packages in turn, in each its L3 groups in turn, then L2 groups; siblings last."""
    cores = _near_order(topology)
    return _siblings_last(_in_turn(cores, 0))


def _in_turn(
    cores: list[tuple[tuple[int, ...], tuple[int, ...]]], level: int
) -> list[tuple[int, ...]]:
    if not cores or level == len(cores[0][0]):
        return [cpus for _, cpus in cores]
    groups: dict[int, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for keys, cpus in cores:
        groups.setdefault(keys[level], []).append((keys, cpus))
    rounds = zip_longest(*(_in_turn(group, level + 1) for group in groups.values()))
    return [cpus for one_each in rounds for cpus in one_each if cpus is not None]


_KIND_OF_SELECTION = {
    "pcores": "P",
    "ecores": "E",
    "lpecores": "LP-E",
    "pcpus": "P",
    "ecpus": "E",
    "lpecpus": "LP-E",
}
_SELECT: dict[str, Callable[[Topology, int], tuple[int, ...]]] = {
    "all": lambda topology, _threads: topology.allowed,
    "pcores": _one_per_core("P"),
    "ecores": _one_per_core("E"),
    "lpecores": _one_per_core("LP-E"),
    "pcpus": _every_cpu("P"),
    "ecpus": _every_cpu("E"),
    "lpecpus": _every_cpu("LP-E"),
    "mixed": _mixed,
    "cores": _cores,
    "half-clusters": _half_clusters,
    "compact": _compact,
    "spread": _spread,
    **PAIR_SELECTIONS,
}


def describe(mapping: Mapping, topology: Topology) -> tuple[str, str]:
    """Return the CPUs from which the mapping chooses, as a list, or the reason why there are none.

    Exactly one of the two texts is empty.
    """
    try:
        return format_cpulist(_candidates(mapping, topology, 1)), ""
    except CannotMapError as reason:
        return "", str(reason)
