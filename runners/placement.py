"""Where threads were, and whether that is where the mapping put them.

The masks and the CPU last used come from the kernel's own files (proc(5): Cpus_allowed_list of
/proc/PID/task/TID/status, field 39 of .../stat): OpenMP runtimes that ignore their places exit
with status 0, so only the kernel can tell.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from configs.cpulist import format_cpulist, parse_cpulist
from configs.words import plural

ONLINE = "/sys/devices/system/cpu/online"
# A run shorter than this may end before the sampler has met all its threads.
TOO_SHORT_S = 0.05
# A run that is just not too short has nine looks; where there were fewer than these, the sampler
# was kept from looking, on a busy node, and may have met as little.
FEW_LOOKS = 7


@dataclass
class ThreadTrace:
    """One thread: its process, the mask it was last seen with, the CPUs it was seen on."""

    tid: int
    pid: int
    allowed: tuple[int, ...] = ()
    seen: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Proof:
    """Whether the threads were where the mapping says: `proved`, `violated` or `unproved`."""

    verdict: str
    reason: str = ""


class PlacementSampler:
    """Collects the masks and CPUs of all threads of a program and of its descendants."""

    def __init__(self, pid: int, proc: Path = Path("/proc"), online: Path = Path(ONLINE)) -> None:
        """Watch this process, whose files are below `proc`; `online` lists the node's CPUs.

        A mask that nobody has set names every CPU that could ever be plugged in, and the kernel
        uses what is online of it (Linux kernel/sched/core.c, sched_getaffinity).
        """
        self._proc = str(proc)
        self._online_file = str(online)
        self._online_text = _read(self._online_file)
        listed = _cpus(self._online_text)
        self._online = frozenset(listed) if listed else None
        self._masks: dict[str, tuple[int, ...] | None] = {}
        self._root_pid = pid
        self._pids = [pid]
        self.samples = 0
        self.threads: dict[int, ThreadTrace] = {}
        self._plugged: set[int] = set()

    @property
    def plugged(self) -> tuple[int, ...]:
        """CPUs that went offline or came back between the looks."""
        return tuple(sorted(self._plugged))

    def sample(self) -> None:
        """Look once at every thread; threads that end meanwhile keep what was seen before."""
        self.samples += 1
        self._look_for_plugged()
        pids = [self._root_pid]
        for pid in pids:
            for tid in self._tids(pid):
                self._look_at(pid, tid)
                pids.extend(self._children(pid, tid))

    def _look_for_plugged(self) -> None:
        text = _read(self._online_file)
        online = _cpus(text) if text != self._online_text else None
        if online and self._online is not None:
            self._plugged |= self._online.symmetric_difference(online)

    def _tids(self, pid: int) -> list[int]:
        try:
            return [int(name) for name in os.listdir(f"{self._proc}/{pid}/task")]  # noqa: PTH208 - per look
        except (OSError, ValueError):
            return []

    def _children(self, pid: int, tid: int) -> list[int]:
        text = _read(f"{self._proc}/{pid}/task/{tid}/children")
        return [int(child) for child in text.split() if child.isdigit()]

    def _look_at(self, pid: int, tid: int) -> None:
        base = f"{self._proc}/{pid}/task/{tid}"
        allowed = self._usable(_allowed_list(_read(f"{base}/status")))
        cpu = _last_cpu(_read(f"{base}/stat"))
        if allowed is None or cpu is None:
            return
        trace = self.threads.setdefault(tid, ThreadTrace(tid, pid))
        trace.allowed = allowed
        trace.seen[cpu] += 1

    def _usable(self, listed: str | None) -> tuple[int, ...] | None:
        """Return the CPUs of a mask that are online; of each mask it is found out once.

        Hundreds of threads have the same one at every look, of as many CPUs.
        """
        if listed is None:
            return None
        if listed not in self._masks:
            mask = _cpus(listed)
            if mask is not None and self._online is not None:
                mask = tuple(cpu for cpu in mask if cpu in self._online)
            self._masks[listed] = mask
        return self._masks[listed]


def _read(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 8192).decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _allowed_list(status: str) -> str | None:
    _, found, rest = status.partition("Cpus_allowed_list:")
    return rest.partition("\n")[0] if found else None


def _cpus(text: str) -> tuple[int, ...] | None:
    try:
        return parse_cpulist(text.strip())
    except ValueError:
        return None


def _last_cpu(stat: str) -> int | None:
    # The command's name, field 2, may itself hold blanks and brackets.
    fields = stat.rpartition(")")[2].split()
    return int(fields[36]) if len(fields) > 36 and fields[36].isdigit() else None


def program_threads(threads: Iterable[ThreadTrace]) -> list[ThreadTrace]:
    """Return the threads of the process that has most of them, in the order they were created.

    A program started through a script has a waiting shell beside it, which pins nothing.
    """
    by_process: dict[int, list[ThreadTrace]] = {}
    for thread in threads:
        by_process.setdefault(thread.pid, []).append(thread)
    if not by_process:
        return []
    largest = max(by_process.values(), key=len)
    return sorted(largest, key=lambda thread: thread.tid)


def why_plugged(cpus: Collection[int]) -> str:
    """Return in words that CPUs were not there all the time; empty when there are none."""
    listed = format_cpulist(sorted(cpus))
    return f"CPU {listed} went offline or came back while the program ran" if cpus else ""


def prove(
    threads: Iterable[ThreadTrace],
    tightness: str,
    cpus: tuple[int, ...],
    wanted_threads: int,
    elapsed_s: float,
    plugged: Iterable[int] = (),
    looks: int = FEW_LOOKS,
) -> Proof:
    """Compare what was seen in so many `looks` with what the mapping says.

    `cpus` are those that the mapping gives the program, in any order. Under `none` and `set` every
    thread must be allowed exactly these; under `pin` each of the `wanted_threads` threads must be
    allowed exactly one of them, and no CPU may have more threads than times it stands there. None
    of them may be `plugged`, gone or come meanwhile: a mask does not tell of it.
    """
    mask = tuple(sorted(set(cpus)))
    if problem := why_plugged(set(plugged).intersection(mask)):
        return Proof("violated", problem)
    everyone = list(threads)
    team = program_threads(everyone)
    seldom = elapsed_s < TOO_SHORT_S or looks < FEW_LOOKS
    if not team:
        return Proof("unproved", f"no thread was seen: the run lasted {elapsed_s:.4g} s")
    stray = _outside(everyone, mask) or (
        _not_pinned(team, Counter(cpus)) if tightness == "pin" else _not_free(team, mask)
    )
    if stray:
        thread, reason = stray
        if seldom and thread.seen.total() == 1:
            # Runtimes bind a thread just after its birth; one look may have come before.
            return Proof("unproved", f"{reason}, seen once in a run of {elapsed_s:.4g} s")
        return Proof("violated", reason)
    if tightness == "pin" and len(team) > wanted_threads:
        return Proof("violated", f"{len(team)} threads ran, {wanted_threads} were asked for")
    if len(team) < wanted_threads:
        count = f"{len(team)} of {wanted_threads} threads"
        if seldom:
            told = f"{plural(looks, 'look')} at a run of {elapsed_s:.4g} s"
            return Proof("unproved", f"only {count} seen in {told}")
        return Proof("violated", f"only {count} ran")
    return Proof("proved")


_Problem = tuple[ThreadTrace, str]


def _outside(threads: list[ThreadTrace], mask: tuple[int, ...]) -> _Problem | None:
    for thread in threads:
        strays = sorted(set(thread.seen) - set(mask))
        if strays:
            text = f"thread {thread.tid} ran on CPU {format_cpulist(strays)}"
            return thread, f"{text}, outside {format_cpulist(mask)}"
    return None


def _not_free(team: list[ThreadTrace], mask: tuple[int, ...]) -> _Problem | None:
    for thread in team:
        if thread.allowed != mask:
            text = f"thread {thread.tid} was bound to CPU {format_cpulist(thread.allowed)}"
            return thread, f"{text}; the mapping allows {format_cpulist(mask)}"
    return None


def _not_pinned(team: list[ThreadTrace], places: Counter[int]) -> _Problem | None:
    owners: dict[int, list[int]] = {}
    for thread in team:
        cpus = format_cpulist(thread.allowed)
        if len(thread.allowed) != 1 or thread.allowed[0] not in places:
            return thread, (
                f"thread {thread.tid} was allowed CPU {cpus}; "
                f"the mapping pins each thread to one CPU of {format_cpulist(places)}"
            )
        there = owners.setdefault(thread.allowed[0], [])
        there.append(thread.tid)
        if len(there) > places[thread.allowed[0]]:
            listed = " and ".join(map(str, there))
            return thread, f"threads {listed} were {_all(there)} pinned to CPU {cpus}"
    return None


def _all(things: list[int]) -> str:
    return "both" if len(things) == 2 else "all"
