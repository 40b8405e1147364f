"""Samples the threads of a program and of all its descendants while they run.

Masks, the CPU last used and the CPU time come from the kernel's own files (proc(5):
Cpus_allowed_list of /proc/PID/task/TID/status, fields 14, 15, 22 and 39 of .../stat, and the first
of .../schedstat: CPU time in nanoseconds, where fields 14 and 15 have clock ticks of 10 ms).

Libraries with threads of their own are looked for meanwhile: interpreters open some that stand in
no file of theirs (dlopen(3)), and the kernel lists what is mapped in /proc/PID/maps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.errors import is_shortage
from pinstudy.runners.host.processes import (
    children_by_parent,
    has_no_list_of_children,
    ignores_children,
    is_runnable,
    parse_task,
    run_time_s,
    tick_s,
)
from pinstudy.runners.host.program_files import has_threads
from pinstudy.runners.placement.look_log import LoggedLook, LookLog
from pinstudy.runners.placement.thread_trace import Course, Mask, Point, Stay, ThreadTrace

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


ONLINE = "/sys/devices/system/cpu/online"
# The limit for programs that keep starting threads; a trace takes about 1 kB.
MAX_THREADS = 16384
# The limit for a thread that changes its mask at every look: later looks join an equal stay.
MAX_STAYS = 64

# Looks are dense at first, while runtimes create and bind their threads.
FIRST_LOOK_S = 0.0005
LOOK_GROWTH = 1.6
# How often new threads are looked for: no team of a measured loop lives for less.
TURN_S = 0.02
LAST_LOOK_S = 1.0
# A look takes about 60 us a thread. In a steady state looks take this share of one CPU.
COST_SHARE = 0.002
# The share of one CPU that looks may take after a birth.
BIRTH_SHARE = 0.02


class PlacementSampler:
    """Collects the masks and CPUs of all threads of processes and of their descendants."""

    def __init__(
        self,
        pids: Sequence[int],
        proc: Path = Path("/proc"),
        online: Path = Path(ONLINE),
        clock: Callable[[], float] = time.monotonic,
        *,
        descendants_only: bool = False,
        runs_already: bool = False,
        libraries: LoadedLibraries | None = None,
        log: LookLog | None = None,
    ) -> None:
        """Watch these processes, whose files are below `proc`; `online` lists the node's CPUs.

        A mask that was never set names every CPU that could be plugged in, but the kernel uses only
        the online ones (Linux kernel/sched/core.c, sched_getaffinity). With `descendants_only` the
        processes themselves are not sampled: each is a witness, to which the kernel reparents every
        process whose parent has ended. The witnesses of several teams are in their order. With
        `runs_already` the CPU time that a thread had used before the first look is not counted, and
        this process, which may be a descendant of them, is left out.
        `libraries` looks at what the processes load, `log` keeps each look.
        """
        self._proc = str(proc)
        self._clock = clock
        self._online_file = str(online)
        self._online_text = _read(self._online_file)
        listed = _cpus(self._online_text)
        self._online = frozenset(listed) if listed else None
        self._masks: dict[str, Mask | None] = {}
        self._roots = tuple(pids)
        self._descendants_only = descendants_only
        self._runs_already = runs_already
        self._libraries = libraries
        self._log = log
        # Where the kernel does not list children, all processes are read at each look.
        self._unlisted = any(has_no_list_of_children(pid, self._proc) for pid in pids)
        self._children_of: dict[int, list[int]] = {}
        # The links of each process's task folder: one for each thread, and two of its own.
        self._links: dict[int, int] = {}
        self._traces: dict[tuple[int, int], ThreadTrace] = {}
        # When this look, and the one before, came to each thread.
        self._present: dict[tuple[int, int], float] = {}
        self._before: dict[tuple[int, int], float] = {}
        self._hotplugged_cpus: set[int] = set()
        self._looked_s = clock()
        self._cpu_s_on: dict[int, float] = {}
        # What the kernel showed last of a thread's CPU time, and what it has taken back of it.
        self._shown_s: dict[tuple[int, int], float] = {}
        self._taken_back_s: dict[tuple[int, int], float] = {}
        self._in_nanoseconds = False
        self._course = Course()
        self.samples = 0
        self.overflowed = False
        self.drops_children = False

    @property
    def threads(self) -> tuple[ThreadTrace, ...]:
        """The trace of each thread, in the order in which they were found."""
        return tuple(self._traces.values())

    @property
    def hotplugged_cpus(self) -> tuple[int, ...]:
        """CPUs that went offline or came back between the looks."""
        return tuple(sorted(self._hotplugged_cpus))

    @property
    def in_ticks(self) -> bool:
        """Whether the kernel tells the CPU time of these threads in clock ticks only."""
        return not self._in_nanoseconds and any(thread.cpu_s > 0 for thread in self.threads)

    @property
    def course(self) -> tuple[Point, ...]:
        """What all threads had used until some of the looks, without the one at the end."""
        return tuple(self._course.points)

    def sample(self, *, at_end: bool = False) -> None:
        """Look once at every thread; threads that end meanwhile keep their earlier samples.

        Raises OSError when the host is short of open files or memory. `at_end` marks the look just
        after the program and its threads have ended.
        """
        self.samples += 1
        self._look_for_hotplug()
        self._before, self._present, self._links = self._present, {}, {}
        if self._unlisted:
            self._children_of = children_by_parent(self._proc)
        pids = []
        for team, root in enumerate(self._roots):
            pids += self._look_at_family(root, team, at_end)
        if self._libraries:
            self._libraries.look(pids)
        self._looked_s = now = self._clock()
        for key, last_s in self._before.items():
            if key not in self._present:
                trace = self._traces[key]
                # A thread that was at work may have gone on to the end of the time between looks.
                trace.gone_s = (now - last_s) * (1.0 if at_end or trace.pace >= 1 else 0.5)
        if not at_end:
            self._course.add(now, self._cpu_s_on)

    def _look_at_family(self, root: int, team: int, at_end: bool) -> list[int]:
        """Look at a process and its descendants; return their numbers."""
        pids = [root]
        for pid in pids:
            for tid in self._tids(pid):
                if pid != root or not self._descendants_only:
                    self._look_at(pid, tid, team, at_end)
                pids.extend(self._children(pid, tid))
        return pids

    def grown(self) -> bool:
        """Return whether a process ended or changed its number of threads since the last look."""
        return any(self._count(pid) != links for pid, links in self._links.items())

    def _look_for_hotplug(self) -> None:
        text = _read(self._online_file)
        online = _cpus(text) if text != self._online_text else None
        if online and self._online is not None:
            self._hotplugged_cpus |= self._online.symmetric_difference(online)

    def _count(self, pid: int) -> int:
        try:
            return os.stat(f"{self._proc}/{pid}/task").st_nlink  # noqa: PTH116 - per turn
        except OSError:
            return 0

    def _tids(self, pid: int) -> list[int]:
        # Counted before they are listed: `grown` then reports a thread that starts in between.
        self._links[pid] = self._count(pid)
        try:
            return [int(name) for name in os.listdir(f"{self._proc}/{pid}/task")]  # noqa: PTH208 - per look
        except OSError as error:
            if is_shortage(error):
                raise
            return []

    def _children(self, pid: int, tid: int) -> list[int]:
        if self._unlisted:
            children = self._children_of.get(pid, []) if tid == pid else []
        else:
            text = _read(f"{self._proc}/{pid}/task/{tid}/children", whole=True)
            children = [int(child) for child in text.split() if child.isdigit()]
        own = os.getpid() if self._runs_already else None
        return [child for child in children if child != own]

    def _look_at(self, pid: int, tid: int, team: int, at_end: bool) -> None:
        base = f"{self._proc}/{pid}/task/{tid}"
        status = _read(f"{base}/status")
        allowed = self._usable(status)
        stat = _read(f"{base}/stat")
        task = parse_task(stat)
        if allowed is None or task is None:
            return
        key = task.key
        trace = self._trace_of(key, pid, team)
        if trace is None:
            return
        trace.last_look = self.samples
        self._present[key] = now = self._clock()
        if tid == pid and not self.drops_children:
            self.drops_children = ignores_children(status)
        before_s, works = trace.cpu_s, is_runnable(stat)
        if works:
            trace.runnable[self.samples] = now - self._looked_s
        stay_before = trace.stays[-1] if trace.stays else None
        stay = _stay_of(trace, allowed, task.cpu)
        cpu_s = self._cpu_s(key, f"{base}/schedstat", task.cpu_ticks * tick_s())
        spent_s = cpu_s - before_s
        trace.pace = 1.0 if works else _pace(spent_s, now - self._before.get(key, now))
        if stay.looks or works:
            stay.used_s = (stay.used_s or 0.0) + spent_s
        stay.spent_s = (stay.spent_s or 0.0) + spent_s
        if stay is not stay_before:
            stay.entering_s += spent_s
        stay.looks += 1
        stay.ran_on[task.cpu] = stay.ran_on.get(task.cpu, 0) + 1
        stay.cpu_s = cpu_s
        # Of the threads of a team, only the main thread is still there at the end.
        if not at_end:
            for cpu_s_on in (trace.cpu_s_on, self._cpu_s_on):
                cpu_s_on[task.cpu] = cpu_s_on.get(task.cpu, 0.0) + spent_s
        if self._log:
            look = LoggedLook(self.samples, now, task.cpu, works, cpu_s)
            self._log.add(key, pid, team, task.command, look)

    def _trace_of(self, key: tuple[int, int], pid: int, team: int) -> ThreadTrace | None:
        """Return a thread's trace, a new one if need be; None where there are too many."""
        trace = self._traces.get(key)
        if trace is None and len(self._traces) >= MAX_THREADS:
            self.overflowed = True
        elif trace is None:
            trace = ThreadTrace(key[0], pid, first_look=self.samples, team=team)
            self._traces[key] = trace
        return trace

    def _cpu_s(self, key: tuple[int, int], schedstat: str, ticks_s: float) -> float:
        """Return a thread's CPU time so far, in seconds; `ticks_s` is what its stat file tells.

        A thread that executes a program takes over number and start time of its process's main
        thread, but not its CPU time (Linux fs/exec.c, de_thread).
        """
        counted_s = run_time_s(_read(schedstat))
        shown_before_s = self._shown_s.get(key, 0.0)
        if counted_s is not None:
            self._in_nanoseconds = self._in_nanoseconds or counted_s > 0
            shown_s = max(counted_s, ticks_s)
        else:
            # Where the kernel has such files, the thread has ended since its other file was read.
            shown_s = max(shown_before_s, ticks_s) if self._in_nanoseconds else ticks_s
        if self._runs_already and self.samples == 1:
            self._taken_back_s[key] = -shown_s
        taken_back_s = self._taken_back_s.get(key, 0.0)
        if shown_s < shown_before_s:
            self._taken_back_s[key] = taken_back_s = taken_back_s + shown_before_s - shown_s
        self._shown_s[key] = shown_s
        return shown_s + taken_back_s

    def _usable(self, status: str) -> Mask | None:
        """Return the online CPUs of the mask in a thread's status.

        Cached: hundreds of threads have the same mask of hundreds of CPUs at every look.
        """
        listed = status.partition("Cpus_allowed_list:")[2].partition("\n")[0]
        if listed not in self._masks:
            mask = _cpus(listed)
            if mask is not None and self._online is not None:
                mask = tuple(cpu for cpu in mask if cpu in self._online)
            self._masks[listed] = mask
        return self._masks[listed]


class Pace:
    """When to look next: often after a birth, then ever more rarely, as a look's cost allows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._gap_s = FIRST_LOOK_S
        self._cost_s = 0.0
        self._next_s = clock() + FIRST_LOOK_S

    @property
    def pause_s(self) -> float:
        """The seconds until the next look or the next check for new threads."""
        return min(TURN_S, max(0.0, self._next_s - self._clock()))

    def step(self, sampler: PlacementSampler, *, born: bool = False) -> bool:
        """Look if it is time, which is soon and often after a birth; return whether it looked.

        `born` reports a birth that the sampler itself may not have noticed.
        """
        if born or sampler.grown():
            # Never longer: in a program's first moments, looks are dense whatever they cost.
            self._gap_s = min(self._gap_s, max(FIRST_LOOK_S, self._cost_s / BIRTH_SHARE))
            self._next_s = min(self._next_s, self._clock() + self._gap_s)
        began = self._clock()
        if began < self._next_s:
            return False
        sampler.sample()
        now = self._clock()
        self._cost_s = now - began
        steady_s = min(max(TURN_S, self._cost_s / COST_SHARE), LAST_LOOK_S)
        self._gap_s = min(self._gap_s * LOOK_GROWTH, steady_s)
        self._next_s = now + self._gap_s
        return True


def _pace(spent_s: float, since_s: float) -> float:
    """Return the share of the time since the look before that a thread worked; 1 without one."""
    return min(1.0, spent_s / since_s) if since_s > 0 else 1.0


def _stay_of(trace: ThreadTrace, allowed: Mask, cpu: int) -> Stay:
    """Return the stay that a look belongs to.

    A thread that was bound while it slept still shows its former CPU: these looks are a stay of
    their own, until the thread runs again.
    """
    inside = cpu in allowed

    def same(stay: Stay) -> bool:
        return stay.allowed == allowed and inside == set(stay.allowed).issuperset(stay.ran_on)

    if trace.stays and same(trace.stays[-1]):
        return trace.stays[-1]
    if len(trace.stays) >= MAX_STAYS:
        known = next((stay for stay in trace.stays if same(stay)), None)
        # Moved to the end, because the last stay is the latest one.
        if known:
            trace.stays.remove(known)
            trace.stays.append(known)
            return known
    trace.stays.append(Stay(allowed, used_s=0.0))
    return trace.stays[-1]


_BUFFER = 8192


def _read(path: str, *, whole: bool = False) -> str:
    """Return what one read of a file gives, or all of it; empty when the thread has ended.

    One is enough where it does not fill the buffer, as the status of a user with some thousand
    groups does; of a list of children it gives a page (seq_file).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        # Any other error means that the thread has ended.
        if is_shortage(error):
            raise
        return ""
    try:
        data = piece = os.read(descriptor, _BUFFER)
        while piece and (whole or len(piece) == _BUFFER):
            data += (piece := os.read(descriptor, _BUFFER))
        return data.decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _cpus(text: str) -> Mask | None:
    """Return the CPUs of a list, or None for an empty or broken one."""
    try:
        return parse_cpulist(text.strip()) or None
    except ValueError:
        return None
