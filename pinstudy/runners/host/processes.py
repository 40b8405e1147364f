"""The processes of a node, from /proc/PID/stat (proc_pid_stat(5)).

Its CPU times are in clock ticks of 10 ms; those in /proc/PID/task/TID/schedstat in nanoseconds.
"""

from __future__ import annotations

import os
import re
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.privileges import root_helper
from pinstudy.runners.host.root_helper import RootHelper
from pinstudy.runners.host.tree import Tree

# A command's name is 15 bytes, and 52 numbers of at most 20 digits follow.
STAT_LIMIT = 4096
# Linux include/linux/sched.h, TASK_COMM_LEN, less its final NUL.
NAME_LENGTH = 15

# The name of a policy that has a priority of its own, or others; sched(7).
_REAL_TIME = {os.SCHED_FIFO: "SCHED_FIFO", os.SCHED_RR: "SCHED_RR"}
_POLICIES = {os.SCHED_OTHER: "", os.SCHED_BATCH: "SCHED_BATCH", os.SCHED_IDLE: "SCHED_IDLE"}

# Limits that shape a program's memory, by the shell's option; personality(2).
_LIMITS = {"-s": resource.RLIMIT_STACK, "-d": resource.RLIMIT_DATA, "-v": resource.RLIMIT_AS}
_NOT_RANDOM = 0x0040000

_NUMBER = re.compile(r"-?[0-9]{1,20}")
_MASK = re.compile(r"[0-9a-f]{16}")
# Positions after the name: field 4 of the manual page is the second one after it.
# Parent, time in user and in system mode, start, and CPU.
_PLACES = tuple(field - 3 for field in (4, 14, 15, 22, 39))


@dataclass(frozen=True)
class Task:
    """A process or a thread: times in clock ticks, `cpu` the CPU that it ran on last."""

    pid: int
    command: str
    parent: int
    user_ticks: int
    system_ticks: int
    started: int
    cpu: int

    @property
    def cpu_ticks(self) -> int:
        """The CPU time in both modes."""
        return self.user_ticks + self.system_ticks

    @property
    def key(self) -> tuple[int, int]:
        """Number and start time: a later process may have the same number."""
        return self.pid, self.started


def inherited_priority() -> str:
    """Return with which policy and nice value programs start, as this process has them.

    Such as `nice 10`, `SCHED_BATCH, nice 10` or `SCHED_FIFO 50`; empty for the usual ones.
    """
    policy, nice = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    if policy & os.SCHED_RESET_ON_FORK:
        return ""
    if policy in _REAL_TIME:
        return f"{_REAL_TIME[policy]} {os.sched_getparam(0).sched_priority}"
    parts = (_POLICIES.get(policy, f"policy {policy}"), f"nice {nice}" if nice else "")
    return ", ".join(filter(None, parts))


def inherited_limits() -> dict[str, str]:
    """Return what programs inherit from this process that shapes their memory, in a shell's words.

    Such as `{"ulimit -s": "8192", "address randomisation": "on"}`, in KiB. The limit of the stack
    is also the size of a thread's stack, and without one the kernel lays out a program otherwise
    (Linux arch/x86/mm/mmap.c, mmap_is_legacy).
    """
    limits = {f"ulimit {option}": _kib(resource.getrlimit(of)[0]) for option, of in _LIMITS.items()}
    try:
        personality = int(Path("/proc/self/personality").read_text(), 16)
    except (OSError, ValueError):
        return limits
    return limits | {"address randomisation": "off" if personality & _NOT_RANDOM else "on"}


def _kib(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit // 1024)


def parse_task(text: str) -> Task | None:
    """Return the process or thread of a stat file, or None for any other text.

    The name stands in parentheses and may hold any character, parentheses and line breaks too.
    """
    number, opening, rest = text.partition(" (")
    command, closing, numbers = rest.rpartition(") ")
    fields = numbers.split()
    if not opening or not closing or len(fields) <= _PLACES[-1]:
        return None
    texts = [number, *(fields[place] for place in _PLACES)]
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return None
    pid, parent, user, system, started, cpu = map(int, texts)
    return Task(pid, command, parent, user, system, started, cpu)


def read_task(tree: Tree, pid: int) -> Task | None:
    """Return a process as it is now, or None when none has this number."""
    return parse_task(known(tree.content(f"/proc/{pid}/stat", STAT_LIMIT)) or "")


def has_ended(text: str) -> bool:
    """Return whether a stat file is of a zombie or of a dead process."""
    return _state(text) in ("Z", "X")


def has_died(pid: int) -> bool:
    """Return whether a process is a zombie, or gone."""
    text = _read_stat(f"/proc/{pid}/stat")
    return text is None or has_ended(text)


def ignores_children(status: str) -> bool:
    """Return whether a process, by its status file, ignores SIGCHLD.

    The kernel then drops the CPU time of its children when they end (wait(2)).
    """
    ignored = status.partition("\nSigIgn:")[2].partition("\n")[0].strip()
    return bool(_MASK.fullmatch(ignored)) and bool(int(ignored, 16) >> signal.SIGCHLD - 1 & 1)


def is_runnable(text: str) -> bool:
    """Return whether a stat file is of a process or thread that runs or waits only for a CPU."""
    return _state(text) == "R"


def _state(text: str) -> str:
    return text.rpartition(") ")[2][:1]


def read_stats(tree: Tree) -> dict[int, str] | Unavailable:
    """Return the stat file of every process by number, without those that end meanwhile.

    They are not parsed: most processes sleep, so callers compare two states as texts. 2000
    processes take about 25 ms.
    """
    names = tree.names("/proc")
    if isinstance(names, Unavailable):
        return names
    found = {}
    for name in names:
        if name.isascii() and name.isdigit():
            path = f"/proc/{name}/stat"
            text = _read_stat(path) if tree.live else tree.content(path, STAT_LIMIT)
            if isinstance(text, str):
                found[int(name)] = text
    if tree.live and 1 not in found and (helper := root_helper()):
        # A /proc that is mounted with hidepid shows others' processes to root alone (proc(5)).
        return _stats_by_root(helper)
    return found


def _stats_by_root(helper: RootHelper) -> dict[int, str]:
    """Return the stat files of all processes as root's part sees them; raises OSError."""
    _, descriptor = helper.ask("processes")
    assert descriptor is not None
    try:
        size = os.fstat(descriptor).st_size
        texts = os.pread(descriptor, size, 0).decode("utf-8", "replace").split("\0")
    finally:
        os.close(descriptor)
    return {int(text.partition(" ")[0]): text for text in texts if text}


def _read_stat(path: str) -> str | None:
    """Read a stat file of this machine without further checks: there are hundreds a run."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, STAT_LIMIT).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    except OSError:  # it has ended meanwhile
        return None


def read_threads(tree: Tree, pid: int) -> list[Task]:
    """Return the threads that a process has now."""
    names = known(tree.names(f"/proc/{pid}/task")) or ()
    texts = (tree.content(f"/proc/{pid}/task/{name}/stat", STAT_LIMIT) for name in names)
    return [task for text in texts if (task := parse_task(known(text) or ""))]


def children_of(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """Return the numbers of a process's children; none of a process that has ended."""
    if has_no_list_of_children(pid, str(proc)):
        return children_by_parent(str(proc)).get(pid, [])
    texts = texts_of_threads(proc / str(pid) / "task", "children")
    return [int(child) for text in texts for child in text.split()]


def has_no_list_of_children(pid: int, proc: str) -> bool:
    """Return whether a process is there, and the kernel does not list its children.

    Some are built without CONFIG_PROC_CHILDREN (Linux fs/proc/Kconfig: off unless another option
    wants it), as Talos was for x86 until 2024 (siderolabs/talos, issue 8986).
    """
    task = f"{proc}/{pid}/task/{pid}"
    # In this order: a process may end in between.
    return not os.access(f"{task}/children", os.F_OK) and os.access(f"{task}/stat", os.F_OK)


def children_by_parent(proc: str) -> dict[int, list[int]]:
    """Return the children of every process that has some, by the parents in all stat files.

    It costs what `read_stats` does, where a list of children costs one read.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir(proc):  # noqa: PTH208 - per look
        if name.isascii() and name.isdigit() and (text := _read_stat(f"{proc}/{name}/stat")):
            parent = text.rpartition(") ")[2].split(" ", 2)[1:2]
            if parent and _NUMBER.fullmatch(parent[0]):
                children.setdefault(int(parent[0]), []).append(int(name))
    return children


def texts_of_threads(tasks: Path, name: str) -> list[str]:
    """Return the file `name` of each thread in a process's folder `tasks`.

    A thread may end meanwhile, and so may the process: then the folder itself cannot be listed.
    """
    texts = []
    with suppress(OSError):
        for thread in os.listdir(tasks):  # noqa: PTH208 - per run
            with suppress(OSError), open(f"{tasks}/{thread}/{name}") as stream:  # noqa: PTH123
                texts.append(stream.read())
    return texts


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds in user and in system mode; a guest's own instructions are user time."""

    user_s: float
    system_s: float

    def __sub__(self, earlier: CpuTime) -> CpuTime:
        """Return the time between two readings."""
        return CpuTime(self.user_s - earlier.user_s, self.system_s - earlier.system_s)


def read_cpu_time(pid: int) -> CpuTime:
    """Return the CPU time of all threads of a process so far; 0 when the process is gone."""
    task = read_task(Tree(Path("/")), pid)
    if task is None:
        return CpuTime(0.0, 0.0)
    return CpuTime(task.user_ticks * tick_s(), task.system_ticks * tick_s())


def waited_cpu_s() -> float:
    """Return the CPU seconds of all children that this process has waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tree_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process, its living descendants and those they waited for."""
    total_s, pids = 0.0, [pid]
    for one in pids:
        numbers = (_read_stat(f"/proc/{one}/stat") or "").rpartition(") ")[2].split()
        # Fields 14 to 17: in user and system mode, its own and those of the children.
        own, of_children = (sum(map(int, numbers[at : at + 2])) for at in (11, 13))
        # For living threads the kernel has nanoseconds, where its ticks are rounded down.
        total_s += max(own * tick_s(), _threads_cpu_s(one)) + of_children * tick_s()
        pids += children_of(one)
    return total_s


def _threads_cpu_s(pid: int) -> float:
    """Return the CPU time of a process's living threads (kernel: sched-stats).

    0 where the kernel does not tell it.
    """
    texts = texts_of_threads(Path(f"/proc/{pid}/task"), "schedstat")
    return sum(run_time_s(text) or 0.0 for text in texts)


def run_time_s(text: str) -> float | None:
    """Return the CPU time in a thread's schedstat file (kernel: sched-stats), in seconds.

    The kernel counts it in nanoseconds, until the last clock tick or switch. None for any other
    text.
    """
    nanoseconds = text.partition(" ")[0]
    return int(nanoseconds) / 1e9 if _NUMBER.fullmatch(nanoseconds) else None


def tick_s() -> float:
    """Return the length of the kernel's clock tick, in seconds."""
    return 1 / os.sysconf("SC_CLK_TCK")
