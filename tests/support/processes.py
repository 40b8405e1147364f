"""Processes that tests started, as /proc shows them; any of them may end in between."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.support.wait import HANG_S, until

# linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36


def alive(pid: int) -> bool:
    """Return whether a process is there and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until_gone(pids: Iterable[int]) -> None:
    """Wait until none of these processes is alive."""
    waiting = {pid: command_line(pid) for pid in pids}
    until(lambda: not any(alive(pid) for pid in waiting), what=f"the end of {waiting}")


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    pids = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # A thread may have ended, and the process has others.
            with suppress(OSError):
                pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def descendants(pid: int) -> Iterator[int]:
    """Yield the children of a process, each before its own children."""
    for child in children(pid):
        yield child
        yield from descendants(child)


@contextmanager
def adopted_orphans() -> Iterator[None]:
    """Let descendants whose parents have ended become children of this process (prctl(2)).

    So a test tells what it has started from what other tests, beside it, have started. At the end
    of the context the new children must be about to end: they are waited for.
    """
    before = children(os.getpid())
    _become_subreaper(True)
    try:
        yield
        for child in set(children(os.getpid())).difference(before):
            until(partial(_reap, child), what=f"the end of {child}")
    finally:
        _become_subreaper(False)


def _reap(child: int) -> bool:
    return os.waitpid(child, os.WNOHANG)[0] == child


def _become_subreaper(yes: bool) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def name_of(pid: int) -> str:
    """Return the kernel's name of a process, empty if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def command_line(pid: int) -> list[str]:
    """Return the command line of a process, empty if it has ended."""
    with suppress(OSError):
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        return [word.decode(errors="replace") for word in raw.split(b"\0")[:-1]]
    return []


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process, which may have ended, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def errors_of(process: subprocess.Popen[str], status: int) -> str:
    """Wait for a process's end with this status; return what it printed on stderr."""
    _, errors = process.communicate(timeout=HANG_S)
    assert process.returncode == status, errors
    return errors


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Kill a process at the end of the context, also when the test fails."""
    try:
        yield process
    finally:
        end(process)


def roots_part_of(asking: int) -> int:
    """Return the process of root's part of a pinstudy: it has a pidfd of that."""
    numbers = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    (found,) = (pid for pid in numbers if pid != asking and _watches(pid, asking))
    return found


def _watches(pid: int, other: int) -> bool:
    try:
        return any(
            f"Pid:\t{other}\n" in info.read_text() for info in Path(f"/proc/{pid}/fdinfo").iterdir()
        )
    except OSError:
        return False
