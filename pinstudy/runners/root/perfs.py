"""The perfs that root's part starts: with a fixed set of options, on its user's own processes.

A process number that the user says proves nothing: it may be that of another user's process. So
root's part looks who a process is before perf attaches, and again when perf has: it is the same
process still. Of whole CPUs, energy alone is counted.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.configs.event import BPF_FILE
from pinstudy.runners.host.privileges import program_for_root
from pinstudy.runners.host.processes import read_task
from pinstudy.runners.host.supervisor import end_with_parent
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.energy.cores import core_command
from pinstudy.runners.measure.perf.c2c import MODES, record_command, trial_problem
from pinstudy.runners.measure.perf.events import perf_command, read_core_pmus
from pinstudy.runners.measure.perf.stat import PerfStat, trial_of
from pinstudy.runners.root.request import Answer, Handler, switch_in, text_in, texts_in

_PERF = "perf"
# User space alone: other samples have the kernel's addresses.
_MODES = tuple(modes for modes in MODES if "-u" in modes)
# As perf lists RAPL's events, of packages and of cores (Linux arch/x86/events/rapl.c).
_RAPL = r"power(?:_core)?/energy-[a-z]{1,16}/"
_ENERGY = re.compile(rf"{_RAPL}(?:,{_RAPL}){{0,15}}", re.ASCII)
# A name, `tracepoint:name`, or a PMU with terms; then modifiers. No breakpoints (`mem:`): they
# would tell where the kernel has what. No events beyond the cores (`unc…`): they are of all tasks.
_NAME = r"(?!mem:|unc)[A-Za-z][\w-]*(?:\.\w+)*(?::\w+){0,2}"
_TERM = r"[A-Za-z][\w.-]*(?:=\w+)?"
_EVENT = rf"(?:{_NAME}|[A-Za-z]\w*/{_TERM}(?:,{_TERM}){{0,15}}/[A-Za-z]{{0,8}})"
_EVENTS = re.compile(rf"{_EVENT}(?:,{_EVENT}){{0,255}}", re.ASCII)
_PMU = re.compile(r"(\w+)/[^/]*/", re.ASCII)
# Intel's architectural monitoring 3 and 4 count both threads of a core (bit 21, AnyThread).
_ANY_THREAD = Path("/sys/bus/event_source/devices/cpu/format/any")
_OF_ANY_THREAD = re.compile(r"any\b|\br[0-9a-f]+\b|\bconfig", re.IGNORECASE | re.ASCII)
_MAX_EVENTS = 16 * 1024
# Where root's recordings are made.
_FOLDER = "/tmp"
_MAX_SHOWN = 80
# One a region of a program, and some for energy.
_MAX_PERFS = 256
_MAX_PROCESSES = 4096
# Of the kernel's memory; 1000 threads and 32 events. perf raises its own limit of files as root.
_MAX_COUNTERS = 32 * 1024
_NOT_OWN = "process {} is not the user's own"
_PROCESS = re.compile(r"[0-9]{1,7}", re.ASCII)


class Perfs:
    """The perfs of one user."""

    def __init__(self, uid: int) -> None:
        self._uid = uid
        self._perfs: dict[int, PerfStat] = {}
        self._counters: dict[int, int] = {}
        self._made = 0

    @property
    def handlers(self) -> dict[str, Handler]:
        """The requests, by name."""
        return {
            "program": self._program,
            "perf": self._start,
            "perf-enable": self._enable,
            "perf-disable": self._disable,
            "perf-finish": self._finish,
            "perf-close": self._close,
            "perf-trial": self._trial,
            "c2c-trial": self._c2c_trial,
        }

    def close(self) -> None:
        """End all perfs that still run."""
        for perf in self._perfs.values():
            perf.close()
        self._perfs.clear()

    @staticmethod
    def _program(request: Mapping[str, Any]) -> Answer:
        if text_in(request, "name") != _PERF:
            raise ValueError("root's part starts no such program")
        return {"path": roots_perf()}, None

    def _start(self, request: Mapping[str, Any]) -> Answer:
        command, target = texts_in(request, "command"), texts_in(request, "target")
        cat, enabled = switch_in(request, "cat"), switch_in(request, "enabled")
        if len(self._perfs) >= _MAX_PERFS:
            raise ValueError(f"more than {_MAX_PERFS} perfs at once")
        recording = switch_in(request, "recording")
        check_command(command, target, cat, recording=recording)
        numbers = [] if cat else processes_in(target[1])
        counters = _counters(target[0], numbers, command[-1])
        if sum(self._counters.values()) + counters > _MAX_COUNTERS:
            raise ValueError(f"more than {_MAX_COUNTERS} counters at once")
        before = [self._look(number) for number in numbers]
        file = self._recording() if recording else None
        try:
            # Counters stay off until it is known whose processes they count.
            perf = PerfStat(command, target, cat, False, file, end_with_parent)
            self._check_still(numbers, before, perf)
            if enabled:
                perf.enable()
        except BaseException:
            if file is not None:
                os.close(file)
            raise
        answer: dict[str, Any] = {"problem": perf.problem}
        if perf.problem:
            perf.close()
            return answer, file
        self._made += 1
        self._perfs[self._made], self._counters[self._made] = perf, counters
        return answer | {"number": self._made}, file

    def _check_still(
        self, numbers: Sequence[int], before: Sequence[tuple[int, int]], perf: PerfStat
    ) -> None:
        """Raise ValueError, and end perf, where a number has become another process's."""
        try:
            unchanged = [self._look(number) for number in numbers] == before
        except ValueError:
            unchanged = False
        if not unchanged:
            perf.close()
            raise ValueError("a process ended while perf attached to it")

    def _recording(self) -> int:
        """Return a descriptor of a new file of the user's, without a name, for perf to write."""
        with tempfile.TemporaryFile(dir=_FOLDER) as file:
            os.fchown(file.fileno(), self._uid, -1)
            return os.dup(file.fileno())

    def _look(self, number: int) -> tuple[int, int]:
        """Return a process's or thread's process and its start in clock ticks: no other has both.

        Raises ValueError for what is not the user's own.
        """
        folder = Path(f"/proc/{number}")
        try:
            # Where a privileged program is executed, the kernel gives the folder to root.
            owner = folder.stat().st_uid
            text = (folder / "status").read_text("utf-8", "replace")
        except OSError:
            raise ValueError(_NOT_OWN.format(number)) from None
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        task = read_task(Tree(Path("/")), number)
        own = owner == self._uid and fields.get("Uid", "").split() == [str(self._uid)] * 4
        if task is None or not own:
            raise ValueError(_NOT_OWN.format(number))
        return int(fields["Tgid"]), task.started

    def _enable(self, request: Mapping[str, Any]) -> Answer:
        perf = self._perf(request)
        perf.enable()
        return {"problem": perf.problem}, None

    def _disable(self, request: Mapping[str, Any]) -> Answer:
        perf = self._perf(request)
        perf.disable()
        return {"problem": perf.problem}, None

    def _finish(self, request: Mapping[str, Any]) -> Answer:
        perf = self._perf(request)
        text = perf.finish()
        return {"text": text, "problem": perf.problem}, None

    def _close(self, request: Mapping[str, Any]) -> Answer:
        perf = self._perf(request)
        perf.close()
        del self._perfs[request["number"]], self._counters[request["number"]]
        return {}, None

    def _perf(self, request: Mapping[str, Any]) -> PerfStat:
        number = request.get("number")
        if not isinstance(number, int) or number not in self._perfs:
            raise ValueError("there is no such perf")
        return self._perfs[number]

    @staticmethod
    def _trial(request: Mapping[str, Any]) -> Answer:
        events = text_in(request, "events")
        check_events(events)
        version, text, problem = trial_of(_perf_or_refusal(), events)
        return {"version": version, "text": text, "problem": problem}, None

    @staticmethod
    def _c2c_trial(request: Mapping[str, Any]) -> Answer:
        modes = tuple(texts_in(request, "modes"))
        if modes not in _MODES:
            raise ValueError("perf c2c has no such mode here")
        return {"problem": trial_problem(_perf_or_refusal(), modes)}, None


def _counters(option: str, numbers: Sequence[int], events: str) -> int:
    """Return about how many counters perf opens: one an event and thread, on each core PMU."""
    threads = len(numbers)
    if option == "-p":
        for number in numbers:
            with suppress(OSError):
                threads += len(os.listdir(f"/proc/{number}/task"))  # noqa: PTH208 - names alone
    return threads * (events.count(",") + 1)


def roots_perf() -> str:
    """Return the path of the perf that root starts; empty without one."""
    found = program_for_root(_PERF)
    return "" if isinstance(found, str) else str(found)


def _perf_or_refusal() -> str:
    found = program_for_root(_PERF)
    if isinstance(found, str):
        raise ValueError(found)
    return str(found)


def check_command(
    command: Sequence[str], target: Sequence[str], cat: bool, *, recording: bool
) -> None:
    """Raise ValueError for a command that is none of pinstudy's own, word by word.

    `cat` goes with whole CPUs, `recording` with a file that perf records into.
    """
    perf, options = _perf_or_refusal(), tuple(command)
    if recording:
        known = options in [record_command(perf, modes) for modes in _MODES]
    else:
        events = command[-1] if command else ""
        check_events(events, energy=cat)
        known = options in (perf_command(perf, events), core_command(perf, events))
    if not known or len(target) != 2 or target[0] not in (("-C",) if cat else ("-p", "-t")):
        raise ValueError("root's part starts no such perf")
    if cat:
        parse_cpulist(target[1])


def check_events(events: str, energy: bool = False) -> None:
    """Raise ValueError for a list of events that root's perf must not be given.

    What perf takes for an event is perf's own affair, and root's perf may take it for a file. So
    each event has one of two plain forms, in which no file can be named.
    """
    form = _ENERGY if energy else _EVENTS
    pmus = set(_PMU.findall(events)) - set(() if energy else read_core_pmus(Path("/")))
    if len(events) > _MAX_EVENTS or BPF_FILE.search(events) or form.fullmatch(events) is None:
        counted = "energy alone of whole CPUs" if energy else "events as `perf list` names them"
        raise ValueError(f"{events[:_MAX_SHOWN]!r}: root's part counts {counted}")
    if _ANY_THREAD.exists() and _OF_ANY_THREAD.search(events):
        raise ValueError(f"{events[:_MAX_SHOWN]!r}: it may count another user on the same core")
    if pmus and not energy:
        # Others count no task, or plant probes in the kernel.
        raise ValueError(f"{', '.join(sorted(pmus))[:_MAX_SHOWN]}: no PMU of this node's cores")


def processes_in(text: str) -> list[int]:
    """Return the numbers of processes or threads in perf's list; raises ValueError."""
    numbers = text.split(",")
    if len(numbers) > _MAX_PROCESSES or not all(map(_PROCESS.fullmatch, numbers)):
        raise ValueError("expected a list of processes")
    return [int(number) for number in numbers]
