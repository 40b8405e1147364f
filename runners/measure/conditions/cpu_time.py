"""How long CPUs were busy during a run, and how much of that the program did not cause.

The source is /proc/stat (proc_stat(5)). Its times are counted in clock ticks, 10 ms on all common
kernels, and most kernels sample them: whatever runs when the timer fires gets the whole tick.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from base.reading import Reading
from runners.host.processes import tick_s
from runners.host.tree import Tree, Unavailable
from runners.measure.meter import BeforeAfterMeter

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


@dataclass(frozen=True)
class CpuTimes:
    """Clock ticks since boot: busy with anything, and stolen by the hypervisor."""

    busy: int
    steal: int


def parse_stat(text: str) -> dict[int, CpuTimes]:
    """Return the times of each CPU in /proc/stat; other lines are skipped."""
    return {
        int(match["cpu"]): CpuTimes(
            sum(int(match[name]) for name in _BUSY), int(match["steal"] or 0)
        )
        for match in _CPU.finditer(text)
    }


class BusyMeter(BeforeAfterMeter[str | Unavailable]):
    """Reads the CPUs' times before and after a run; one meter serves many runs."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(Unavailable("not measured"))
        self._tree = tree

    def reading(self, cpus: Iterable[int], own_s: float | None) -> Reading:
        """Return `foreign_cpu_s` and `steal_s` of these CPUs between `start` and `stop`, seconds.

        `own_s` is the CPU time that the program and the harness used there; None, if it is
        unknown, leaves both fields unavailable. If it exceeds the kernel's count by no more than
        the count's resolution, `foreign_cpu_s` is 0.
        """
        if own_s is None:
            return _unknown("the program's own CPU time is not known")
        for text in (self._before, self._after):
            if isinstance(text, Unavailable):
                return _unknown(text.reason)
        assert isinstance(self._before, str) and isinstance(self._after, str)
        return foreign_time(parse_stat(self._before), parse_stat(self._after), cpus, own_s)

    def _read(self) -> str | Unavailable:
        return self._tree.content(PATH, LIMIT)


def foreign_time(
    before: dict[int, CpuTimes], after: dict[int, CpuTimes], cpus: Iterable[int], own_s: float
) -> Reading:
    """Return `foreign_cpu_s` and `steal_s` of these CPUs from two states of their times."""
    busy = steal = 0
    chosen = tuple(cpus)
    for cpu in chosen:
        if cpu not in before or cpu not in after:
            return _unknown(f"{PATH} has no times of CPU {cpu}")
        busy += after[cpu].busy - before[cpu].busy
        steal += after[cpu].steal - before[cpu].steal
    if busy < 0 or steal < 0:
        return _unknown(f"the times in {PATH} went back")
    foreign_s = busy * tick_s() - own_s
    steal_s = steal * tick_s()
    if foreign_s < -_ROUNDINGS * len(chosen) * tick_s():
        reason = (
            f"{PATH} counts {busy * tick_s():.2f} s on the measured CPUs, less than the "
            f"{own_s:.2f} s that the program used: the kernel samples by ticks, or the program "
            "ran elsewhere"
        )
        return Reading({"steal_s": steal_s}, {"foreign_cpu_s": reason})
    # The program's CPU time is known to the microsecond.
    return Reading({"foreign_cpu_s": round(max(0.0, foreign_s), 6), "steal_s": steal_s})


def _unknown(reason: str) -> Reading:
    return Reading({}, {"foreign_cpu_s": reason, "steal_s": reason})
