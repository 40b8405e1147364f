"""Processes that tests have started, as /proc tells of them; any of them may end meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.wait import until


def alive(pid: int) -> bool:
    """Return whether a process is there, and no zombie that only waits for its parent to look."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until_gone(pids: Iterable[int]) -> None:
    """Wait until none of these processes is alive."""
    asked = list(pids)
    until(lambda: not any(alive(pid) for pid in asked))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that are still there."""
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # A thread may have ended, and the process has others.
            with suppress(OSError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def descendants(pid: int) -> Iterator[int]:
    """Yield the children of a process, each before its own children."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def name_of(pid: int) -> str:
    """Return the kernel's name of a process; none of one that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def command_line(pid: int) -> list[str]:
    """Return the words that a process was started with; none for one that has ended."""
    with suppress(OSError):
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        return [word.decode(errors="replace") for word in raw.split(b"\0")[:-1]]
    return []


def end(process: subprocess.Popen[str]) -> None:
    """End a process, which may have ended, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """End a process with the context, whatever a test finds."""
    try:
        yield process
    finally:
        end(process)
