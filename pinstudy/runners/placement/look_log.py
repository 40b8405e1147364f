"""Keeps the looks at the threads of a run one by one, within bounds, for its trace. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.records.trace_file import (
    MAX_MARKS,
    MAX_ROWS,
    MAX_THREADS,
    RegionMark,
    TracedThread,
    TraceFile,
)


class LoggedLook(NamedTuple):
    """A look at a thread, at a time of CLOCK_MONOTONIC; fields as those of TracedThread."""

    number: int
    at_s: float
    cpu: int
    at_work: bool
    cpu_s: float


@dataclass
class _Thread:
    pid: int
    tid: int
    team: int
    name: str = ""
    looks: list[LoggedLook] = field(default_factory=list)


class LookLog:
    """The looks of one execution; of many looks every second, fourth, … is kept."""

    def __init__(self) -> None:
        self._threads: dict[tuple[int, int], _Thread] = {}
        self._left_out: set[tuple[int, int]] = set()
        self._marks: list[tuple[bool, str, int]] = []
        self._marks_left_out = 0
        self._rows = 0
        self._looks = 0
        self._step = 1

    def add(self, key: tuple[int, int], pid: int, team: int, name: str, look: LoggedLook) -> None:
        """Add a look at the thread `key`, its number and start; `name` is what it is called now.

        Looks come in the order of their numbers.
        """
        self._looks = look.number
        thread = self._threads.get(key)
        if thread is None:
            if len(self._threads) >= MAX_THREADS:
                self._left_out.add(key)
                return
            thread = self._threads[key] = _Thread(pid, key[0], team)
        thread.name = name
        if self._is_kept(look):
            thread.looks.append(look)
            self._rows += 1
            if self._rows > MAX_ROWS:
                self._thin()

    def mark(self, begins: bool, name: str, at_ns: int) -> None:
        """Add a mark of a region, made at a time of CLOCK_MONOTONIC."""
        if len(self._marks) < MAX_MARKS:
            self._marks.append((begins, name, at_ns))
        else:
            self._marks_left_out += 1

    def _is_kept(self, look: LoggedLook) -> bool:
        return (look.number - 1) % self._step == 0

    def _thin(self) -> None:
        self._step *= 2
        for thread in self._threads.values():
            thread.looks = [look for look in thread.looks if self._is_kept(look)]
        self._rows = sum(len(thread.looks) for thread in self._threads.values())

    def file(
        self,
        run_id: str,
        title: str,
        started_at: str,
        kinds: Mapping[str, Sequence[int]],
        window_ns: tuple[int, int] = (0, 0),
    ) -> TraceFile | None:
        """Return the file of the run; None where no look found a thread.

        `kinds` are the CPUs of each core kind, `window_ns` is the program's window by
        CLOCK_MONOTONIC, zeros where its end was not seen.
        """
        seen = [thread for thread in self._threads.values() if thread.looks]
        if not seen:
            return None
        began_ns, ended_ns = window_ns
        ranks = any(thread.team for thread in seen)
        origin_s = began_ns / 1e9 if began_ns else min(thread.looks[0].at_s for thread in seen)

        def since(at_s: float) -> int:
            # A look may come before the program's parent notes its start.
            return max(0, round((at_s - origin_s) * 1e6))

        return TraceFile(
            schema=1,
            run_id=run_id,
            title=title,
            started_at=started_at,
            kinds={name: format_cpulist(cpus) for name, cpus in kinds.items()},
            elapsed_us=since(ended_ns / 1e9) if began_ns else None,
            looks=self._looks,
            step=self._step,
            threads=[
                TracedThread(
                    pid=thread.pid,
                    tid=thread.tid,
                    name=thread.name,
                    looks=[look.number for look in thread.looks],
                    at_us=[since(look.at_s) for look in thread.looks],
                    cpus=[look.cpu for look in thread.looks],
                    at_work=[look.at_work for look in thread.looks],
                    cpu_us=[round(look.cpu_s * 1e6) for look in thread.looks],
                    rank=thread.team if ranks else None,
                )
                for thread in seen
            ],
            threads_left_out=len(self._left_out) + len(self._threads) - len(seen),
            marks=[RegionMark(name, begins, since(ns / 1e9)) for begins, name, ns in self._marks],
            marks_left_out=self._marks_left_out,
        )
