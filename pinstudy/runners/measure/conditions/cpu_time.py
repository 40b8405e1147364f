"""CPU time during a run that the program did not use: how much, by which processes, by pinstudy.

All is read before and after the run, outside its window. The times in /proc/stat (proc_stat(5)) are
counted in clock ticks, 10 ms on all common kernels, and most kernels sample them: whatever runs
when the timer fires gets the whole tick.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from pinstudy.base.decoding import Amount, Count, Cpu
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.host.processes import Task, parse_task, read_stats, read_threads, tick_s
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.meter import BeforeAfterMeter

PATH = "/proc/stat"
# 4096 CPUs with ten numbers each, and one counter for each interrupt.
LIMIT = 4 * 1024 * 1024

_CPU = re.compile(
    r"^cpu(?P<cpu>[0-9]{1,5}) (?P<user>[0-9]{1,20}) (?P<nice>[0-9]{1,20}) "
    r"(?P<system>[0-9]{1,20}) (?P<idle>[0-9]{1,20}) (?P<iowait>[0-9]{1,20}) "
    r"(?P<irq>[0-9]{1,20}) (?P<softirq>[0-9]{1,20})(?: (?P<steal>[0-9]{1,20}))?",
    re.MULTILINE,
)
# `user` and `nice` include a guest's time. Stolen time was used by another machine.
_BUSY = ("user", "nice", "system", "irq", "softirq")
# User and system time of a CPU are each rounded down to a tick.
_ROUNDINGS = 2
# How many of the other processes a record names.
MAX_SHOWN = 5


@dataclass(frozen=True)
class CpuTimes:
    """Clock ticks since boot: busy with anything, of these with interrupts, and stolen."""

    busy: int
    interrupts: int
    steal: int


def parse_stat(text: str) -> dict[int, CpuTimes]:
    """Return the times of each CPU in /proc/stat; other lines are skipped."""
    return {
        int(match["cpu"]): CpuTimes(
            sum(int(match[name]) for name in _BUSY),
            int(match["irq"]) + int(match["softirq"]),
            int(match["steal"] or 0),
        )
        for match in _CPU.finditer(text)
    }


class BusyMeter(BeforeAfterMeter[str | Unavailable]):
    """Reads the CPUs' times before and after a run; one meter serves many runs."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def reading(self, cpus: Iterable[int], own_s: float | None) -> Reading:
        """Return the seconds of these CPUs between `start` and `stop` that others used.

        `foreign_cpu_s` includes `interrupts_s`, and does not include `steal_s`.

        `own_s` is the CPU time that the program and the harness used there; None, if it is
        unknown, leaves all fields unavailable. If it exceeds the kernel's count by no more than
        the count's resolution, `foreign_cpu_s` is 0.
        """
        if own_s is None:
            return _unknown("the program's own CPU time is not known")
        before, after = self._before, self._after
        if isinstance(before, Unavailable):
            return _unknown(before.reason)
        if isinstance(after, Unavailable):
            return _unknown(after.reason)
        return foreign_time(parse_stat(before), parse_stat(after), cpus, own_s)

    def _read(self) -> str | Unavailable:
        return self._tree.content(PATH, LIMIT)


def foreign_time(
    before: dict[int, CpuTimes], after: dict[int, CpuTimes], cpus: Iterable[int], own_s: float
) -> Reading:
    """Return what BusyMeter.reading does, from two states of the CPUs' times."""
    busy = interrupts = steal = 0
    chosen = tuple(cpus)
    for cpu in chosen:
        if cpu not in before or cpu not in after:
            return _unknown(f"{PATH} has no times of CPU {cpu}")
        busy += after[cpu].busy - before[cpu].busy
        interrupts += after[cpu].interrupts - before[cpu].interrupts
        steal += after[cpu].steal - before[cpu].steal
    if busy < 0 or interrupts < 0 or steal < 0:
        return _unknown(f"the times in {PATH} went back")
    foreign_s = busy * tick_s() - own_s
    uncharged = {"interrupts_s": interrupts * tick_s(), "steal_s": steal * tick_s()}
    if foreign_s < -_ROUNDINGS * len(chosen) * tick_s():
        reason = (
            f"{PATH} counts {busy * tick_s():.2f} s on the measured CPUs, less than the "
            f"{own_s:.2f} s that the program used: the kernel samples by ticks, or the program "
            "ran elsewhere"
        )
        return Reading(uncharged, {"foreign_cpu_s": reason})
    # The program's CPU time is known to the microsecond.
    return Reading({"foreign_cpu_s": round(max(0.0, foreign_s), 6), **uncharged})


def _unknown(reason: str) -> Reading:
    return Reading({}, dict.fromkeys(("foreign_cpu_s", "interrupts_s", "steal_s"), reason))


class ForeignTasksMeter(BeforeAfterMeter["dict[int, str] | Unavailable"]):
    """Reads the CPU time of all processes before and after a run; one meter serves many runs."""

    def __init__(self, tree: Tree, own_pid: int | None = None) -> None:
        """Leave out process `own_pid` (this one by default) and its descendants."""
        self._tree = tree
        self._own_pid = os.getpid() if own_pid is None else own_pid

    def reading(self, cpus: Collection[int], program: Collection[int] = ()) -> Reading:
        """Return `foreign_tasks`: up to five processes, most CPU time first.

        The processes `program` are no foreign ones, nor are their descendants.

        Each is `{"command", "cpu_s"}`: the name, cut to 15 characters by the kernel, and the CPU
        seconds it used. A process counts when one of its threads last ran on one of `cpus`; its
        time includes what it used on other CPUs. One that started and ended during the run is not
        seen, but `foreign_cpu_s` includes its time.
        """
        before, after = self._before, self._after
        if isinstance(before, Unavailable):
            return Reading({}, {"foreign_tasks": before.reason})
        if isinstance(after, Unavailable):
            return Reading({}, {"foreign_tasks": after.reason})
        on_cpus = (
            {"command": task.command, "cpu_s": ticks * tick_s()}
            for task, ticks in self._busiest(before, after, {self._own_pid, *program})
            if self._was_on(task, cpus)
        )
        return Reading({"foreign_tasks": list(islice(on_cpus, MAX_SHOWN))})

    def _read(self) -> dict[int, str] | Unavailable:
        return read_stats(self._tree)

    def _busiest(
        self, before: Mapping[int, str], after: Mapping[int, str], own: Collection[int]
    ) -> list[tuple[Task, int]]:
        """Return the foreign processes that used CPU time, with their clock ticks."""
        used = []
        for pid, text in after.items():
            earlier = before.get(pid, "")
            task = parse_task(text) if text != earlier else None
            if task is None:
                continue
            past = parse_task(earlier)
            ticks = task.cpu_ticks - (past.cpu_ticks if past and past.key == task.key else 0)
            # Whose descendant it is takes longest to find out, and few have used a tick.
            if ticks > 0 and not any(pid in own for pid in _ancestry(task, after)):
                used.append((task, ticks))
        return sorted(used, key=lambda item: (-item[1], item[0].pid))

    def _was_on(self, task: Task, cpus: Collection[int]) -> bool:
        threads = read_threads(self._tree, task.pid) or [task]
        return any(thread.cpu in cpus for thread in threads)


def _ancestry(task: Task, stats: Mapping[int, str]) -> Iterator[int]:
    """Yield the numbers of a process and its ancestors; ends where garbage forms a loop."""
    seen: set[int] = set()
    present: Task | None = task
    while present is not None and present.pid not in seen:
        seen.add(present.pid)
        yield present.pid
        present = parse_task(stats.get(present.parent, ""))


@dataclass(frozen=True)
class HarnessCost:
    """The resources that pinstudy used while a program ran, and the CPUs of its threads.

    CPU seconds and context switches are of all threads, from getrusage(2). perf and
    pinstudy-witness are processes of their own, asleep from the program's start to its end.
    """

    cpu_s: Amount
    context_switches: Count
    cpus: tuple[Cpu, ...]


class CostClock:
    """Counts from its creation to `stop`."""

    def __init__(self, cpus: tuple[int, ...]) -> None:
        self._cpus = cpus
        self._before = resource.getrusage(resource.RUSAGE_SELF)

    def stop(self) -> HarnessCost:
        """Return what pinstudy has used since the clock was created."""
        now, before = resource.getrusage(resource.RUSAGE_SELF), self._before
        return HarnessCost(
            # getrusage(2) counts microseconds.
            cpu_s=round(now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime, 6),
            context_switches=now.ru_nvcsw + now.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
            cpus=self._cpus,
        )
