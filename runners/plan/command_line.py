"""From a case to the command line and environment that run it. Pure.

A run's OpenMP environment is built from nothing: what the user's shell, a module system or a
batch system left behind would else decide the placement. Wait policy and loop schedule are always
set, because their defaults differ between runtimes, versions and even CPUs (libgomp from GCC 14 on
and libomp spin not at all on hybrid CPUs, and long elsewhere).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from base.cpulist import format_cpulist
from runners.plan.case import Case

REMOVED_PREFIXES = ("OMP_", "KMP_", "GOMP_", "LIKWID_")
# What is inherited and left alone, because a program may need it, but decides how it runs: the
# loader's and the allocator's variables (ld.so(8), mallopt(3)), and libraries' with threads.
TELLING_PREFIXES = ("LD_", "GLIBC_TUNABLES", "MALLOC_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_")
MAX_CHARACTERS = 500
# Where a program has no loop with schedule(runtime) the value has no effect; it is set anyway.
FALLBACK_SCHEDULE = "static"


@dataclass(frozen=True)
class Launch:
    """How a case is started: `launcher` stands outside the measured window, before the program.

    `set_variables` and `removed_variables` are the difference to the environment that was
    inherited, `environment` is the whole of it.
    """

    launcher: tuple[str, ...]
    program: tuple[str, ...]
    environment: dict[str, str]
    set_variables: dict[str, str]
    removed_variables: tuple[str, ...]

    @property
    def command(self) -> tuple[str, ...]:
        """Launcher and program, as one would type them to do the same by hand."""
        return self.launcher + self.program

    @property
    def told_variables(self) -> dict[str, str]:
        """Inherited variables that were left and decide how the program runs; long ones cut."""
        return {
            name: value[:MAX_CHARACTERS]
            for name, value in sorted(self.environment.items())
            if name.startswith(TELLING_PREFIXES) and name not in self.set_variables
        }

    @property
    def shell_line(self) -> str:
        """The command with its variables, ready to be pasted into a shell."""
        unset = [part for name in self.removed_variables for part in ("-u", name)]
        variables = [f"{name}={value}" for name, value in self.set_variables.items()]
        return shlex.join(["env", *unset, *variables, *self.command])


def build_launch(
    case: Case, program: Path, inherited: Mapping[str, str], tools: Mapping[str, str]
) -> Launch:
    """Return the launch line of a case; `tools` maps a launcher's name to its path."""
    removed = tuple(sorted(name for name in inherited if name.startswith(REMOVED_PREFIXES)))
    variables = openmp_variables(case)
    kept = {name: value for name, value in inherited.items() if name not in removed}
    return Launch(
        launcher=launcher_of(case, tools),
        program=(str(program), *program_arguments(case)),
        environment=kept | variables,
        set_variables=variables,
        removed_variables=removed,
    )


def program_arguments(case: Case) -> list[str]:
    """Return the program's arguments; the item `{size}` becomes the arguments of the size.

    Last come those that tell it where its threads are to be, if they are pinned and it can be told.
    """
    arguments: list[str] = []
    for argument in case.app.arguments:
        if argument == "{size}":
            arguments.extend(case.size.arguments)
        else:
            arguments.append(argument.replace("{threads}", str(case.threads)))
    return arguments + _placement_arguments(case)


def _placement_arguments(case: Case) -> list[str]:
    own = case.app.placement
    if own is None or case.mapping.binding != "pin":
        return []
    wanted = own.pin if case.mechanism == "program" else own.expect
    cpus = ",".join(map(str, case.cpus))
    return [argument.replace("{cpus}", cpus) for argument in wanted]


def openmp_variables(case: Case) -> dict[str, str]:
    """Return what is set in the program's environment; nothing else of OpenMP's is.

    OMP_PROC_BIND is absent unless threads are pinned by places: libomp 14 binds threads even under
    OMP_PROC_BIND=false as soon as there are places.
    """
    variables = {
        "LC_ALL": "C",
        "OMP_NUM_THREADS": str(case.threads),
        "OMP_DYNAMIC": "false",
        "OMP_SCHEDULE": case.schedule,
    }
    if case.wait_policy != "runtime-default":
        variables["OMP_WAIT_POLICY"] = case.wait_policy
    if case.mechanism == "omp-places":
        variables["OMP_PLACES"] = places_of(case.mapping.binding, case.cpus)
        variables["OMP_PROC_BIND"] = "close"
    return variables


def places_of(binding: str, cpus: Iterable[int]) -> str:
    """Return OMP_PLACES: one place a CPU under `pin`, one place of all CPUs under `set`.

    Abstract names such as `cores` give different maps in libgomp and libomp on hybrid nodes.
    """
    if binding == "set":
        return "{" + ",".join(map(str, sorted(set(cpus)))) + "}"
    return ",".join(f"{{{cpu}}}" for cpu in cpus)


def launcher_of(case: Case, tools: Mapping[str, str]) -> tuple[str, ...]:
    """Return what stands before the program.

    Places, and a program's own pinning, are combined with taskset on the same CPUs: the program's
    start and its serial phases belong to the selection too. likwid-pin pins when threads are
    created and leaves the main thread anywhere before (5.2, with two threads or more), so it is
    combined with taskset as well; taskset comes after it, since likwid-pin takes CPU numbers as
    logical ones inside a restricted set. `-s 0x0` says that no thread is to be skipped, which its
    detection gets wrong where libgomp has no symbols (likwid issue 750).
    """
    cpus = format_cpulist(case.mask)
    if case.mechanism in ("taskset", "omp-places", "program"):
        return (tools["taskset"], "-c", cpus)
    if case.mechanism == "numactl":
        return (tools["numactl"], f"--physcpubind={cpus}", "--")
    if case.mechanism == "likwid-pin":
        ordered = ",".join(map(str, case.cpus))
        by_mask = (tools["taskset"], "-c", cpus) if "taskset" in tools else ()
        return (tools["likwid-pin"], "-q", "-s", "0x0", "-c", ordered, *by_mask)
    return ()
