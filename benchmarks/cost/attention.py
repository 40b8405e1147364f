"""What a tool's own processes use while the program runs, seen from outside.

The program stops before and after its work; both times the CPU time and context switches of every
process below the tool, but the program itself, are read from the kernel (proc_pid_status(5), and
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
class _Seen:
    cpu_ns: int
    switches: int


class Meeting:
    """Two FIFOs at which the program tells its process number and waits until it was looked at."""

    def __init__(self, folder: Path) -> None:
        self.says, self.hears = folder / "says", folder / "hears"
        for path in (self.says, self.hears):
            os.mkfifo(path)
        # Open for both directions: nobody waits for the other end to be opened.
        self._says = os.open(self.says, os.O_RDWR | os.O_CLOEXEC)
        self._hears = os.open(self.hears, os.O_RDWR | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the FIFOs."""
        os.close(self._says)
        os.close(self._hears)

    def attention(self, command: Sequence[str]) -> Attention:
        """Start a tool that runs the program once, and return what its processes used meanwhile.

        Raises RuntimeError when the program does not come, or the tool fails.
        """
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as tool:
            try:
                before, after = self._look(tool.pid), self._look(tool.pid)
            except BaseException:
                tool.kill()
                raise
        if tool.returncode:
            raise RuntimeError(f"{command[0]} ended with status {tool.returncode}")
        return difference(before, after)

    def _look(self, tool: int) -> dict[int, _Seen]:
        if not select.select([self._says], [], [], _LIMIT_S)[0]:
            raise RuntimeError("the program has not come")
        program = int(os.read(self._says, 32))
        seen = look(tool, program)
        os.write(self._hears, b"g")
        return seen


def look(tool: int, program: int, proc: Path = Path("/proc")) -> dict[int, _Seen]:
    """Return what the threads of a process and of all below it have used, without the program's."""
    seen: dict[int, _Seen] = {}
    processes = [tool]
    for process in processes:
        for thread in (proc / str(process) / "task").iterdir():
            status = (thread / "status").read_text()
            on_cpu, _, _ = (thread / "schedstat").read_text().split()
            switches = sum(map(int, _SWITCHES.findall(status)))
            seen[int(thread.name)] = _Seen(int(on_cpu), switches)
            children = map(int, (thread / "children").read_text().split())
            processes += [child for child in children if child != program]
    return seen


def difference(before: dict[int, _Seen], after: dict[int, _Seen]) -> Attention:
    """Return what was used between two looks; a thread that was not there before began at 0."""
    nothing = _Seen(0, 0)
    cpu_ns = sum(seen.cpu_ns - before.get(thread, nothing).cpu_ns for thread, seen in after.items())
    switches = sum(
        seen.switches - before.get(thread, nothing).switches for thread, seen in after.items()
    )
    return Attention(cpu_ns / 1e9, switches)
