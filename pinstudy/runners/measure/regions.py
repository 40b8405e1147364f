"""The regions of a program: marks that follow one another, and what each region took. Pure.

Between two marks lies a segment of the program's time. A region's figures are the sums over all
segments inside it, so that regions may repeat and nest, and what a mark itself takes is in none of
them. The innermost region of a segment has a perf of its own, which counts only then; a region with
others inside it adds theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pinstudy.base.text import printable

# Fits into a message with two times (include/pinstudy.h).
MAX_NAME = 64
# What is kept of the names that a program marks without an end.
MAX_UNKNOWN = 8
_MESSAGE = re.compile(
    r"(?P<mark>[bew]) (?P<answered>\d{1,19}) (?P<now>\d{1,19}) (?P<name>.+)", re.ASCII | re.DOTALL
)

OUTSIDE = ""


@dataclass(frozen=True)
class Mark:
    """A mark as the program told it: BEGIN, END, or one that it may not make (WRONG).

    `answered_ns` is when its previous mark was answered, `now_ns` when it made this one, both by
    CLOCK_MONOTONIC; `answered_ns` is 0 for the first.
    """

    kind: str
    name: str
    answered_ns: int
    now_ns: int


BEGIN, END, WRONG = "b", "e", "w"


def parse_mark(message: bytes) -> Mark | None:
    """Return the mark in a message; None for anything else."""
    found = _MESSAGE.fullmatch(message.decode(errors="replace"))
    if found is None or len(found["name"]) > MAX_NAME:
        return None
    name = printable(found["name"], allowed="")
    return Mark(found["mark"], name, int(found["answered"]), int(found["now"]))


@dataclass
class Sum:
    """What all segments of one nesting took: seconds, and joules by domain."""

    elapsed_s: float = 0.0
    joules: dict[str, float] = field(default_factory=dict)

    def add(self, elapsed_s: float, joules: Mapping[str, float]) -> None:
        """Add a segment."""
        self.elapsed_s += elapsed_s
        for domain, value in joules.items():
            self.joules[domain] = self.joules.get(domain, 0.0) + value


@dataclass(frozen=True)
class Region:
    """What a region took: how often it was executed, its time, and its energy by domain.

    `parts` are the regions whose own counts make up this one's, itself first; `parts_problem` is
    why they cannot be added. `temperatures_c` are by package, at its first begin and its last end.
    """

    executions: int
    elapsed_s: float
    joules: Mapping[str, float]
    parts: tuple[str, ...]
    parts_problem: str
    temperatures_c: tuple[Mapping[str, float], Mapping[str, float]]


class Regions:
    """Follows the marks of one execution; `names` are the regions that are measured.

    `marks` counts those that were followed and `cost_s` is what they took, by the program's own
    clock, the last one excepted. `problems` has, by region, why it has no figures.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.problems: dict[str, str] = {}
        # Of names that are no region of the app.
        self.unknown: list[str] = []
        self.marks = 0
        self.cost_s = 0.0
        self._open: list[str] = []
        self._executions: dict[str, int] = {}
        self._sums: dict[tuple[str, ...], Sum] = {}
        self._temperatures: dict[str, list[Mapping[str, float]]] = {}
        self._joules: Mapping[str, float] = {}
        self._last_ns = 0
        self._process = 0

    @property
    def innermost(self) -> str:
        """The region whose counts are taken now, or OUTSIDE."""
        return self._open[-1] if self._open else OUTSIDE

    def refusal(self, mark: Mark, process: int) -> str:
        """Return why a mark of a process is not followed; empty when it is.

        The first process that marks owns the regions: the program, or one that it started.
        """
        name = mark.name
        self._process = self._process or process
        if process != self._process:
            return self._refused(name, "it was marked in another process, too")
        if mark.kind == WRONG:
            why = "it was marked in a parallel region, or by another thread than the first"
            return self._refused(name, why)
        if not (self._last_ns <= mark.answered_ns <= mark.now_ns or not self.marks):
            return self._refused(name, "the times of its marks do not follow one another")
        if problem := self._misplaced(mark):
            # The program has waited all the same.
            self._add_segment(mark, {})
            return self._refused(name, problem)
        return ""

    def _refused(self, name: str, why: str) -> str:
        if name in self.names:
            self.problems.setdefault(name, why)
        elif len(self.unknown) < MAX_UNKNOWN and name not in self.unknown:
            self.unknown.append(name)
        return why

    def _misplaced(self, mark: Mark) -> str:
        name = mark.name
        if name not in self.names:
            return f"the regions that are measured are {', '.join(self.names)}"
        if mark.kind == BEGIN:
            return "it was begun within itself" if name in self._open else ""
        if name not in self._open:
            return "it was ended and not begun"
        return "" if name == self.innermost else f"it was ended while {self.innermost} was open"

    def follow(
        self,
        mark: Mark,
        joules: Mapping[str, float],
        temperatures_c: Mapping[str, float],
    ) -> None:
        """Follow a mark that is not refused; `joules` is the energy by domain since the start."""
        name = mark.name
        gained = {domain: of - self._joules.get(domain, 0.0) for domain, of in joules.items()}
        self._joules = joules
        self._add_segment(mark, gained)
        of_name = self._temperatures.setdefault(name, [temperatures_c, temperatures_c])
        if mark.kind == BEGIN:
            self._open.append(name)
        else:
            self._open.pop()
            self._executions[name] = self._executions.get(name, 0) + 1
            of_name[1] = temperatures_c

    def _add_segment(self, mark: Mark, joules: Mapping[str, float]) -> None:
        """Add the time since the previous mark was answered to the regions that are open."""
        if self.marks:
            self.cost_s += (mark.answered_ns - self._last_ns) / 1e9
            elapsed_s = (mark.now_ns - mark.answered_ns) / 1e9
            self._sums.setdefault(tuple(self._open), Sum()).add(elapsed_s, joules)
        self.marks += 1
        self._last_ns = mark.now_ns

    def end(self) -> None:
        """The program has ended."""
        for name in self._open:
            self.problems.setdefault(name, "the program ended inside it")
        for name in self.names:
            if name not in self._executions:
                self.problems.setdefault(name, "the program did not mark it")

    def region(self, name: str) -> Region | str:
        """Return what a region took, or why that is not known."""
        if problem := self.problems.get(name):
            return problem
        whole = Sum()
        for nesting, part in self._sums.items():
            if name in nesting:
                whole.add(part.elapsed_s, part.joules)
        parts, problem = self._parts(name)
        first, last = self._temperatures[name]
        return Region(
            self._executions[name], whole.elapsed_s, whole.joules, parts, problem, (first, last)
        )

    @property
    def begun(self) -> tuple[str, ...]:
        """The regions that were begun at least once."""
        return tuple(self._temperatures)

    @property
    def mark_s(self) -> float | None:
        """What a mark takes on average, in seconds; None where there was one only."""
        return self.cost_s / (self.marks - 1) if self.marks > 1 else None

    @property
    def sums(self) -> Mapping[tuple[str, ...], Sum]:
        """What each nesting of regions took, outermost first; outside all of them under ()."""
        return self._sums

    def _parts(self, name: str) -> tuple[tuple[str, ...], str]:
        within = {nesting[-1] for nesting in self._sums if name in nesting}
        elsewhere = {nesting[-1] for nesting in self._sums if nesting and name not in nesting}
        if both := sorted(within & elsewhere):
            return (), f"{both[0]} was executed both inside and outside it"
        return (name, *sorted(within - {name})), ""
