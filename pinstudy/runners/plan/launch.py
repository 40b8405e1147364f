"""A launch: launcher, command line and environment of a case, as runs and records have them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from pinstudy.configs.inherited_variables import RECORDED_PREFIXES
from pinstudy.runners.plan.mpi import started_ranks

MAX_CHARACTERS = 500


@dataclass(frozen=True)
class TeamLaunch:
    """How a team is started: what precedes its program, outside the measured window."""

    launcher: tuple[str, ...]
    program: tuple[str, ...]


@dataclass(frozen=True)
class Launch:
    """How a case is started: `launcher` precedes the program, outside the measured window.

    `environment` is the whole environment; `set_variables` and `removed_variables` are its
    differences from the inherited one. With `mpi`, the launcher precedes `ranks`, each with its own
    words, and `program` is that of the first. `co_runner` starts the co-runner, if there is one.
    `writes` is the pattern of the files with its results, if the program writes some: it then works
    in a folder of its own.
    """

    launcher: tuple[str, ...]
    program: tuple[str, ...]
    environment: dict[str, str]
    set_variables: dict[str, str]
    removed_variables: tuple[str, ...]
    mpi: str = ""
    ranks: tuple[TeamLaunch, ...] = ()
    co_runner: Launch | None = None
    writes: str | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """Launcher and program, as one would type them to do the same by hand."""
        if self.mpi:
            ranks = [rank.launcher + rank.program for rank in self.ranks]
            return started_ranks(self.mpi, self.launcher, ranks)
        return self.launcher + self.program

    @property
    def recorded_variables(self) -> dict[str, str]:
        """Inherited variables that were kept and affect the run; long values are cut."""
        return {
            name: value[:MAX_CHARACTERS]
            for name, value in sorted(self.environment.items())
            if name.startswith(RECORDED_PREFIXES) and name not in self.set_variables
        }

    @property
    def shell_line(self) -> str:
        """The command with its variables, ready to be pasted into a shell."""
        unset = [part for name in self.removed_variables for part in ("-u", name)]
        variables = [f"{name}={value}" for name, value in self.set_variables.items()]
        return shlex.join(["env", *unset, *variables, *self.command])
