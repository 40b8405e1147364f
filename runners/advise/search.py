"""From a request and a node to the study that answers it, and to that study's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from configs.cpulist import format_cpulist
from configs.digest import study_digest
from configs.errors import UserError
from configs.library import display_path, list_mappings, load_study
from configs.load import parse_study
from configs.model import RACE_OF, App, Study
from configs.model import Mapping as CpuMapping
from configs.whole_file import write_whole
from configs.words import plural, unknown_word
from configs.yaml_text import read_bytes
from runners.advise.candidates import (
    MOST_CANDIDATES,
    Field,
    Ground,
    Placed,
    make_field,
)
from runners.advise.governors import Choice, choose_governors
from runners.advise.program import Program, look_at
from runners.advise.reference import Reference, reference_of
from runners.advise.request import Request
from runners.advise.study_file import StudyFile, make_study_file, study_bytes, with_race
from runners.capabilities import probe
from runners.forecast import duration
from runners.workplace import Workplace

# What races beside the reference's schedule, where loops take one.
SCHEDULES = ("dynamic", "guided", "static")


@dataclass(frozen=True)
class Search:
    """A request, what was found for it, and the study of its candidates."""

    request: Request
    program: Program
    reference: Reference
    field: Field
    governors: Choice
    file: StudyFile

    @cached_property
    def study(self) -> Study:
        """The study as it is read from its file."""
        return parse_study(self.file.data, f"{self.file.name}.yaml", _Mappings())

    @property
    def size(self) -> int:
        """How many candidates there are, those of all governors."""
        return self.field.size * len(self.governors.governors)

    def path(self, results: Path) -> Path:
        """Return where the study's file stands below the folder of all results."""
        return results / self.file.name / f"{self.file.name}.yaml"

    def found(self) -> list[tuple[str, str]]:
        """Return what was found of the program and asked of it, as names and lines."""
        request = self.request
        lines = [("program", self.program.runtime_said), ("loops", self._schedules_said())]
        lines += [("reference", line) for line in self.reference.lines]
        lines.append(("objective", _objective(request)))
        if request.check_command:
            lines.append(("check", f"the command {request.check_command[0]}, after each run"))
        elif request.check_pattern is not None:
            lines.append(("check", f"the output has a match of {request.check_pattern!r}"))
        if request.takes_threads:
            lines.append(("arguments", "{threads} stands for the thread count"))
        return lines

    def left_out(self) -> list[str]:
        """Return in lines what was not taken for a candidate, and why."""
        return [*self.field.left_out, *self.governors.left_out]

    def candidates(self) -> Iterator[tuple[int, str, Placed, str]]:
        """Yield threads, schedule, mapping and governor of each, in the order of the study."""
        for group in self.field.groups:
            for governor in self.governors.governors:
                for placed in group.placed:
                    yield group.threads, group.schedule, placed, governor

    def rows(self) -> list[tuple[str, ...]]:
        """Return the candidates as they are shown, the reference first."""
        schedules = {group.schedule for group in self.field.groups}
        rows = []
        for number, (threads, schedule, placed, governor) in enumerate(self.candidates(), 1):
            told = f"CPUs {format_cpulist(placed.cpus)}" + (
                ": the reference" if number == 1 else ""
            )
            more = [schedule] * (len(schedules) > 1)
            more += [governor] * (len(self.governors.governors) > 1)
            rows.append((f"#{number}", plural(threads, "thread"), placed.mapping.name, *more, told))
        return rows

    def most(self) -> str:
        """Return in words what the race may take at most."""
        from runners.race.race import most_said

        rule = self.study.race
        assert rule is not None
        runs = f"{most_said(rule, self.size)}, of {self.size} candidates"
        within = "" if rule.within_s is None else f", within about {duration(rule.within_s)}"
        return f"{runs}{within}; the first run says how long one takes"

    def as_json(self) -> dict[str, Any]:
        """Return all that is known before the first run, as plain data."""
        return {
            "study": self.file.name,
            "found": [{"what": what, "told": told} for what, told in self.found()],
            "candidates": [
                {
                    "threads": threads,
                    "schedule": schedule,
                    "mapping": placed.mapping.name,
                    "governor": governor,
                    "cpus": format_cpulist(placed.cpus),
                    "reference": number == 0,
                }
                for number, (threads, schedule, placed, governor) in enumerate(self.candidates())
            ],
            "left_out": self.left_out(),
            "most": self.most(),
        }

    def _schedules_said(self) -> str:
        schedules = list(dict.fromkeys(group.schedule for group in self.field.groups))
        if self.request.schedules is not None:
            return f"schedules {', '.join(schedules)}: what --schedules says"
        if len(schedules) > 1:
            return f"{self.program.loops_said}; schedules {', '.join(schedules)} race"
        return f"{self.program.loops_said}; no schedules race"


def make_search(workplace: Workplace, request: Request, environment: Mapping[str, str]) -> Search:
    """Return the search for a request on a node, in the environment that its user has.

    A recorded node's users have none. The program is looked at, and not started. Raises UserError
    for a request that the node cannot answer.
    """
    node = workplace.node
    topology = node.topology
    _check_energy(workplace, request)
    program = look_at(request.program, environment)
    has = environment if workplace.live else {}
    reference = reference_of(program, request, has, len(topology.allowed))
    switch = workplace.governors()
    governors = choose_governors(
        request.governors,
        node.cpufreq,
        topology.allowed,
        lambda governor, cpus: switch.why_not(governor, cpus, node.cpufreq),
    )
    known = {mapping.name: mapping for mapping in list_mappings()}
    field = make_field(
        Ground(topology, workplace.tools, known, program.runtime),
        reference.threads,
        request.threads,
        _schedules(program, request, reference),
        MOST_CANDIDATES // len(governors.governors),
    )
    file = make_study_file(request, program, reference, field, governors.governors, topology)
    return Search(request, program, reference, field, governors, file)


def write_search(search: Search, results: Path, fresh: bool) -> tuple[Path, list[str]]:
    """Write the search's study, or leave the one that is there; return its path, and what to tell.

    What is there is continued with its own candidates, within the time and runs that are asked for
    now; with `fresh` it is written anew. Raises ConfigError when what is there is no study.
    """
    path, new = search.path(results), search.file
    if fresh or not path.exists():
        write_whole(path, new.data)
        return path, []
    there = load_study(path)
    if study_digest(there) == search.study.digest:
        if there.race != search.study.race:
            write_whole(path, new.data)
        return path, []
    told = [
        f"{display_path(path)} has other candidates than would be chosen now; it is continued with "
        "its own: --fresh chooses anew"
    ]
    rule = search.study.race
    if rule and there.race and (there.race.within_s, there.race.runs) != (rule.within_s, rule.runs):
        # No more than text, numbers and lists of them, as load_study has seen.
        document = yaml.safe_load(read_bytes(path))
        changed = with_race(document, new.document["repetitions"]["race"])
        write_whole(path, study_bytes(changed, new.name, new.directory))
    return path, told


def _schedules(program: Program, request: Request, reference: Reference) -> list[str]:
    """Return the schedules that race, the reference's first."""
    others = request.schedules
    if others is None:
        others = () if program.loops == "no" else SCHEDULES
    # Without a chunk those two take one iteration at a time (OpenMP 5.2, section 11.5.3).
    same = {reference.schedule, reference.schedule.removesuffix(",1")}
    if reference.schedule in ("dynamic", "guided"):
        same.add(f"{reference.schedule},1")
    if reference.schedule == "static,1":
        same = {"static,1"}
    return [reference.schedule, *(other for other in others if other not in same)]


def _objective(request: Request) -> str:
    margin = f"differences up to {request.margin * 100:g} % do not matter"
    if request.pattern is None:
        return f"{RACE_OF[request.of]}; {margin}"
    which = "higher" if request.higher else "lower"
    return f"what {request.pattern!r} picks of the output, {which} is better; {margin}"


def _check_energy(workplace: Workplace, request: Request) -> None:
    """Refuse a race for what cannot be measured here."""
    if request.of not in ("energy", "edp") or not workplace.live:
        return
    (found,) = probe(workplace.node.root, workplace.live, ("energy",))
    if found.state != "ok":
        raise UserError(
            f"--objective {request.of}: energy cannot be measured here: {found.why}; see "
            "`pinstudy doctor`"
        )


class _Mappings:
    """What a search's study names: mappings of the installation, and no app of a file."""

    def app(self, name: str) -> App:
        """Refuse: the app is written out."""
        raise UserError(unknown_word("app", name, ()))

    def mapping(self, name: str) -> CpuMapping:
        """Return the mapping of a name."""
        known = {mapping.name: mapping for mapping in list_mappings()}
        if name not in known:
            raise UserError(unknown_word("mapping", name, known))
        return known[name]
