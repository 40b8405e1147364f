"""A case: one row of a table, bound to this node, with everything that defines it.

An engine is where its program runs, and what is different there: here the node itself, others in
pinstudy/runners/plan/engines. A case has one, and what an engine answers depends on the case.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.files import digest_of
from pinstudy.base.text import team_in_words, team_label
from pinstudy.configs.app import App, Build, Size
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.settings import AS_IT_IS, Settings
from pinstudy.configs.study import AppChoice, Study
from pinstudy.configs.variables import OMP_NUM_THREADS, SetVariable
from pinstudy.runners.host.software import for_programs
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.launch import Launch, TeamLaunch
from pinstudy.runners.plan.selection import resolve_cpus


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


@dataclass(frozen=True)
class Case:
    """App x build x size x threads x mapping x governor x settings x schedule, on this node.

    `table` counts the study's tables from 1 and `number` the rows within a table, both before
    anything is left out, so that #7 means the same on every node. `cpus` are in the order in which
    pinned threads take them; a CPU that two threads share occurs twice. `engine` is
    where the case runs, and `cpus` are those that programs have there. `variables` are those that
    the study's files set. `places` are those that the mapping's name of places means here;
    `resources` is what a runtime that counts cores is asked for, such as `4c:intel_core`.

    `regions` are those of the program's that are measured one by one. `co_runner` is the case of
    the co-runner as it is when it runs alone; None where nothing runs beside the program.
    """

    table: int
    number: int
    app: App
    build: Build
    size: Size
    threads: int
    mapping: Mapping
    mechanism: str | None
    cpus: tuple[int, ...]
    governor: str
    schedule: str
    wait_policy: str
    engine: Engine = ON_NODE
    variables: tuple[SetVariable, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    resources: str = ""
    regions: tuple[str, ...] = ()
    co_runner: Case | None = None
    settings: Settings = AS_IT_IS

    @property
    def threads_by(self) -> tuple[str, ...]:
        """The variables that tell the program its thread count, or what else does."""
        return self.build.threads_by or self.app.threads_by or (OMP_NUM_THREADS,)

    @property
    def takes_schedule(self) -> bool:
        """Whether the program has loops that take the schedule of OMP_SCHEDULE."""
        return bool(self.app.schedules) and self.build.runtime not in ("none", "pthreads")

    @property
    def all_threads(self) -> int:
        """The threads of all processes."""
        return self.engine.processes * self.threads

    @property
    def teams(self) -> tuple[Case, ...]:
        """The case as each process of the program has it, with its own team of threads."""
        return self.engine.teams(self)

    @property
    def host_cpus(self) -> tuple[int, ...]:
        """The CPUs of this node that the case uses, in the order of use."""
        return self.engine.host_cpus(self)

    @property
    def host_mask(self) -> tuple[int, ...]:
        """The CPUs of this node that the case uses, ascending."""
        return tuple(sorted(set(self.host_cpus)))

    @property
    def all_cpus(self) -> tuple[int, ...]:
        """The CPUs of this node that the case and its co-runner use, in the order of use."""
        both = self.host_cpus + (self.co_runner.host_cpus if self.co_runner else ())
        return tuple(dict.fromkeys(both)) if self.co_runner else both

    @property
    def shared_cpus(self) -> tuple[int, ...]:
        """The CPUs of this node that both the case and its co-runner use, ascending."""
        theirs = self.co_runner.host_cpus if self.co_runner else ()
        return tuple(sorted(set(self.host_cpus).intersection(theirs)))

    @property
    def mask(self) -> tuple[int, ...]:
        """The CPUs sorted: each thread's mask under `none` and `set`, their union under `pin`."""
        return tuple(sorted(set(self.cpus)))

    @cached_property
    def case_id(self) -> str:
        """A stable digest of what defines the case: 16 hexadecimal digits of a SHA-256."""
        fields = case_fields(self) | {"arguments": list(self.size.arguments)}
        # Cases without these keep their numbers of before the keys were known.
        if self.variables:
            fields["variables"] = {set_.name: set_.value for set_ in self.variables}
        if self.threads_by != (OMP_NUM_THREADS,):
            fields["threads_by"] = sorted(self.threads_by)
        if self.mapping.places:
            fields["places"] = self.mapping.places
        return digest_of(fields)

    @property
    def label(self) -> str:
        """A short name for progress lines and messages."""
        team, where = self.engine.team_label(self.threads), self.engine.label
        beside = f" beside {self.co_runner.program_label}" if self.co_runner else ""
        under = f", {words}" if (words := self.settings.words) else ""
        return (
            f"{self.build_label} {team} {where}{self.mapping.name} {self.governor}{under}{beside}"
        )

    @property
    def build_label(self) -> str:
        """A short name of the build and its size."""
        return f"{self.app.name}-{self.build.name} {self.size.name}"

    @property
    def program_label(self) -> str:
        """The name that the case has as a co-runner."""
        team = self.engine.team_label(self.threads)
        return f"{self.build_label} {team} {self.mapping.name}"


@dataclass(frozen=True)
class SkippedCase:
    """A case that this node cannot run, and why."""

    case: Case
    reason: str

    @property
    def case_id(self) -> str:
        """A stable digest of the fields; without the size's arguments, unlike a case's own."""
        return digest_of(case_fields(self.case))


def case_fields(case: Case) -> dict[str, object]:
    """Return the fields that say which case a record belongs to (the record's group `case`)."""
    fields: dict[str, object] = {
        "app": case.app.name,
        "build": case.build.name,
        "size": case.size.name,
        "threads": case.threads,
        "mapping": case.mapping.name,
        "selection": case.mapping.selection,
        "binding": case.mapping.binding,
        "mechanism": case.mechanism,
        "cpus": format_cpulist(case.cpus),
        "governor": case.governor,
        "schedule": case.schedule,
        "wait_policy": case.wait_policy,
        **({case.engine.group: case.engine.facts(case)} if case.engine.group else {}),
    }
    if asked := case.settings.asked:
        fields["settings"] = asked
    if case.co_runner:
        fields |= {
            "co_runner": case.co_runner.program_label,
            "co_runner_cpus": format_cpulist(case.co_runner.cpus),
            "co_runner_alone": case.co_runner.case_id,
        }
    return fields


def loop_fields(case: Case) -> dict[str, object]:
    """Return `no_schedule` for a program whose loops take none; it is no part of the identity."""
    return {} if case.takes_schedule else {"no_schedule": True}
