"""A search: the request, and the candidates that will race for it, in words and as data.

Cases race under the governor in force, and under others that can be set. Making a
search reads the program's files and starts nothing. Its study is written once; a resumed search
keeps its candidates.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import format_cpulist, named_cpus
from pinstudy.base.errors import UserError
from pinstudy.base.files import write_atomically
from pinstudy.base.text import plural, word_as_typed
from pinstudy.base.units import duration
from pinstudy.configs.app import OPENMP_RUNTIMES, kind_of
from pinstudy.configs.library import display_path, list_mappings, load_study, read_study
from pinstudy.configs.repetitions import RACE_OF
from pinstudy.configs.settings import AS_IT_IS
from pinstudy.configs.study import CURRENT_GOVERNOR, WAIT_POLICIES, Study
from pinstudy.configs.variables import BY_AFFINITY, BY_ARGUMENTS, OMP_NUM_THREADS, counting
from pinstudy.runners.advise.candidates import (
    MAX_CANDIDATES,
    Field,
    Group,
    NodeContext,
    PlacedMapping,
    make_field,
)
from pinstudy.runners.advise.program import Program, inspect_program
from pinstudy.runners.advise.reference import Reference, reference_of, threads_by
from pinstudy.runners.advise.request import Request
from pinstudy.runners.advise.study_file import StudyFile, make_study_file, with_race
from pinstudy.runners.doctor.report import probe
from pinstudy.runners.node.cpufreq import Cpufreq
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.selection import END_ISOLATION
from pinstudy.runners.records.race.race import describe_limit
from pinstudy.runners.study.machine import Machine

# The schedules that race against the reference's, where loops take theirs from OMP_SCHEDULE.
SCHEDULES = ("dynamic", "guided", "static")

_OTHERWISE = {BY_ARGUMENTS: "its arguments alone", BY_AFFINITY: "how many CPUs it may use"}

# Returns why cases cannot run under a governor on these CPUs, None when they can.
GovernorProblem = Callable[[str, Sequence[int]], "str | None"]


@dataclass(frozen=True)
class Search:
    """A request, the program's properties, the candidates, and their study."""

    request: Request
    program: Program
    reference: Reference
    field: Field
    governors: GovernorChoice
    file: StudyFile

    @cached_property
    def study(self) -> Study:
        """The study as it is read from its file, with its race."""
        study = read_study(self.file.data, f"{self.file.name}.yaml")
        return with_race(study, self.file.rule)

    @property
    def size(self) -> int:
        """How many candidates there are, over all governors."""
        return self.field.size * len(self.governors.governors)

    def path(self, results: Path) -> Path:
        """Return the path of the study's file below the folder of all results."""
        return results / self.file.name / f"{self.file.name}.yaml"

    def facts(self) -> list[tuple[str, str]]:
        """Return the program's properties and the request, as pairs of name and line."""
        request = self.request
        lines = [("program", self.program.runtime_line), ("loops", self._schedules_line())]
        by = threads_by(self.program, request)
        told = counting(by)
        if told != (OMP_NUM_THREADS,):
            lines.append(("threads", f"told by {' and '.join(told) or _OTHERWISE[by[0]]}"))
        if line := self._waiting_line():
            lines.append(("waiting", line))
        if request.helpers:
            beside = "process" if request.helpers == 1 else "processes"
            lines.append(("helpers", f"{request.helpers} {beside} may work beside its team"))
        if request.variables:
            lines.append(("variables", shlex.join(map("=".join, request.variables))))
        lines += [("reference", line) for line in self.reference.lines]
        if request.governors is not None:
            first, *others = self.governors.governors
            lines.append(("governors", ", ".join([f"{first} (the reference)", *others])))
        lines.append(("objective", _objective(request)))
        if request.check_command:
            lines.append(("check", f"the command {request.check_command[0]}, after each run"))
        elif request.check_pattern is not None:
            lines.append(("check", f"stdout has a match of {word_as_typed(request.check_pattern)}"))
        if request.takes_threads:
            lines.append(("arguments", "{threads} stands for the thread count"))
        return lines

    def left_out(self) -> list[str]:
        """Return a line for each omission from the candidates, with its reason."""
        return [*self.field.left_out, *self.governors.left_out]

    def candidates(self) -> Iterator[tuple[Group, PlacedMapping, str]]:
        """Yield group, mapping and governor of each, in the order of the study."""
        for group in self.field.groups:
            for governor in self.governors.governors:
                for placed in group.placed:
                    yield group, placed, governor

    def rows(self) -> list[tuple[str, ...]]:
        """Return the candidates as rows of a table, the reference first."""
        several_schedules = len({group.schedule for group in self.field.groups}) > 1
        several_policies = len({group.wait_policy for group in self.field.groups}) > 1
        several_governors = len(self.governors.governors) > 1
        rows = []
        for number, (group, placed, governor) in enumerate(self.candidates(), 1):
            row = [f"#{number}", plural(group.threads, "thread"), placed.mapping.name]
            if several_schedules:
                row.append(group.schedule)
            if several_policies:
                row.append(f"waiting: {group.wait_policy}")
            if several_governors:
                row.append(governor)
            cpus = f"CPUs {format_cpulist(placed.cpus)}"
            rows.append((*row, f"{cpus}: the reference" if number == 1 else cpus))
        return rows

    def most(self) -> str:
        """Return in words the most runs and time that the race may take."""
        rule = self.file.rule
        runs = f"{describe_limit(rule, self.size)}, of {plural(self.size, 'candidate')}"
        within = (
            ""
            if rule.time_budget_s is None or rule.timed
            else f", within about {duration(rule.time_budget_s)}"
        )
        return f"{runs}{within}; the first run says how long one takes"

    def as_json(self) -> dict[str, Any]:
        """Return all that is known before the first run, as plain data."""
        return {
            "study": self.file.name,
            "program": str(self.program.path),
            "runtime": self.program.runtime,
            "loops": self.program.loops,
            "threads_by": list(threads_by(self.program, self.request)),
            "helpers": self.request.helpers,
            "objective": self.request.of,
            "better": "higher" if self.request.higher else "lower",
            "margin": self.request.margin,
            "time_budget_s": self.request.time_budget_s,
            "runs": self.request.runs,
            "candidates": [
                {
                    "threads": group.threads,
                    "schedule": group.schedule,
                    "wait_policy": group.wait_policy,
                    "mapping": placed.mapping.name,
                    "governor": governor,
                    "cpus": format_cpulist(placed.cpus),
                    "reference": number == 0,
                }
                for number, (group, placed, governor) in enumerate(self.candidates())
            ],
            "left_out": self.left_out(),
        }

    def _schedules_line(self) -> str:
        schedules = list(dict.fromkeys(group.schedule for group in self.field.groups))
        if self.request.schedules is not None:
            return f"schedules {', '.join(schedules)}: what --schedules says"
        if len(schedules) > 1:
            return f"{self.program.loops_line}; schedules {', '.join(schedules)} race"
        return f"{self.program.loops_line}; no schedules race"

    def _waiting_line(self) -> str:
        """Return which wait policies race; empty where only the reference's does."""
        policies = list(dict.fromkeys(group.wait_policy for group in self.field.groups))
        if len(policies) < 2:
            return ""
        why = "" if self.request.wait_policies is None else ": what --wait-policies says"
        return f"threads that wait: {', '.join(policies)} race{why}"


def _objective(request: Request) -> str:
    margin = f"differences up to {request.margin * 100:g} % do not matter"
    if request.pattern is None:
        return f"{RACE_OF[request.of]}; {margin}"
    which = "higher" if request.higher else "lower"
    return f"what {word_as_typed(request.pattern)} picks of stdout, {which} is better; {margin}"


@dataclass(frozen=True)
class GovernorChoice:
    """The governors, `current` first, and lines with the reasons why others are left out."""

    governors: tuple[str, ...]
    left_out: tuple[str, ...]


def choose_governors(
    requested: Sequence[str] | None, now: Cpufreq, cpus: Sequence[int], problem_of: GovernorProblem
) -> GovernorChoice:
    """Return the governors for a race on these CPUs; `requested` are the user's.

    With None they are `current`, `performance` and the one that saves power, where they can be set.
    """
    chosen, left_out = [CURRENT_GOVERNOR], []
    if requested is None and now.reason:
        return GovernorChoice((CURRENT_GOVERNOR,), (f"other governors: {now.reason}",))
    for governor in ("performance", _saving(now, cpus)) if requested is None else requested:
        if governor == CURRENT_GOVERNOR:
            continue
        if now.in_force_problem(governor, cpus) is None:
            left_out.append(f"governor {governor}: in force already, and so {CURRENT_GOVERNOR}")
        elif problem := problem_of(governor, cpus):
            why = problem.removeprefix(f"the governor {governor} ")
            left_out.append(f"governor {governor}: {why}")
        else:
            chosen.append(governor)
    return GovernorChoice(tuple(chosen), tuple(left_out))


def _saving(now: Cpufreq, cpus: Sequence[int]) -> str:
    """Return the governor that follows the load and saves power.

    Under drivers with schedutil, powersave is the lowest frequency (Linux
    Documentation/admin-guide/pm/cpufreq.rst); drivers in active mode have powersave instead.
    """
    return "powersave" if now.offer_problem("schedutil", cpus) else "schedutil"


def make_search(machine: Machine, request: Request, environment: Mapping[str, str]) -> Search:
    """Return the search for a request on a node, in the user's environment.

    The reference on a recorded node ignores that environment. Raises UserError for a request that
    the node cannot answer.
    """
    node = machine.node
    topology = _balanced(machine)
    _check_energy(machine, request)
    # The loader finds other libraries by some of them.
    program = inspect_program(request.program, {**environment, **dict(request.variables)})
    request.check_variables(threads_by(program, request))
    has = environment if machine.live else {}
    reference = reference_of(program, request, has, len(topology.allowed))
    settings = machine.settings()

    def problem_of(governor: str, cpus: Sequence[int]) -> str | None:
        return settings.problem(governor, AS_IT_IS, cpus, node.cpufreq)

    governors = choose_governors(request.governors, node.cpufreq, topology.allowed, problem_of)
    known = {mapping.name: mapping for mapping in list_mappings()}
    field = make_field(
        NodeContext(topology, machine.tools, known, program.runtime, threads_by(program, request)),
        reference.threads,
        request.threads,
        _schedules(program, request, reference),
        _wait_policies(program, request, reference),
        MAX_CANDIDATES // len(governors.governors),
    )
    file = make_study_file(request, program, reference, field, governors.governors, topology)
    return Search(request, program, reference, field, governors, file)


def _balanced(machine: Machine) -> Topology:
    """Return the topology of a search, whose reference is left to the OS scheduler.

    Isolated CPUs are none of its: a recorded node leaves them out. Raises UserError where the
    process may use them.
    """
    topology = machine.node.topology
    apart = topology.usable.intersection(topology.isolated)
    rest = tuple(cpu for cpu in topology.allowed if cpu not in apart)
    if not apart or len(topology.allowed) == 1:
        return topology
    if rest and not machine.live:
        return replace(topology, allowed=rest)
    others = f"start pinstudy under `taskset -c {format_cpulist(rest)}`" if rest else ""
    raise UserError(
        f"{named_cpus(apart)} are isolated: the OS scheduler moves no threads there, so that "
        f"nothing can be compared with leaving them to it; "
        f"{others or END_ISOLATION}"
    )


def _schedules(program: Program, request: Request, reference: Reference) -> list[str]:
    others = request.schedules
    if others is None:
        others = () if program.loops == "no" else SCHEDULES
    first = reference.schedule
    # The default chunk is 1, but for static, where it is a share of all iterations (OpenMP 5.2,
    # section 11.5.3).
    same = first if kind_of(first) == "static" else first.removesuffix(",1")
    return [first, *(other for other in others if other not in (first, same))]


def _wait_policies(program: Program, request: Request, reference: Reference) -> list[str]:
    """Return the reference's wait policy, then those that race against it."""
    others = request.wait_policies
    if others is None:
        others = WAIT_POLICIES if program.runtime in OPENMP_RUNTIMES else ()
    return list(dict.fromkeys([reference.wait_policy, *others]))


def _check_energy(machine: Machine, request: Request) -> None:
    """Raise UserError when the race needs energy, and energy cannot be measured here."""
    if request.of not in ("energy", "edp") or not machine.live:
        return
    (energy,) = probe(machine.node, machine.live, ("energy",), machine.site)
    if energy.state != "ok":
        raise UserError(
            f"--objective {request.of}: energy cannot be measured here: {energy.why}; see "
            f"`{PINSTUDY} doctor`"
        )


def write_search(search: Search, results: Path, fresh: bool) -> tuple[Study, list[str]]:
    """Write the search's study, or keep the one that is there; return it, and what to print.

    An earlier study keeps its candidates; with `fresh` it is written anew. Raises ConfigError when
    the earlier file is no study, UserError when there is nothing to race, StudyError when it cannot
    be written.
    """
    if search.size < 2:
        raise UserError(
            f"{search.request.program.name}: nothing races here, there is no other way to run it "
            "than as you start it; --plan says what was left out"
        )
    path, new = search.path(results), search.file
    if fresh or not path.exists():
        write_atomically(path, new.data)
    study, notes = with_race(load_study(path), new.rule), []
    if study.digest != search.study.digest:
        notes.append(
            f"{display_path(path)} has other candidates than would be chosen now; it is continued "
            "with its own: --fresh chooses anew"
        )
    return study, notes
