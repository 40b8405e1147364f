"""The use of a tool's own processes while the program runs, as the kernel counts it.

The program stops before and after its work; both times the CPU time and context switches of every
process below the tool, except the program, are read from the kernel (proc_pid_status(5), and
schedstat: nanoseconds on a CPU, Linux Documentation/scheduler/sched-stats.rst).
"""

from __future__ import annotations

import os
import re
import select
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A tool that takes longer to start, or a program to end, hangs.
_LIMIT_S = 60
_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s+([0-9]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Attention:
    """CPU seconds and context switches of a tool's processes between two moments."""

    cpu_s: float
    switches: int


@dataclass(frozen=True)
class _Use:
    cpu_ns: int
    switches: int


class Meeting:
    """Two FIFOs: the program writes its process number to one, and waits at the other."""

    def __init__(self, folder: Path) -> None:
        self.says, self.hears = folder / "says", folder / "hears"
        for path in (self.says, self.hears):
            os.mkfifo(path)
        # Open for both directions: no open waits for the other end.
        self._says = os.open(self.says, os.O_RDWR | os.O_CLOEXEC)
        self._hears = os.open(self.hears, os.O_RDWR | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the FIFOs."""
        os.close(self._says)
        os.close(self._hears)

    def attention(self, command: Sequence[str]) -> Attention:
        """Start a tool that runs the program once; return its processes' use during the work.

        Raises RuntimeError when the program does not come, or the tool fails.
        """
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as tool:
            try:
                before, after = self._read_uses(tool.pid), self._read_uses(tool.pid)
            except BaseException:
                tool.kill()
                raise
        if tool.returncode:
            raise RuntimeError(f"{command[0]} ended with status {tool.returncode}")
        return difference(before, after)

    def _read_uses(self, tool: int) -> dict[int, _Use]:
        if not select.select([self._says], [], [], _LIMIT_S)[0]:
            raise RuntimeError("the program has not come")
        program = int(os.read(self._says, 32))
        uses = read_uses(tool, program)
        os.write(self._hears, b"g")
        return uses


def read_uses(tool: int, program: int, proc: Path = Path("/proc")) -> dict[int, _Use]:
    """Return the use of a process's threads and of its descendants', without the program's."""
    uses: dict[int, _Use] = {}
    processes = [tool]
    for process in processes:
        for thread in (proc / str(process) / "task").iterdir():
            status = (thread / "status").read_text()
            on_cpu, _, _ = (thread / "schedstat").read_text().split()
            switches = sum(map(int, _SWITCHES.findall(status)))
            uses[int(thread.name)] = _Use(int(on_cpu), switches)
            children = map(int, (thread / "children").read_text().split())
            processes += [child for child in children if child != program]
    return uses


def difference(before: dict[int, _Use], after: dict[int, _Use]) -> Attention:
    """Return the use between two readings; a thread without the first one began at 0."""
    nothing = _Use(0, 0)
    cpu_ns = sum(use.cpu_ns - before.get(thread, nothing).cpu_ns for thread, use in after.items())
    switches = sum(
        use.switches - before.get(thread, nothing).switches for thread, use in after.items()
    )
    return Attention(cpu_ns / 1e9, switches)
