"""The command lines that start the ranks of an MPI program. Pure.

Each rank has words of its own before the program (its CPUs, its places). mpirun and mpiexec take
them as parts of one line, separated by colons (MPI 4.0, section 11.5, "Portable MPI Process
Startup"); srun takes them from a file (srun(1), MULTIPLE PROGRAM CONFIGURATION).

The launcher itself is told to bind nothing: Open MPI and Slurm bind ranks by default, and would
decide the placement in place of the mapping.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from pinstudy.base.errors import UserError
from pinstudy.base.text import shown

Words = tuple[str, ...]

# The launcher's own words. Open MPI counts cores as slots, and starts no more ranks than these
# unless it is told to; a plan has counted the CPUs already. Hydra would start ranks by srun inside
# of a Slurm job. In a job of `sbatch --export=NONE`, srun itself passes on no variable of a case.
_OPTIONS = {
    "openmpi": ("--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE"),
    "mpich": ("-bind-to", "none", "-launcher", "fork"),
    "srun": ("--cpu-bind=none", "--overlap", "--export=ALL"),
}
# Open MPI loads hwloc in every rank. Its part for x86 moves the main thread from CPU to CPU, over
# those of other ranks too, to ask each by the CPUID instruction.
VARIABLES = {"HWLOC_COMPONENTS": "-x86"}
# The number of a rank, as launchers name it. The witness of a rank reads the first that is there.
_RANK_NUMBERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
# How many CPUs srun gives each rank: that of the job, for every rank, is more than the job has.
_CPUS_OF_A_RANK = ("SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK", "SLURM_TRES_PER_TASK")
# What means something else in the file of commands: how quotes within quotes are written differs
# between Slurm's versions, and %t and %o are numbers of the rank (slurmstepd/multi_prog.c).
_CHANGED_BY_SRUN = re.compile(r"""[^\S ]|["'\\#]|%[to]""", re.ASCII)
# Open MPI does not start as root without both of these (its mpirun says so).
ROOT_VARIABLES = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


def is_outer(name: str, mpi: str | None) -> bool:
    """Whether a variable tells of the job or step that pinstudy is in, and would mislead `mpi`."""
    return bool(mpi) and (name in _RANK_NUMBERS or (mpi == "srun" and name in _CPUS_OF_A_RANK))


def mpi_launcher(mpi: str, tool: str) -> Words:
    """Return the launcher and its options, which precede the ranks."""
    return (tool, *_OPTIONS[mpi])


def started_ranks(mpi: str, launcher: Words, ranks: Sequence[Words], file: str = "") -> Words:
    """Return the command that starts a rank by each of these commands.

    For ranks that srun starts by different commands, `file` has the path of the file that lists
    them (`multiple_programs`); without one the command has them in a script, to be typed.
    """
    if needs_file(mpi, ranks):
        by_rank = ("--multi-prog", file) if file else ("sh", "-c", _script(ranks))
        return (*launcher, "-n", str(len(ranks)), *by_rank)
    words: list[str] = []
    for command, same in groupby(ranks):
        words += [":"] if words else []
        words += ["-n", str(len(list(same))), *command]
    return (*launcher, *words)


def needs_file(mpi: str, ranks: Iterable[Words]) -> bool:
    """Whether the launcher takes these commands from a file, as srun does where they differ."""
    return mpi == "srun" and len(set(ranks)) > 1


def multiple_programs(ranks: Iterable[Words]) -> str:
    """Return the file in which srun finds the command of each rank.

    Raises UserError for a word that srun would change.
    """
    lines = (f"{rank} {_quoted(command)}\n" for rank, command in enumerate(ranks))
    return "".join(lines)


def _quoted(command: Words) -> str:
    for word in command:
        if changed := _CHANGED_BY_SRUN.search(word):
            raise UserError(
                f"{shown(word)}: srun would change {shown(changed[0])} in the file of the ranks' "
                "commands; write it without, or start the ranks by mpirun or mpiexec"
            )
    return " ".join(f'"{word}"' if " " in word or not word else word for word in command)


def _script(ranks: Sequence[Words]) -> str:
    cases = (f"{rank}) exec {shlex.join(command)};;" for rank, command in enumerate(ranks))
    return f"case $SLURM_PROCID in {' '.join(cases)} esac"


def root_problem(mpi: str, environment: Mapping[str, str]) -> str:
    """Return why the launcher does not start for root in this environment; empty where it does."""
    missing = [name for name in ROOT_VARIABLES if environment.get(name) != "1"]
    if mpi != "openmpi" or not missing:
        return ""
    values = " ".join(f"{name}=1" for name in ROOT_VARIABLES)
    return f"Open MPI starts no ranks as root; start as a user, or allow it with {values}"
