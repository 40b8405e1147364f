"""The mark of what a run starts: who started it, in a variable and in the names of folders.

A run's processes outlive a pinstudy that is killed while their witness is stopped or killed too:
launchers, ranks, co-runners, a stopped perf, daemons in sessions of their own. The next run finds
them by the variable, which programs pass on to what they start (environ(7)) and launchers of MPI
to their ranks. Other means lose them: parents change when a witness dies, sessions and groups when
a daemon begins, and a cgroup needs rights that users of batch systems do not have. A program that
clears its environment is found while it descends from one that did not.

The mark names a process by its number and start time in its place: boot, namespace of process
numbers, namespace of time, and lock (pinstudy/runners/host/lock.py). Whoever reads it in another
place (another node's $TMPDIR, a container) cannot judge it, and lets it be. It always has the same
length: a program's first stack address, and with it its speed, depends on the length of its
environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pinstudy.runners.host.processes import has_ended, parse_task, read_task
from pinstudy.runners.host.tree import Tree

VARIABLE = "PINSTUDY_STARTER"
LOCK_VARIABLE = "PINSTUDY_LOCK"
# What measures (perf) has a mark of its own: it is no part of the program that has lost its parent.
PROGRAM, INSTRUMENT = "p", "i"
FOLDER_PREFIX = "pinstudy-"

# A boot has fewer clock ticks than 16^9 in 21 years, and the kernel fewer than 2^22 processes.
_TICKS = 16**9
_NO_PLACE = "0" * 8
_TEXT = re.compile(r"(?P<place>[0-9a-f]{8})(?P<pid>[0-9a-f]{6})(?P<started>[0-9a-f]{9})")
_FOLDER = re.compile(rf"{FOLDER_PREFIX}(?P<starter>{_TEXT.pattern})-.+", re.ASCII)
_PLACE_FILES = ("/proc/self/ns/pid", "/proc/self/ns/time")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROC = Path("/proc")
# The kernel's limit of a program's arguments and environment together is some megabytes.
_MAX_ENVIRONMENT = 4 << 20


@dataclass(frozen=True)
class Starter:
    """A process that starts others; `place` is empty where process numbers cannot be trusted."""

    place: str
    pid: int
    started: int

    def __str__(self) -> str:
        """The starter as text, of the same length for all."""
        return f"{self.place or _NO_PLACE}{self.pid:06x}{self.started % _TICKS:09x}"

    def is_gone(self, stats: Mapping[int, str]) -> bool:
        """Return whether the process has ended, by the stat files of all processes.

        False for a process of another place, of which they say nothing.
        """
        if not self.place or self.place != own_place():
            return False
        text = stats.get(self.pid, "")
        if not text:
            return not _is_there(self.pid)
        task = parse_task(text)
        return task is None or task.started % _TICKS != self.started or has_ended(text)


def own_starter() -> Starter:
    """Return this process as a starter."""
    return _starter_of(os.getpid())


def marked(environment: Mapping[str, str], role: str = PROGRAM) -> dict[str, str]:
    """Return an environment with the mark of what this process starts."""
    # First, where a reader finds it soon.
    return {VARIABLE: ""} | dict(environment) | {VARIABLE: f"{own_starter()}{role}"}


def folder_prefix() -> str:
    """Return how the names of this process's temporary folders begin."""
    return f"{FOLDER_PREFIX}{own_starter()}-"


def starter_of_folder(name: str) -> Starter | None:
    """Return who made the temporary folder of this name; None for any other name."""
    match = _FOLDER.fullmatch(name)
    return parse_starter(match["starter"]) if match else None


def mark_of(pid: int) -> tuple[Starter, str] | None:
    """Return the starter and the role in a process's mark; None without one, or without a right."""
    try:
        with (_PROC / str(pid) / "environ").open("rb") as stream:
            variables = stream.read(_MAX_ENVIRONMENT).split(b"\0")
    except OSError:
        return None
    name = f"{VARIABLE}=".encode()
    texts = (text.removeprefix(name) for text in variables if text.startswith(name))
    return mark_in({VARIABLE: next(texts, b"").decode("ascii", "replace")})


def mark_in(environment: Mapping[str, str]) -> tuple[Starter, str] | None:
    """Return the starter and the role in the mark of an environment; None without one."""
    text = environment.get(VARIABLE, "")
    starter = parse_starter(text[:-1])
    return (starter, text[-1:]) if starter else None


def parse_starter(text: str) -> Starter | None:
    """Return the starter of a text as `Starter` has it; None for any other text."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    place = "" if match["place"] == _NO_PLACE else match["place"]
    return Starter(place, int(match["pid"], 16), int(match["started"], 16))


@cache
def own_place() -> str:
    """Return a digest of this process's lock, boot, and namespaces of process numbers and times.

    Empty where /proc shows another namespace's processes.
    """
    # Imported here: commands that start nothing need no digest.
    import hashlib

    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115
            return ""
        boot = _BOOT.read_text(encoding="ascii")
    except OSError:
        return ""
    spaces = (_link(path) for path in _PLACE_FILES)
    lock = os.environ.get(LOCK_VARIABLE, "")
    return hashlib.sha256("\n".join((boot, *spaces, lock)).encode()).hexdigest()[:8]


def _is_there(pid: int) -> bool:
    """Return whether there is a process of this number, also one that /proc hides (hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""  # kernels without such a namespace


@cache
def _starter_of(pid: int) -> Starter:
    task = read_task(Tree(Path("/")), pid)
    return Starter(own_place() if task else "", pid, task.started if task else 0)
