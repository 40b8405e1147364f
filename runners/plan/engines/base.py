"""What every engine answers: where a case's program runs, and what is different there. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from base.text import team_in_words, team_label
from configs.study import AppChoice, Study
from runners.host.software import for_programs
from runners.node.topology import Topology
from runners.plan.selection import resolve_cpus

if TYPE_CHECKING:
    # A case has an engine, and an engine's answers depend on the case.
    from runners.plan.case import Case
    from runners.plan.command_line import Launch, TeamLaunch


@dataclass(frozen=True)
class Engine:
    """Where programs run: this one is the node itself, and every other overrides what differs.

    `group` names its fields in a record. `inside` begins the reasons why a case cannot be mapped
    there. `runs_checks` is whether an app's check command is run, `by_mpi` whether MPI starts
    the processes, and threads of its own in them.
    """

    group: ClassVar[str] = ""
    inside: ClassVar[str] = ""
    runs_checks: ClassVar[bool] = True
    by_mpi: ClassVar[bool] = False

    @classmethod
    def tables(cls, study: Study, choice: AppChoice, *, emulated: bool) -> list[tuple[Engine, ...]]:
        """Return the engines of an app's tables, each with the engines of its rows.

        There are none where the study does not ask for this engine.
        """
        return [(cls(),)]

    @classmethod
    def outlook(cls, study: Study, boots: int, *, live: bool, without_kvm: str) -> list[str]:
        """Return in lines what the study's runs need before they can be made."""
        return []

    @property
    def processes(self) -> int:
        """How many processes of the program there are, each with a team of threads."""
        return 1

    @property
    def boot(self) -> str:
        """The name of what is booted for the case and others; empty where nothing is."""
        return ""

    @property
    def label(self) -> str:
        """What a case's label says before its mapping."""
        return ""

    @property
    def lacks(self) -> Table[str, str]:
        """What is not measured there, and why."""
        return {}

    def team_in_words(self, threads: int) -> str:
        """Return what runs at a time: `4 threads`."""
        return team_in_words(None, threads)

    def team_label(self, threads: int) -> str:
        """Return the same in short: `x4`."""
        return team_label(None, threads)

    def prepared(self, node: Topology) -> tuple[Engine, str | None]:
        """Return the engine on this node, and the reason if it cannot be had there."""
        return self, None

    def topology(self, node: Topology) -> Topology:
        """Return the CPUs that programs have there."""
        return node

    def mapped(self, case: Case, topology: Topology, *, oversubscribe: bool) -> Case:
        """Return the case with its CPUs; raises CannotMapError."""
        cpus = resolve_cpus(case.mapping, topology, case.threads, oversubscribe=oversubscribe)
        return replace(case, cpus=cpus)

    def teams(self, case: Case) -> tuple[Case, ...]:
        """Return the case as each of its processes has it."""
        return (case,)

    def host_cpus(self, case: Case) -> tuple[int, ...]:
        """Return the CPUs of this node that the case uses, in the order of use."""
        return case.cpus

    def tools(self, case: Case) -> tuple[str, ...]:
        """Return the names of the tools that start the case's processes."""
        return ()

    def problem(self, case: Case, tools: Iterable[str]) -> str | None:
        """Return why the case cannot be started with these tools, or None."""
        return None

    def starting_problem(self, case: Case, environment: Table[str, str]) -> str:
        """Return why root cannot start the case in this environment; empty where it can."""
        return ""

    def launch(
        self, case: Case, launch: Launch, teams: tuple[TeamLaunch, ...], tools: Table[str, str]
    ) -> Launch:
        """Return the launch of all processes; `launch` is that of the first team, of `teams`."""
        return launch

    def obtained(self, command: str) -> str:
        """Return how to get a program that this command fetches."""
        return f"get it with `{command}`"

    def built(self) -> str:
        """Return how to get a program of our own."""
        return for_programs().sentence

    def facts(self, case: Case) -> dict[str, Any]:
        """Return what the record's group `group` has of the case."""
        return {}


ON_NODE = Engine()
