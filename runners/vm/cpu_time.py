"""The CPU time of a process, from /proc/PID/stat (proc_pid_stat(5)): to a clock tick of 10 ms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runners.busy_time import tick_s


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
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return CpuTime(0.0, 0.0)
    # After the name, which may hold anything, come fields 3 and on; these are 14 and 15.
    user, system = text.rpartition(")")[2].split()[11:13]
    return CpuTime(int(user) * tick_s(), int(system) * tick_s())
