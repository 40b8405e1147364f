"""A search: the request, and the candidates that will race for it, in words and as data.

Cases race under the governor in force, and under others that can be set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from base.cpulist import format_cpulist
from base.text import plural, word_as_typed
from base.units import duration
from configs.library import read_study
from configs.repetitions import RACE_OF
from configs.study import CURRENT_GOVERNOR, Study
from runners.advise.candidates import Field, PlacedMapping
from runners.advise.program import Program
from runners.advise.reference import Reference
from runners.advise.request import Request
from runners.advise.study_file import StudyFile
from runners.node.cpufreq import Cpufreq
from runners.race.race import most_said

# Returns why cases cannot run under a governor on these CPUs, None when they can.
WhyNot = Callable[[str, Sequence[int]], "str | None"]


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
        return read_study(self.file.data, f"{self.file.name}.yaml")

    @property
    def size(self) -> int:
        """How many candidates there are, over all governors."""
        return self.field.size * len(self.governors.governors)

    def path(self, results: Path) -> Path:
        """Return the path of the study's file below the folder of all results."""
        return results / self.file.name / f"{self.file.name}.yaml"

    def found(self) -> list[tuple[str, str]]:
        """Return what was found of the program and what was asked, as pairs of name and line."""
        request = self.request
        lines = [("program", self.program.runtime_said), ("loops", self._schedules_said())]
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
        """Return lines that say what is no candidate, and why."""
        return [*self.field.left_out, *self.governors.left_out]

    def candidates(self) -> Iterator[tuple[int, str, PlacedMapping, str]]:
        """Yield threads, schedule, mapping and governor of each, in the order of the study."""
        for group in self.field.groups:
            for governor in self.governors.governors:
                for placed in group.placed:
                    yield group.threads, group.schedule, placed, governor

    def rows(self) -> list[tuple[str, ...]]:
        """Return the candidates as rows of a table, the reference first."""
        several_schedules = len({group.schedule for group in self.field.groups}) > 1
        several_governors = len(self.governors.governors) > 1
        rows = []
        for number, (threads, schedule, placed, governor) in enumerate(self.candidates(), 1):
            row = [f"#{number}", plural(threads, "thread"), placed.mapping.name]
            if several_schedules:
                row.append(schedule)
            if several_governors:
                row.append(governor)
            cpus = f"CPUs {format_cpulist(placed.cpus)}"
            rows.append((*row, f"{cpus}: the reference" if number == 1 else cpus))
        return rows

    def most(self) -> str:
        """Return in words the most runs and time that the race may take."""
        rule = self.study.race
        assert rule is not None
        runs = f"{most_said(rule, self.size)}, of {plural(self.size, 'candidate')}"
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


def _objective(request: Request) -> str:
    margin = f"differences up to {request.margin * 100:g} % do not matter"
    if request.pattern is None:
        return f"{RACE_OF[request.of]}; {margin}"
    which = "higher" if request.higher else "lower"
    return f"what {word_as_typed(request.pattern)} picks of stdout, {which} is better; {margin}"


@dataclass(frozen=True)
class Choice:
    """The governors, `current` first, and lines that say why others are not among them."""

    governors: tuple[str, ...]
    left_out: tuple[str, ...]


def choose_governors(
    asked: Sequence[str] | None, now: Cpufreq, cpus: Sequence[int], why_not: WhyNot
) -> Choice:
    """Return the governors for a race on these CPUs; `asked` are those that the user named.

    With None they are `current`, `performance` and the one that saves power, where they can be set.
    """
    found, left_out = [CURRENT_GOVERNOR], []
    if asked is None and now.reason:
        return Choice((CURRENT_GOVERNOR,), (f"other governors: {now.reason}",))
    for governor in ("performance", _saving(now, cpus)) if asked is None else asked:
        if governor == CURRENT_GOVERNOR:
            continue
        if now.in_force_problem(governor, cpus) is None:
            left_out.append(f"governor {governor}: in force already, and so {CURRENT_GOVERNOR}")
        elif problem := why_not(governor, cpus):
            why = problem.removeprefix(f"the governor {governor} ")
            left_out.append(f"governor {governor}: {why}")
        else:
            found.append(governor)
    return Choice(tuple(found), tuple(left_out))


def _saving(now: Cpufreq, cpus: Sequence[int]) -> str:
    """Return the governor that follows the load and saves power.

    Under drivers with schedutil, powersave is the lowest frequency (Linux
    Documentation/admin-guide/pm/cpufreq.rst); drivers in active mode have powersave instead.
    """
    return "powersave" if now.offer_problem("schedutil", cpus) else "schedutil"
