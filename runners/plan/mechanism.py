"""Chooses the mechanism that binds threads, for a mapping and a program's build."""

from __future__ import annotations

from collections.abc import Iterable

from base.cpulist import format_cpulist
from configs.app import App
from configs.mapping import EXPRESSED_BY, PINS_ONE_THREAD, Mapping
from runners.host.software import for_tools
from runners.node.topology import Topology
from runners.plan.selection import CannotMapError


def choose_mechanism(mapping: Mapping, app: App, runtime: str, threads: int) -> str | None:
    """Return the mechanism of a mapping for a build of the app with this OpenMP runtime.

    A mechanism that the mapping names is kept or refused. Otherwise the best one that can express
    the mapping is chosen. For `pin`, taskset pins a program with one thread and no OpenMP or an
    unknown runtime (`other`). Without OpenMP several threads are pinned by the program itself; with
    an unknown runtime the mapping must name a mechanism. Raises CannotMapError with the reason.
    """
    able = EXPRESSED_BY[mapping.binding]
    if mapping.mechanism is None:
        without_openmp = runtime in ("none", "pthreads")
        if mapping.binding == "pin" and threads == 1 and (without_openmp or runtime == "other"):
            return "taskset"
        if mapping.binding == "pin" and without_openmp:
            return _checked("program", app, runtime)
        if mapping.binding == "pin" and runtime == "other":
            raise CannotMapError(
                "a program of `runtime: other` need not read OMP_PLACES; say libgomp or libomp if "
                "it does, or give the mapping a mechanism: omp-places or likwid-pin"
            )
        return able[0] if able else None
    if mapping.mechanism not in able:
        raise CannotMapError(f"{mapping.mechanism} cannot express {mapping.binding}")
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
    if mapping.binding == "pin" and mechanism in PINS_ONE_THREAD and threads > 1:
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

    OMP_PLACES and a program's own pinning are combined with taskset.
    """
    return "taskset" if mechanism in ("omp-places", "program") else mechanism
