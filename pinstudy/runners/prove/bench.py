"""The bench: executes work of a known amount around which a study's collectors measure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Reading
from pinstudy.base.text import one_line
from pinstudy.configs.app import App, Build, Size
from pinstudy.configs.mapping import Mapping as Placed
from pinstudy.configs.site import Site
from pinstudy.configs.study import CURRENT_GOVERNOR, Study
from pinstudy.runners.execution.collectors import Collectors, LocalEngine
from pinstudy.runners.execution.execute import Observation, execute
from pinstudy.runners.execution.outcome import expected_of, failure_of, proof_of
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.host.software import WITNESS, find_program, find_tools, for_programs
from pinstudy.runners.measure.conditions.temperature import Thermometer
from pinstudy.runners.measure.meter import Meter
from pinstudy.runners.measure.perf.events import perf_command
from pinstudy.runners.node.node import Node
from pinstudy.runners.placement.thread_placement import Proof
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import build_launch
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.selection import usable

PROGRAM = "yardstick"
RUNTIMES = ("pthreads", "libgomp", "libomp")
# Far longer than any of its works takes, also in an emulated guest.
LIMIT_S = 300.0

_NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,9})?)"
# What the program prints (apps/yardstick/main.cpp), by the name under which it is read.
_PRINTED = {
    "additions": rf"^Additions: {_NUMBER}$",
    "instructions": rf"^Instructions: {_NUMBER}$",
    "adding_s": rf"^Adding: {_NUMBER} s",
    "first_s": rf"^First CPU [0-9]+: {_NUMBER} s",
    "last_s": rf"^Last CPU [0-9]+: {_NUMBER} s",
    "first_additions": rf"^First CPU .*, {_NUMBER} additions$",
    "last_additions": rf"^Last CPU .*, {_NUMBER} additions$",
    "moves": rf"^Moves: {_NUMBER}$",
    "sleeps": rf"^Sleeps: {_NUMBER}$",
    "left": rf"^Left the CPU: {_NUMBER} times$",
    "reads": rf"^Reads: {_NUMBER}$",
    "elapsed_s": rf"^Elapsed: {_NUMBER} s$",
    "emulated": rf"^Emulated: {_NUMBER}$",
}


UNPROVED = Proof("unproved", "nothing was run")


@dataclass(frozen=True)
class Task:
    """Work for the program, and where its threads are: `cpus` are those of the mask.

    With `binding` pin each thread has the CPU of its number; one thread is pinned by its mask.
    `events` are counted instead of a study's usual ones.
    """

    words: tuple[str, ...]
    cpus: tuple[int, ...]
    threads: int = 1
    binding: str = "pin"
    mechanism: str | None = "taskset"
    runtime: str = "pthreads"
    events: str = ""


@dataclass(frozen=True)
class Seen:
    """What was measured around one execution.

    `fields` and `unavailable` are those of a record, `printed` what the program said of its work.
    `problem` is why there is nothing to judge; empty after a good run. `emulated` is whether its
    CPU was emulated, where it tells.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[str, float] = field(default_factory=dict)
    proof: Proof = UNPROVED
    problem: str = ""
    emulated: bool = False

    def why_without(self, name: str) -> str:
        """Return why a field is absent; empty where it is there."""
        if self.problem or name in self.fields:
            return self.problem
        return self.unavailable.get(name, f"{name} was not measured")


class Bench:
    """Executes tasks on this machine under a study's collectors; its node's lock is held."""

    def __init__(self, node: Node, site: Site | None = None) -> None:
        """Raises StudyError when a program that is needed is not built."""
        self.node, self.site = node, site
        self.tools = find_tools()
        self._programs = {
            runtime: path
            for runtime in RUNTIMES
            if (path := find_program(f"{PROGRAM}-{runtime}")) is not None
        }
        witness = find_program(WITNESS)
        if "pthreads" not in self._programs or witness is None:
            lacking = WITNESS if witness is None else f"{PROGRAM}-pthreads"
            raise StudyError(f"{lacking} is not built; {for_programs().sentence}")
        builds = {name: Build(name, f"{PROGRAM}-{name}", name) for name in RUNTIMES}
        self._app = App(PROGRAM, "work of a known amount", builds, {}, limit_s=LIMIT_S)
        named = {f"{PROGRAM}-{name}": path for name, path in self._programs.items()}
        self.collectors = Collectors(
            Study("prove", "the instruments of this node", (), 1, ""),
            node,
            witness,
            named,
            self.tools,
            site,
        )
        self._engine = LocalEngine(self.collectors)
        self._environment = dict(os.environ)

    @property
    def first_cpus(self) -> tuple[int, ...]:
        """The first allowed CPU of each core that has one."""
        topology = self.node.topology
        return tuple(cpus[0] for core in topology.cores if (cpus := usable(core, topology)))

    @property
    def has_sensors(self) -> bool:
        """Whether the node's packages have temperatures."""
        return bool(Thermometer(self.node.tree, self.node.topology).sensors)

    def has(self, runtime: str) -> bool:
        """Whether the program was built with this runtime."""
        return runtime in self._programs

    def run(self, task: Task, *meters: Meter, without: Sequence[str] = ()) -> Seen:
        """Execute a task once; `meters` measure beside the study's own.

        The variables `without` are taken out of the program's environment, so that it cannot do
        what its mapping asks.
        """
        case = self._case(task)
        program = self._programs[task.runtime]
        launch = build_launch(case, program, self._environment, self.tools)
        kept = {name: value for name, value in launch.environment.items() if name not in without}
        try:
            observed = self._execute(case, replace(launch, environment=kept), task.events, meters)
        except LaunchError as error:
            return Seen(problem=str(error))
        if failed := failure_of(case, observed):
            said = one_line(observed.stderr)
            return Seen(problem=f"{program.name} {failed[1]}" + (f": {said}" if said else ""))
        reading = reduce(or_, self._engine.measured(case, observed), Reading())
        proof = proof_of(observed, expected_of(case), reading.fields)
        printed = read_printed(observed.stdout)
        emulated = "emulated" in printed or self.node.facts.get("node") == "virtual"
        return Seen(reading.fields, reading.unavailable, printed, proof, emulated=emulated)

    def _execute(
        self, case: Case, launch: Launch, events: str, meters: Sequence[Meter]
    ) -> Observation:
        around = self.collectors.meters_around(*meters)
        harness = replace(self.collectors.harness, meters=around)
        if events and harness.perf_command:
            harness = replace(harness, perf_command=perf_command(self.collectors.perf, events))
        return execute(launch, LIMIT_S, harness, cpus=case.mask)

    def _case(self, task: Task) -> Case:
        selection = "all" if task.binding == "none" else "cores"
        mapping = Placed(f"CPUs {format_cpulist(sorted(set(task.cpus)))}", selection, task.binding)
        return Case(
            table=1,
            number=1,
            app=self._app,
            build=self._app.builds[task.runtime],
            size=Size(task.words[0], task.words),
            threads=task.threads,
            mapping=mapping,
            mechanism=task.mechanism,
            cpus=task.cpus,
            governor=CURRENT_GOVERNOR,
            schedule="static",
            wait_policy="passive",
        )


def read_printed(text: str) -> dict[str, float]:
    """Return the numbers that the program printed, by name."""
    found = {
        name: re.search(pattern, text, re.MULTILINE | re.ASCII)
        for name, pattern in _PRINTED.items()
    }
    return {name: float(match[1]) for name, match in found.items() if match}
