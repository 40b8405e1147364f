"""By what a case's threads are bound: the choice of a mechanism, and whether the node can. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pinstudy.configs.mapping import BINDINGS
from pinstudy.configs.variables import BY_AFFINITY
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.plan.mechanisms.base import WITHOUT_OPENMP
from pinstudy.runners.plan.selection import CannotMapError


def choose_mechanism(case: Case) -> str | None:
    """Return the mechanism of a case: the one that its mapping names, else the usual one.

    Raises CannotMapError with the reason when it cannot bind a program of this build.
    """
    binding, runtime = case.mapping.binding, case.build.runtime
    name = case.mapping.mechanism or _usual_mechanism(binding, runtime, case.threads)
    if reason := mechanism_of(name).refusal(case):
        raise CannotMapError(reason)
    return name


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


def check_mechanism(case: Case, topology: Topology, tools: Iterable[str]) -> None:
    """Raise CannotMapError when this node cannot bind or start the case; `tools` are launchers."""
    mechanism = mechanism_of(case.mechanism)
    if reason := mechanism.problem(topology, case):
        raise CannotMapError(reason)
    needed = mechanism.needs(case.mapping)
    if needed is not None and needed not in tools:
        raise CannotMapError(f"{needed} is not installed; {for_tools().sentence}")
    if reason := case.engine.problem(case, tools):
        raise CannotMapError(reason)
