"""A scheduler of sched_ext, in force as long as its program runs.

The kernel takes its own scheduler back when the program ends, in whatever way, and when it throws
the scheduler out: after an error in it, or when a thread that could run waited for too long (Linux
Documentation/scheduler/sched-ext.rst). The programs of github.com/sched-ext/scx end on SIGINT, and
print `EXIT: REASON` (rust/scx_utils/src/user_exit_info.rs); the name of a scheduler is that of its
program without `scx_`, mostly with a version behind it (rust/scx_utils/src/build_id.rs).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence

from pinstudy.base.command import without_interruption
from pinstudy.base.reading import Unavailable
from pinstudy.base.text import one_line
from pinstudy.configs.settings import KERNEL, PREFIX
from pinstudy.runners.host.privileges import program_for_root, root_helper
from pinstudy.runners.host.processes import CpuTime, read_cpu_time
from pinstudy.runners.host.root_helper import RefusedError, RootHelper
from pinstudy.runners.host.supervisor import let_go, supervised
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.scheduler import (
    DISABLED,
    ENABLED,
    SCHED_EXT,
    SCHED_EXT_NAME,
    read_loaded,
)
from pinstudy.runners.records.settings_of_runs import NO_SCHED_EXT
from pinstudy.runners.settings.setting import Present, Setting

# A scheduler is verified and compiled in the kernel first; large ones take some seconds.
LOAD_LIMIT_S = 30.0
# The kernel waits for every CPU and thread to leave it.
UNLOAD_LIMIT_S = 10.0
# Between SIGINT and SIGKILL, and beyond that for the supervisor.
_GRACE_S = 10.0
_PAUSE_S = 0.02
_EXIT = "EXIT:"
_OPTION = re.compile(
    r"--?[A-Za-z][A-Za-z0-9-]*(?:=[A-Za-z0-9_,:+%-]+)?|[0-9]+(?:\.[0-9]+)?[a-z%]{0,3}", re.ASCII
)
_VERSION = re.compile(r"_[0-9]+\..*")
_NO_TIME = CpuTime(0.0, 0.0)


class SchedExt(Setting):
    """Which scheduler is in force; it has no file that is written, so that its program loads it."""

    name = "sched_ext"
    title = "the scheduler"
    paths = re.compile(re.escape(SCHED_EXT_NAME))
    # SCX_OPS_NAME_LEN of Linux include/linux/sched/ext.h.
    texts = re.compile(r"[A-Za-z0-9_.-]{1,127}", re.ASCII)
    of_scheduler = True

    def read(self, now: Present) -> str | Unavailable:
        """Return the loaded scheduler as a study names its program, or KERNEL."""
        loaded = read_loaded(now.tree)
        return loaded if isinstance(loaded, Unavailable) else scheduler_of(loaded)

    def text(self, tree: Tree, path: str) -> str | Unavailable:
        """Return the loaded scheduler's name; without one there is no file to read."""
        return read_loaded(tree)


def belongs_to(program: str, loaded: str) -> bool:
    """Return whether a scheduler of this name is that of a program, in any version."""
    names = (program, program.removeprefix(PREFIX))
    return any(loaded == name or loaded.startswith(f"{name}_") for name in names)


def scheduler_of(loaded: str) -> str:
    """Return the program of a loaded scheduler, as a study names it; KERNEL for NO_SCHED_EXT."""
    if loaded == NO_SCHED_EXT:
        return KERNEL
    return PREFIX + _VERSION.sub("", loaded).removeprefix(PREFIX)


def await_loaded(tree: Tree, name: str) -> str:
    """Wait until the scheduler of this name, or NO_SCHED_EXT, is in force; return why it is not."""
    if _holds(lambda: _is_settled(tree) and read_loaded(tree) == name, UNLOAD_LIMIT_S):
        return ""
    loaded = read_loaded(tree)
    if isinstance(loaded, Unavailable):
        return loaded.reason
    if name == NO_SCHED_EXT:
        return (
            f"the scheduler {loaded} of sched_ext is still in force: end its program "
            f"(`sudo pkill -INT {scheduler_of(loaded)}`)"
        )
    return f"the scheduler {name} of sched_ext was in force before: start its program again"


def await_program(tree: Tree, program: str | None) -> str:
    """Wait until the scheduler of a program, or of none, is in force; return why it is not."""

    def holds() -> bool:
        loaded = read_loaded(tree)
        if not _is_settled(tree) or isinstance(loaded, Unavailable):
            return False
        return loaded == NO_SCHED_EXT if program is None else belongs_to(program, loaded)

    if _holds(holds, LOAD_LIMIT_S):
        return ""
    found = read_loaded(tree)
    loaded = found.reason if isinstance(found, Unavailable) else f"sched_ext has {found}"
    return f"{program or KERNEL} was not in force after {LOAD_LIMIT_S:g} s: {loaded}"


def _is_settled(tree: Tree) -> bool:
    return tree.word(SCHED_EXT) in (ENABLED, DISABLED)


def _holds(condition: Callable[[], bool], limit_s: float) -> bool:
    """Wait until a condition holds; return whether it did within so many seconds."""
    until = time.monotonic() + limit_s
    while not (holds := condition()) and time.monotonic() < until:
        time.sleep(_PAUSE_S)
    return holds


def unsafe_for_root(command_line: str) -> str | None:
    """Return why root does not start a scheduler for the user who called sudo, or None.

    That user may be allowed to start pinstudy as root, and nothing else: neither a program of the
    user's own, nor one that reads or writes any file as root.
    """
    if "/" in command_line:
        return (
            f"{command_line} names a file, which root does not open for the user of sudo: log in "
            "as root"
        )
    program, *arguments = command_line.split()
    if unknown := [word for word in arguments if _OPTION.fullmatch(word) is None]:
        # scx_chaos(1) runs what stands behind `--`, and other words may be names of files.
        return (
            f"{command_line} has the argument {unknown[0]}; root takes options and numbers alone "
            "from the user of sudo, such as --slice-us=5000: log in as root"
        )
    found = program_for_root(program)
    return found if isinstance(found, str) else None


class OwnScheduler:
    """The program of a scheduler that this process has started; it ends with it."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises OSError where it cannot be started."""
        # One that nobody knows of could not be ended.
        with without_interruption():
            # Where no program can make a file: some write examples into their folder.
            self._supervisor = supervised(command, _GRACE_S, stderr=subprocess.DEVNULL, cwd="/proc")
        assert self._supervisor.stdout
        self.pid = int(self._supervisor.stdout.readline() or 0)

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._supervisor.poll() is not None

    def end(self) -> tuple[bytes, int]:
        """End it; return the last of what it wrote, and its exit status."""
        said = let_go(self._supervisor, 2 * _GRACE_S)
        return said, self._supervisor.returncode


class SchedulerOfRoot:
    """The program of a scheduler that root's part has started."""

    def __init__(self, helper: RootHelper, command_line: str) -> None:
        """Raises OSError and RefusedError where it cannot be started."""
        self._helper = helper
        self.pid = int(helper.ask("scheduler", command_line=command_line)[0]["pid"])

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return bool(self._helper.ask("scheduler-ended")[0]["ended"])

    def end(self) -> tuple[bytes, int]:
        """End it; return the last of what it wrote, and its exit status."""
        answer, _ = self._helper.ask("scheduler-end")
        return str(answer["said"]).encode(), int(answer["status"])


class SchedulerProgram:
    """The program of a scheduler that pinstudy starts; it ends with this process at the latest."""

    def __init__(self, tree: Tree, command_line: str) -> None:
        """`command_line` is that of a study: a program and its arguments."""
        self.command_line = command_line
        self._tree = tree
        self._program, *self._arguments = command_line.split()
        self._running: OwnScheduler | SchedulerOfRoot | None = None
        self._loaded_at = 0.0

    def start(self) -> str:
        """Start the program and wait until its scheduler is in force; return why it is not."""
        path = shutil.which(self._program)
        if path is None:
            return f"there is no {self._program} on the PATH"
        try:
            if helper := root_helper() if self._tree.live else None:
                self._running = SchedulerOfRoot(helper, self.command_line)
            else:
                self._running = OwnScheduler([path, *self._arguments])
        except (OSError, RefusedError) as error:
            return f"{path} cannot be started: {error}"
        _holds(lambda: self.in_force or self.ended, LOAD_LIMIT_S)
        if self.in_force:
            self._loaded_at = time.monotonic()
            return ""
        ended, loaded = self.ended, read_loaded(self._tree)
        why = self.stop()
        if ended:
            return f"{self.command_line} was not loaded: {why}"
        found = loaded if isinstance(loaded, str) else "none"
        return (
            f"{self.command_line} was not in force after {LOAD_LIMIT_S:g} s: sched_ext has {found}"
        )

    @property
    def in_force(self) -> bool:
        """Whether its scheduler, or another version of it, is the one in force."""
        loaded = read_loaded(self._tree)
        if isinstance(loaded, Unavailable) or self._tree.word(SCHED_EXT) != ENABLED:
            return False
        return belongs_to(self._program, loaded)

    @property
    def ended(self) -> bool:
        """Whether the program has ended by itself."""
        return self._running is None or self._running.has_ended()

    @property
    def pid(self) -> int:
        """Its process; 0 where none was started."""
        return self._running.pid if self._running else 0

    @property
    def loaded_s(self) -> float:
        """For how many seconds its scheduler has been in force."""
        return time.monotonic() - self._loaded_at

    @property
    def cpu_time(self) -> CpuTime:
        """The CPU time of its process so far, without that of its part in the kernel."""
        return read_cpu_time(self.pid) if self._tree.live and self.pid else _NO_TIME

    def await_end(self, limit_s: float) -> None:
        """Wait for the program's end."""
        _holds(lambda: self.ended, limit_s)

    def stop(self) -> str:
        """End the program and wait until the kernel's own scheduler is back; return its reason.

        That is what it last said of its end, or how it ended.
        """
        if self._running is None:
            return ""
        said, status = self._running.end()
        self._running = None
        await_loaded(self._tree, NO_SCHED_EXT)
        lines = said.decode(errors="replace").splitlines()
        reasons = [line.partition(_EXIT)[2] for line in lines if _EXIT in line]
        told = one_line((reasons or [*filter(str.strip, lines)] or [""])[-1])
        return told or f"its program ended with status {status} and said nothing"
