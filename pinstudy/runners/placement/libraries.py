"""Which libraries with threads of their own a program has loaded, found while it runs.

Interpreters open libraries that stand in no file of theirs (dlopen(3)). The kernel lists a
process's mapped files in /proc/PID/maps (proc(5)).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

from pinstudy.runners.host.program_files import has_threads

# Of a program with many processes so many are looked at.
MAX_PROCESSES = 8
# Of a process with more mappings the first ones are read.
MAX_BYTES = 4 << 20


class LoadedLibraries:
    """The libraries of a program's processes, looked at ever more rarely.

    An interpreter loads them in its first seconds, and reading the list of a large process takes a
    millisecond.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._files: set[str] = set()
        self._asked = 0
        self._next = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files, in alphabetical order."""
        return tuple(sorted(self._files))

    def look(self, pids: Iterable[int]) -> None:
        """Look at these processes, the first time and whenever twice as many calls were made."""
        self._asked += 1
        if self._asked < self._next:
            return
        self._next *= 2
        for pid in list(pids)[:MAX_PROCESSES]:
            for line in self._maps(pid).splitlines():
                name = PurePath(line.partition("/")[2]).name
                if has_threads(name):
                    self._files.add(name)

    def _maps(self, pid: int) -> str:
        try:
            with (self._proc / str(pid) / "maps").open("rb") as file:
                return file.read(MAX_BYTES).decode(errors="replace")
        except OSError:
            # It has ended, or belongs to another user.
            return ""
