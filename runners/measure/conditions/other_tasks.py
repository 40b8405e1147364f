"""Which other processes used the measured CPUs during a run, and how much CPU time.

Processes are read before and after the run, outside its window. A process that started and ended
in between is not seen, but `foreign_cpu_s` (runners/measure/conditions/cpu_time.py) includes its
time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from base.reading import Reading
from runners.host.processes import Task, parse_task, read_stats, read_threads, tick_s
from runners.host.tree import Tree, Unavailable
from runners.measure.meter import BeforeAfterMeter

MAX_SHOWN = 5


class ForeignTasksMeter(BeforeAfterMeter["dict[int, str] | Unavailable"]):
    """Reads the CPU time of all processes before and after a run; one meter serves many runs."""

    def __init__(self, tree: Tree, own_pid: int | None = None) -> None:
        """Leave out process `own_pid` (this one by default) and its descendants."""
        super().__init__(Unavailable("not measured"))
        self._tree = tree
        self._own_pid = os.getpid() if own_pid is None else own_pid

    def _read(self) -> dict[int, str] | Unavailable:
        return read_stats(self._tree)

    def reading(self, cpus: Collection[int]) -> Reading:
        """Return `foreign_tasks`: up to five processes, most CPU time first.

        Each is `{"command", "cpu_s"}`: the name, cut to 15 characters by the kernel, and the CPU
        seconds it used. A process counts when one of its threads last ran on one of `cpus`; its
        time includes what it used on other CPUs.
        """
        for look in (self._before, self._after):
            if isinstance(look, Unavailable):
                return Reading({}, {"foreign_tasks": look.reason})
        shown = []
        for task, ticks in self._busiest():
            if self._was_on(task, cpus):
                shown.append({"command": task.command, "cpu_s": ticks * tick_s()})
            if len(shown) == MAX_SHOWN:
                break
        return Reading({"foreign_tasks": shown})

    def _busiest(self) -> list[tuple[Task, int]]:
        """Return the foreign processes that used CPU time, with their clock ticks."""
        assert isinstance(self._before, dict) and isinstance(self._after, dict)
        used = []
        for pid, text in self._after.items():
            earlier = self._before.get(pid, "")
            task = parse_task(text) if text != earlier else None
            if task is None or self._own_pid in self._ancestry(task):
                continue
            past = parse_task(earlier)
            ticks = task.cpu_ticks - (past.cpu_ticks if past and past.key == task.key else 0)
            if ticks > 0:
                used.append((task, ticks))
        return sorted(used, key=lambda item: (-item[1], item[0].pid))

    def _ancestry(self, task: Task) -> Iterator[int]:
        """Yield the numbers of a process and its ancestors; ends where garbage forms a loop."""
        assert isinstance(self._after, dict)
        seen: set[int] = set()
        present: Task | None = task
        while present is not None and present.pid not in seen:
            seen.add(present.pid)
            yield present.pid
            present = parse_task(self._after.get(present.parent, ""))

    def _was_on(self, task: Task, cpus: Collection[int]) -> bool:
        threads = read_threads(self._tree, task.pid) or [task]
        return any(thread.cpu in cpus for thread in threads)
