"""A program's regions: its marks, answered while it waits, and the record's fields of them.

Between two marks lies a segment of the program's time. A region's figures are the sums over all
segments inside it, so that regions may repeat and nest, and what a mark itself takes is in none of
them. The innermost region of a segment has a perf of its own, which counts only then; a region with
others inside it adds theirs.

The program has one end of a pair of sockets (include/pinstudy.h). A thread of this process answers
the other one, because a mark that waited for the next look at the program's threads would last for
milliseconds. The region that is left has its perf turned off, the one that is entered has its own
turned on: only one of them counts at a time, so that they share the hardware's counters without
being multiplexed.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from pinstudy.base.command import without_interruption
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.base.text import printable
from pinstudy.base.waiting import readable
from pinstudy.runners.measure.meter import METER_S
from pinstudy.runners.measure.perf.stat import Perf, start_perf
from pinstudy.runners.records.energy import domain_fields, run_figures
from pinstudy.runners.records.perf.counters import no_counters
from pinstudy.runners.records.perf.output import PerfOutput, parse_perf_output

# Fits into a message with two times (include/pinstudy.h).
MAX_NAME = 64
# What is kept of the names that a program marks without an end.
MAX_UNKNOWN = 8
_MESSAGE = re.compile(
    r"(?P<mark>[bew]) (?P<answered>\d{1,19}) (?P<now>\d{1,19}) (?P<name>.+)", re.ASCII | re.DOTALL
)

OUTSIDE = ""
BEGIN, END, WRONG = "b", "e", "w"


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
        self, mark: Mark, joules: Mapping[str, float], temperatures_c: Mapping[str, float]
    ) -> None:
        """Follow a mark that is not refused; `joules` is the energy by domain since the start."""
        name = mark.name
        gained = {name: now - self._joules.get(name, 0.0) for name, now in joules.items()}
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


VARIABLE = "PINSTUDY_REGIONS"
_MOST = 256
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class RegionInstruments:
    """What is read at a mark: joules by domain since `start_energy`, degrees Celsius by package.

    `sample` is called about once a METER_S, so that no counter wraps around unseen. `log` gets each
    mark that is followed: whether it begins a region, the region's name, and when it was made.
    """

    start_energy: Callable[[], None] = lambda: None
    sample: Callable[[], None] = lambda: None
    read_joules: Callable[[], Mapping[str, float]] = dict
    read_temperatures_c: Callable[[], Mapping[str, float]] = dict
    log: Callable[[bool, str, int], None] = lambda _begins, _name, _at_ns: None


@dataclass(frozen=True)
class SeenRegions:
    """What was seen of the regions of one execution.

    `perf_outputs` are what the perf of each region printed, `perf_problems` why one of them did not
    count. `longest_s` is the longest answer to a mark.
    """

    regions: Regions
    perf_outputs: Mapping[str, str] = field(default_factory=dict)
    perf_problems: Mapping[str, str] = field(default_factory=dict)
    longest_s: float = 0.0


class RegionMarks:
    """The marks of one execution's regions, answered from `start` to `finish`."""

    def __init__(self, names: Sequence[str], instruments: RegionInstruments) -> None:
        """Open the sockets; `descriptor` is the program's end."""
        self._regions = Regions(names)
        self._instruments = instruments
        self._own, self._program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._stop_read, self._stop = os.pipe()
        self._perfs: dict[str, Perf] = {}
        self._thread: threading.Thread | None = None
        self._longest_s = 0.0

    @property
    def descriptor(self) -> int:
        """The end that the program inherits."""
        return self._program.fileno()

    @property
    def environment(self) -> dict[str, str]:
        """The variable that tells the program its end."""
        return {VARIABLE: str(self.descriptor)}

    def attach(self, outside: Perf, command: Sequence[str], target: Sequence[str]) -> None:
        """Give each region a perf that is off; `outside` counts what is in none of them."""
        self._perfs[OUTSIDE] = outside
        for name in self._regions.names:
            self._perfs[name] = start_perf(command, target, enabled=False)

    def start(self) -> None:
        """Answer marks from now on; the program is about to start."""
        # The program's end stays open in the program alone.
        self._program.close()
        self._instruments.start_energy()
        self._thread = threading.Thread(target=self._answer_all, name="region marks")
        # It must not take a signal that the main thread holds back.
        with without_interruption():
            self._thread.start()

    def finish(self) -> SeenRegions:
        """Stop answering, after the program's end, and return what was seen."""
        self._end_thread()
        self._regions.end()
        own = {name: perf for name, perf in self._perfs.items() if name != OUTSIDE}
        outputs = {name: perf.finish() for name, perf in own.items()}
        problems = {name: perf.problem for name, perf in own.items() if perf.problem}
        return SeenRegions(self._regions, outputs, problems, self._longest_s)

    def close(self) -> None:
        """End the thread and all perfs of regions, and close the sockets."""
        self._end_thread()
        for name, perf in self._perfs.items():
            if name != OUTSIDE:
                perf.close()
        self._own.close()
        self._program.close()
        for descriptor in (self._stop_read, self._stop):
            with suppress(OSError):
                os.close(descriptor)
        self._stop_read = self._stop = -1

    def _end_thread(self) -> None:
        if self._thread:
            os.write(self._stop, b"s")
            self._thread.join()
            self._thread = None

    def _answer_all(self) -> None:
        try:
            while self._answer_next():
                pass
        finally:
            # A program that is not answered must not wait for ever.
            with suppress(OSError):
                self._own.shutdown(socket.SHUT_RDWR)

    def _answer_next(self) -> bool:
        """Answer the next mark, if one comes in time; return whether there may be more."""
        own = self._own.fileno()
        ready = readable([own, self._stop_read], METER_S)
        if not ready:
            self._instruments.sample()
        # What the program said before it ended is still read.
        return self._answer() if own in ready else self._stop_read not in ready

    def _answer(self) -> bool:
        """Answer one mark; return whether there may be more."""
        try:
            message, credentials, *_ = self._own.recvmsg(
                _MOST, socket.CMSG_SPACE(_CREDENTIALS.size)
            )
        except ConnectionResetError:
            return False
        if not message:
            return False
        began_s = monotonic()
        process = _CREDENTIALS.unpack(credentials[0][2][: _CREDENTIALS.size])[0]
        mark = parse_mark(message)
        refused = self._regions.refusal(mark, process) if mark else "this is no mark"
        if mark and not refused:
            before = self._regions.innermost
            self._switch(before, on=False)
            joules = self._instruments.read_joules()
            self._regions.follow(mark, joules, self._instruments.read_temperatures_c())
            self._switch(self._regions.innermost, on=True)
            self._instruments.log(mark.kind == BEGIN, mark.name, mark.now_ns)
        # A program may mark more regions than this study measures.
        tell = refused if mark is None or mark.name in self._regions.names else ""
        with suppress(OSError):
            if mark is None or mark.kind != WRONG:
                self._own.send(tell.encode() or b"k", socket.MSG_NOSIGNAL)
        self._longest_s = max(self._longest_s, monotonic() - began_s)
        return True

    def _switch(self, name: str, *, on: bool) -> None:
        if perf := self._perfs.get(name):
            if on:
                perf.enable()
            else:
                perf.disable()


# Returns the counter fields of the parts of a run.
ReadCounters = Callable[[Sequence[PerfOutput]], Reading]


def no_regions(names: Iterable[str], reason: str) -> Reading:
    """Return the reading of a run whose regions are not measured, for one reason."""
    return Reading({}, {f"regions.{name}": reason for name in names})


def read_regions(
    seen: SeenRegions,
    counters: ReadCounters | Unavailable,
    energy_problems: Mapping[str, str],
    idle_power_w: float | Unavailable,
) -> Reading:
    """Return `regions`, an object by name, and `region_marks`, what marking took.

    `energy_problems` are by domain; `idle_power_w` is that of the case.
    A region has `executions`, `elapsed_s`, the fields of energy, counters and temperature that a
    run has, each where it was measured, and `unavailable` with reasons for the others.
    """
    regions = seen.regions
    found = Reading()
    measured: dict[str, Any] = {}
    for name in regions.names:
        region = regions.region(name)
        if isinstance(region, str):
            found.unavailable[f"regions.{name}"] = region
        else:
            reading = _measured(region, seen) | _counts(region, seen, counters)
            elapsed_s = region.elapsed_s
            energy = domain_fields(region.joules, energy_problems, elapsed_s, "powercap")
            reading |= energy | run_figures(energy, elapsed_s, idle_power_w)
            measured[name] = reading.fields | {"unavailable": reading.unavailable}
    if measured:
        found.fields["regions"] = measured
    found.fields["region_marks"] = {
        "marks": regions.marks,
        "cost_s": regions.cost_s,
        "longest_s": seen.longest_s,
    }
    if regions.unknown:
        found.fields["region_marks"]["unknown"] = regions.unknown
    return found


def _measured(region: Region, seen: SeenRegions) -> Reading:
    reading = Reading({"executions": region.executions, "elapsed_s": region.elapsed_s})
    if (mark_s := seen.regions.mark_s) is not None:
        reading.fields["mark_s"] = mark_s
    first_c, last_c = region.temperatures_c
    temperatures = {"temperature_before_c": first_c, "temperature_after_c": last_c}
    reading.fields.update(
        {name: dict(by_kind) for name, by_kind in temperatures.items() if by_kind}
    )
    return reading


def _counts(region: Region, seen: SeenRegions, counters: ReadCounters | Unavailable) -> Reading:
    if isinstance(counters, Unavailable):
        return no_counters(counters.reason)
    if region.parts_problem:
        return no_counters(region.parts_problem)
    for part in region.parts:
        if problem := seen.perf_problems.get(part):
            return no_counters(problem)
    return counters([parse_perf_output(seen.perf_outputs[part]) for part in region.parts])
