"""The CPU time of a process, from /proc/PID/stat (proc_pid_stat(5)): to a clock tick of 10 ms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runners.host.processes import STAT_LIMIT, parse_cpu_ticks
from runners.host.tree import Absent, Tree
from runners.measure.conditions.cpu_time import tick_s


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds in user and in system mode; a guest's own instructions are user time."""

    user_s: float
    system_s: float

    def __sub__(self, earlier: CpuTime) -> CpuTime:
        """Return the time between two readings."""
        return CpuTime(self.user_s - earlier.user_s, self.system_s - earlier.system_s)


def read_cpu_time(pid: int) -> CpuTime:
    """Return what all threads of a process have used so far; nothing for one that is gone."""
    text = Tree(Path("/")).content(f"/proc/{pid}/stat", STAT_LIMIT)
    ticks = None if isinstance(text, Absent) else parse_cpu_ticks(text)
    user, system = ticks or (0, 0)
    return CpuTime(user * tick_s(), system * tick_s())
