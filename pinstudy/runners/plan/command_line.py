"""How a case is started: its mechanism, launcher, command line, environment. Pure.

What a case asks of OpenMP is set anew: otherwise variables of the user's shell, a module system or
a batch system would decide the placement. Their other variables are passed on
(pinstudy/runners/plan/openmp_variables.py). The loop schedule is always set, the wait policy unless
it is `runtime-default`, because their defaults differ between runtimes, versions and even CPUs
(libgomp from GCC 14 on and libomp do not spin on hybrid CPUs, and spin long elsewhere).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pinstudy.configs.app import SIZE_PLACE, THREADS_PLACE, in_order
from pinstudy.configs.mapping import BINDINGS, listed_places, places_of
from pinstudy.configs.study import RUNTIME_DEFAULT
from pinstudy.configs.variables import BY_AFFINITY, OMP_NUM_THREADS, counting, filled, nested_counts
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch, TeamLaunch
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.plan.mechanisms.base import WITHOUT_OPENMP
from pinstudy.runners.plan.mpi import VARIABLES, is_outer
from pinstudy.runners.plan.openmp_variables import WAITING, is_removed
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


def build_launch(
    case: Case, program: Path, inherited: Mapping[str, str], tools: Mapping[str, str]
) -> Launch:
    """Return the launch line of a case; `tools` maps a launcher's name to its path."""
    removed = tuple(
        name
        for name in sorted(inherited)
        if is_removed(name, case.wait_policy) or is_outer(name, case.build.mpi)
    )
    kept = {name: value for name, value in inherited.items() if name not in removed}
    variables, own = _shared(openmp_variables(team) | file_variables(team) for team in case.teams)
    if OMP_NUM_THREADS in variables:
        variables[OMP_NUM_THREADS] += nested_counts(inherited.get(OMP_NUM_THREADS, ""))
    mechanism = mechanism_of(case.mechanism)
    teams = tuple(
        TeamLaunch(
            (*(("env", *own_words) if own_words else ()), *mechanism.words(team, tools)),
            (str(program), *program_arguments(team)),
        )
        for team, own_words in zip(case.teams, own, strict=True)
    )
    launch = Launch(
        teams[0].launcher,
        teams[0].program,
        kept | variables,
        variables,
        removed,
        writes=case.app.writes,
    )
    return case.engine.launch(case, launch, teams, tools)


def _shared(variables: Iterable[Mapping[str, str]]) -> tuple[dict[str, str], list[tuple[str, ...]]]:
    """Separate the variables that all teams share from the words that set each team's own."""
    of_teams = list(variables)
    shared = dict(
        set(of_teams[0].items()).intersection(*(variables.items() for variables in of_teams))
    )
    ordered = {name: shared[name] for name in of_teams[0] if name in shared}
    own = [
        tuple(f"{name}={value}" for name, value in variables.items() if name not in shared)
        for variables in of_teams
    ]
    return ordered, own


def program_arguments(case: Case) -> list[str]:
    """Return the program's arguments; the item `{size}` becomes the arguments of the size.

    The app's placement arguments come last, if it has any and each thread has a CPU of its own.
    """
    arguments: list[str] = []
    for argument in case.app.arguments:
        if argument == SIZE_PLACE:
            arguments.extend(case.size.arguments)
        else:
            arguments.append(argument.replace(THREADS_PLACE, str(case.threads)))
    if case.mapping.binding == "pin":
        cpus = ",".join(map(str, case.cpus))
        own = mechanism_of(case.mechanism).arguments(case)
        arguments += [argument.replace("{cpus}", cpus) for argument in own]
    return arguments


def openmp_variables(case: Case) -> dict[str, str]:
    """Return the variables that pinstudy itself sets, whatever the shell has."""
    # To libgomp both modifiers are the same, and its releases before GCC 9 know neither.
    libomp = case.build.runtime == "libomp"
    variables = {
        "LC_ALL": "C",
        **dict.fromkeys(counting(case.threads_by), str(case.threads)),
        "OMP_DYNAMIC": "false",
        "OMP_SCHEDULE": in_order(case.schedule) if libomp else case.schedule,
    }
    if case.build.mpi:
        variables |= VARIABLES
    if case.wait_policy != RUNTIME_DEFAULT:
        variables[WAITING] = case.wait_policy
    return variables | mechanism_of(case.mechanism).variables(case)


def file_variables(case: Case) -> dict[str, str]:
    """Return the variables that the study's files set, their places filled."""
    places = {
        "threads": str(case.threads),
        "cpus": ",".join(map(str, case.cpus)),
        "places": listed_places(case.places) or places_of(case.mapping.binding, case.cpus),
    }
    return {set_.name: filled(set_.value, places) for set_ in case.variables}
