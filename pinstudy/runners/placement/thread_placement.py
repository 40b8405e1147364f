"""Proves whether the threads of a run were where its mapping puts them. Pure.

OpenMP runtimes that ignore their places exit with status 0, so the proof uses the kernel's data:
the affinity masks and CPUs of all threads at many looks (pinstudy/runners/placement/sampler.py),
the CPU time of all processes at their end, and perf's counts. A thread is judged twice: by each
look at it if it worked for long, and by its CPU time, which is added to that of all others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, takewhile
from math import inf
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.decoding import Count
from pinstudy.base.text import plural
from pinstudy.runners.placement.thread_trace import Mask, Stay, ThreadTrace

# A run shorter than this may end before the sampler has seen all its threads.
TOO_SHORT_S = 0.05
# The shortest run that can be proved gets nine looks. With fewer than these, the sampler was
# delayed on a busy node, and may have missed threads.
FEW_LOOKS = 7
# The kernel may round CPU times down to clock ticks of 10 ms (USER_HZ, time(7)).
TICK_S = 0.01
# A thread with less CPU time is judged by that alone, and not by each look at it: a look may have
# found it before it was bound, or between its end and its parent's notice of that.
BRIEF_S = 0.01
# A thread that was created and has waited since then has used some 0.1 ms.
AT_WORK_S = 0.001
# What all threads together may use until they are bound, or after that, where 5 % of their CPU time
# are less: dynamic linking, reading of input.
UNBOUND_S = 0.01
# Runtimes bind a thread just after its birth; libomp binds the main thread in its first call, when
# the program has been linked. They may use this until then, or this share of a thread's CPU time.
SETTLING_S = 0.02
SETTLING_SHARE = 0.01
# The placement of threads and processes that used no more than this share of all CPU time does not
# matter (a shell that waits, a helper that polls). The proof holds for the other 95 %.
NEGLIGIBLE_SHARE = 0.05
# A rank's main thread may use so much CPU time elsewhere while MPI starts: libpsm and libpsm2,
# which Open MPI loads, each bind it to CPU 0 for 100 ms, and measure the clock.
MPI_START_S = 0.1
# The kernel moves a thread when it starts, executes a program or is bound. libomp also moves its
# main thread once to each CPU of its affinity mask.
MOVES_OF_A_BIRTH = 4


@dataclass(frozen=True)
class Samples:
    """The samples of a run's threads, and the CPU time that its processes used.

    `cpu_s` is the CPU time of all its processes at their end, `task_clock_s` the CPU time that perf
    counted, both in seconds, and `migrations` perf's count; None where not known.
    `hotplugged_cpus` are CPUs that went offline or came back. `unmet` is how many new threads no
    look found; None where births are not reported. `overflowed` is set when there were too many
    threads to follow. `uncharged_s` is how long interrupts and the hypervisor had the CPUs.
    `in_ticks` is set where the threads' CPU times are rounded down to clock ticks, `drops_children`
    where a process was seen to ignore SIGCHLD: the CPU time of its children is not in `cpu_s`.
    """

    threads: Sequence[ThreadTrace]
    looks: int
    elapsed_s: float
    hotplugged_cpus: Collection[int] = ()
    cpu_s: float | None = None
    task_clock_s: float | None = None
    migrations: float | None = None
    unmet: int | None = None
    overflowed: bool = False
    uncharged_s: float = 0.0
    in_ticks: bool = False
    drops_children: bool = False

    @property
    def seen_s(self) -> float:
        """The CPU time that looks have seen."""
        return sum(thread.cpu_s for thread in self.threads)


@dataclass(frozen=True)
class Proof:
    """Whether the threads were where the mapping says: `proved`, `violated` or `unproved`."""

    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class Expected:
    """The placement that a mapping promises: binding, CPUs in any order, number of threads.

    Beside them at most `helpers` threads may be anywhere, at most `free_agents`, which OpenMP makes
    beside its teams, and the threads of at most `helper_processes`. `by_words` is set where the
    runtime itself finds the CPUs that the mapping describes, `mpi` for a rank, which MPI may move
    while it starts.

    Under `none` and `set` every thread must be allowed exactly these CPUs; under `pin` each must be
    allowed exactly one of the places, always the same. A place is a CPU, or one of `places` where
    the mapping has a name for them. A CPU that `cpus` lists n times may have at most n threads at a
    time; the threads are divided evenly among `places`, as OMP_PROC_BIND=close does (OpenMP 5.2,
    section 10.1.3).
    """

    binding: str
    cpus: Mask
    threads: Count
    helpers: Count = 0
    places: tuple[Mask, ...] = ()
    by_words: bool = False
    mpi: bool = False
    helper_processes: Count = 0
    free_agents: Count = 0

    @cached_property
    def capacity(self) -> dict[Mask, int]:
        """How many threads each place may have at a time under `pin`."""
        if self.places:
            return dict.fromkeys(self.places, -(-self.threads // len(self.places)))
        return Counter((cpu,) for cpu in self.cpus)

    @property
    def mask(self) -> Mask:
        """The CPUs, ascending, each once."""
        return tuple(sorted(set(self.cpus)))

    def place_of(self, thread: ThreadTrace) -> Mask:
        """Return the mask that a thread must have: under `pin` the last of its own that is a place.

        A thread that was never in a place gets its last mask.
        """
        if self.binding != "pin":
            return self.mask
        places = self.capacity
        own = (stay.allowed for stay in reversed(thread.stays) if stay.allowed in places)
        return next(own, thread.allowed)

    def in_place(self, thread: ThreadTrace) -> Callable[[Stay], bool]:
        """Return a predicate: whether a stay of this thread is where the mapping puts it."""
        within = set(self.cpus)
        place = self.place_of(thread)
        possible = self.binding != "pin" or place in self.capacity
        return lambda stay: possible and stay.allowed == place and within.issuperset(stay.ran_on)

    def astray(self, thread: ThreadTrace) -> Callable[[Stay], bool]:
        """Return a predicate: whether something has put this thread where no mapping would.

        That is outside of the mapping's CPUs, or, where the kernel was told the CPUs before the
        program began, to others than these. A thread that may still be bound is not astray.
        """
        within, place = set(self.cpus), set(self.place_of(thread))

        def is_astray(stay: Stay) -> bool:
            allowed = set(stay.allowed)
            if self.by_words and allowed >= place:
                return False
            if self.binding == "pin":
                possible = allowed >= place or allowed <= within
            else:
                possible = allowed == place
            return not (possible and within.issuperset(stay.ran_on))

        return is_astray


def hotplug_problem(cpus: Collection[int]) -> str:
    """Return a message that these CPUs went offline or came back; empty without CPUs."""
    listed = format_cpulist(sorted(cpus))
    return f"CPU {listed} went offline or came back while the program ran" if cpus else ""


def prove(samples: Samples, expected: Expected, *, long_lived: bool = False) -> Proof:
    """Compare the samples of the threads with what the mapping promises.

    The verdict is `violated` when a thread was seen elsewhere, or several used more than 5 % of all
    CPU time there; `unproved` when there are too few looks, or more than 5 % of all CPU time was
    not in place. Hotplug of one of the mapping's CPUs is a violation too: masks do not show it.
    `long_lived` threads were placed before the run: each of them decides, idle or not, and none of
    their looks is forgiven.
    """
    if problem := hotplug_problem(set(samples.hotplugged_cpus).intersection(expected.cpus)):
        return Proof("violated", problem)
    if problem := _sampling_problem(samples):
        return Proof("unproved", problem)
    deciding = list(samples.threads) if long_lived else busy_threads(samples.threads)
    team = without_helpers(deciding, expected)
    late = ""
    for thread in team:
        if _is_brief(thread) and not long_lived:
            continue
        stays = thread.stays if long_lived else _deciding_stays(thread, expected)
        problem, only_late = _misplaced(thread, stays, expected)
        if problem and not only_late:
            return Proof("violated", problem)
        late = late or problem
    if expected.binding == "pin" and (problem := _crowding(team, expected, samples.elapsed_s)):
        return Proof("violated", problem)
    helpers = {id(thread) for thread in deciding}.difference(map(id, team))
    account = account_of(samples, expected, helpers)
    if not long_lived and (problem := account.astray_problem(expected)):
        return Proof("violated", problem)
    problem = late or cpu_time_problem(samples) or ("" if long_lived else account.problem)
    # perf does not tell the migrations of helpers, which may move, from those of the team.
    if len(team) == len(deciding):
        problem = problem or migration_problem(samples, expected)
    if problem:
        return Proof("unproved", problem)
    return _team_size_proof(samples, expected, team)


def busy_threads(threads: Iterable[ThreadTrace]) -> list[ThreadTrace]:
    """Return the threads whose placement decides.

    Left out are threads without CPU time, and those with less than 5 % of the busiest thread's, as
    long as the threads left out used at most 5 % of all CPU time.
    """
    by_time = sorted(threads, key=lambda thread: thread.cpu_s)
    if not by_time:
        return []
    total = sum(thread.cpu_s for thread in by_time)
    busiest = by_time[-1].cpu_s
    left_s = NEGLIGIBLE_SHARE * total
    deciding = []
    for thread in by_time:
        left_s -= thread.cpu_s
        if thread.cpu_s > 0 and (left_s < 0 or thread.cpu_s >= NEGLIGIBLE_SHARE * busiest):
            deciding.append(thread)
    return sorted(deciding, key=lambda thread: (thread.first_look, thread.tid))


def _is_brief(thread: ThreadTrace) -> bool:
    """Return whether a thread used so little CPU time that no single look at it decides."""
    return thread.cpu_s < BRIEF_S


def without_helpers(threads: list[ThreadTrace], expected: Expected) -> list[ThreadTrace]:
    """Return the threads without free agents and helpers.

    As long as no more threads live at a time than the team has, none of them is one. Free agents
    are first those that are in no place, then the youngest: runtimes bind none, or bind them after
    the team. Helpers are those with the least CPU time.
    """
    places = expected.capacity if expected.binding == "pin" else {}
    team = _without_helper_processes(threads, expected)
    team = _without_surplus(
        team,
        expected,
        expected.free_agents,
        lambda thread: (expected.place_of(thread) in places, -thread.first_look, -thread.tid),
    )
    return _without_surplus(team, expected, expected.helpers, lambda thread: thread.cpu_s)


def _without_surplus(
    team: list[ThreadTrace], expected: Expected, at_most: int, order: Callable[[ThreadTrace], Any]
) -> list[ThreadTrace]:
    """Return the threads without the first ones in an order, as long as the rest are a team."""
    if not at_most:
        return team
    more = len(most_at_a_time(team)) - expected.threads
    surplus = sorted(team, key=order)[: max(0, min(more, at_most))]
    return [thread for thread in team if thread not in surplus]


def _without_helper_processes(threads: list[ThreadTrace], expected: Expected) -> list[ThreadTrace]:
    """Return the threads without those of helper processes, as long as the rest are a team."""
    used_s: dict[int, float] = defaultdict(float)
    for thread in threads if expected.helper_processes else ():
        used_s[thread.pid] += thread.cpu_s
    team = threads
    for pid in sorted(used_s, key=lambda pid: used_s[pid])[: expected.helper_processes]:
        rest = [thread for thread in team if thread.pid != pid]
        if len(most_at_a_time(rest)) < expected.threads:
            break
        team = rest
    return team


def most_at_a_time(threads: Iterable[ThreadTrace]) -> list[ThreadTrace]:
    """Return the largest group of threads that lived at the same time, by the looks at them."""
    everyone = list(threads)
    changes = Counter(thread.first_look for thread in everyone)
    changes.subtract(thread.last_look + 1 for thread in everyone)
    looks = sorted(changes)
    alive = dict(zip(looks, accumulate(changes[look] for look in looks), strict=True))
    fullest = max(alive, key=lambda look: alive[look], default=0)
    return [thread for thread in everyone if thread.first_look <= fullest <= thread.last_look]


def _most_at_work(threads: Iterable[ThreadTrace], elapsed_s: float) -> list[ThreadTrace]:
    """Return the largest group of threads that worked at the same time, by the looks at them.

    Threads of one process are a team and count as long as they live. Those of several processes
    count at the looks that found them runnable, because a process that waits for another does not
    work beside it: likwid-pin's wrapper of pthread_create waits for an nm at each thread's birth.
    They must be runnable together for more than 5 % of the run: a process that has just started
    another may wait for a CPU before it can wait for its child. So must brief threads: one of them
    may not have ended when the next is born.
    """
    everyone = list(threads)
    lasting = [thread for thread in everyone if not _is_brief(thread)]
    processes = dict.fromkeys(thread.pid for thread in lasting)
    groups = [
        most_at_a_time(thread for thread in lasting if thread.pid == pid) for pid in processes
    ]
    if len(groups) > 1 or len(lasting) < len(everyone):
        groups.append(_together_for(everyone, elapsed_s))
    return max(groups, key=len, default=[])


def surplus_team(threads: Iterable[ThreadTrace], expected: Expected, elapsed_s: float) -> int:
    """Return how many threads worked side by side for more than 5 % of the run, if more than asked.

    Otherwise 0. Pinned threads that are too many violate their placement; others share the CPUs
    that they may use, and nothing but this tells that the run is of more threads than its case. So
    do free agents, under each binding.
    """
    if expected.binding == "pin" and not expected.free_agents:
        return 0
    team = without_helpers(busy_threads(threads), replace(expected, free_agents=0))
    many = len(_together_for(team, elapsed_s))
    return many if many > expected.threads else 0


def _together_for(threads: Sequence[ThreadTrace], elapsed_s: float) -> list[ThreadTrace]:
    """Return a group of the largest size that was runnable together for over 5 % of the run.

    On a busy node a shell may long be runnable that only waits for a CPU to wait for its child in.
    So all of these threads but the busiest must also have used more than 5 % of the CPU time of
    all, and than a moment. 5 % of the run can be more than they get where they wait for others for
    most of it, and two workers on one CPU would be taken for one. A single look may be at a start.
    """
    seconds = NEGLIGIBLE_SHARE * elapsed_s
    all_s = sum(thread.cpu_s for thread in threads)
    least_s = min(seconds, max(BRIEF_S, NEGLIGIBLE_SHARE * all_s))
    runnable = defaultdict(list)
    for thread in threads:
        for look in thread.runnable:
            # A thread that was born since the look before has not been there all the time.
            if look > thread.first_look or not _is_brief(thread):
                runnable[look].append(thread)
    together_s = 0.0
    used_s: dict[int, float] = {}
    fullest = sorted(runnable.items(), key=lambda item: len(item[1]), reverse=True)
    for number, (look, group) in enumerate(fullest, 1):
        used_s |= {id(thread): thread.cpu_s for thread in group}
        together_s += min(thread.runnable[look] for thread in group)
        others_s = sum(used_s.values()) - max(used_s.values())
        if number > 1 and together_s > seconds and others_s > least_s:
            return group
    return []


def _sampling_problem(samples: Samples) -> str:
    if samples.overflowed:
        return f"more than {len(samples.threads)} threads were born, too many to follow"
    if not samples.threads:
        return f"no thread was seen: the run lasted {samples.elapsed_s:.4g} s"
    if samples.elapsed_s < TOO_SHORT_S or samples.looks < FEW_LOOKS:
        looks = f"{plural(samples.looks, 'look')} at a run of {samples.elapsed_s:.4g} s"
        return f"too few looks: {looks}; a larger size lasts longer"
    return ""


def forgiven_looks(thread: ThreadTrace, expected: Expected) -> dict[str, int]:
    """Return how many looks at a thread are forgiven, by the reason; without those of none."""
    settling = settling_looks(thread, expected)
    passed = sum(stay.looks for stay in _passed(_bound_stays(thread, expected), thread, expected))
    looks = {
        "settling_looks": settling + passed,
        "released_looks": released_looks(thread, expected),
        "idle_looks": sum(
            stay.looks for stay in _idle_elsewhere(_bound_stays(thread, expected), thread, expected)
        ),
    }
    return {name: number for name, number in looks.items() if number}


def _deciding_stays(thread: ThreadTrace, expected: Expected) -> list[Stay]:
    """Return the stays of a thread without those that are forgiven."""
    stays = _bound_stays(thread, expected)
    passed = {id(stay) for stay in _passed(stays, thread, expected)}
    stays = [stay for stay in stays if id(stay) not in passed]
    idle = _idle_elsewhere(stays, thread, expected)
    return [stay for stay in stays if stay not in idle]


def _bound_stays(thread: ThreadTrace, expected: Expected) -> list[Stay]:
    """Return the stays of a thread from when it was bound until it was let go."""
    first, last = settling_looks(thread, expected), released_looks(thread, expected)
    stays = list(thread.stays)
    while first > 0:
        first -= stays.pop(0).looks
    while last > 0:
        last -= stays.pop().looks
    return stays


def _passed(stays: Sequence[Stay], thread: ThreadTrace, expected: Expected) -> list[Stay]:
    """Return those of its stays in which a main thread passed from CPU to CPU, if it did so once.

    In a program's first call of libomp, its main thread binds itself to one CPU after the other to
    identify them. It uses next to no CPU time then, and has its mask or its place afterwards.
    """
    in_place, within = expected.in_place(thread), set(expected.cpus)
    place = set(expected.place_of(thread))

    def is_on_its_way(stay: Stay) -> bool:
        unbound = expected.binding == "pin" and place.issubset(stay.allowed)
        return not (in_place(stay) or unbound)

    ways = [number for number, stay in enumerate(stays) if is_on_its_way(stay)]
    if thread.tid != thread.pid or not ways:
        return []
    passed = list(stays[ways[0] : ways[-1] + 1])
    around = stays[: ways[0]], stays[ways[-1] + 1 :]
    possible = expected.by_words or all(
        within.issuperset(stay.allowed) and within.issuperset(stay.ran_on) for stay in passed
    )
    # What it used since the look before the first of them was before.
    used_s = passed[-1].cpu_s - passed[0].cpu_s + _within_s(passed[0], stays)
    return passed if possible and all(around) and used_s <= SETTLING_S else []


def _within_s(stay: Stay, stays: Sequence[Stay]) -> float:
    """Return the CPU time between the looks of one of these stays, in seconds."""
    if stay.spent_s is not None:
        return stay.spent_s - stay.entering_s
    before = stays[: next(number for number, other in enumerate(stays) if other is stay)]
    return stay.cpu_s - (before[-1].cpu_s if before else 0.0)


def _idle_elsewhere(stays: Sequence[Stay], thread: ThreadTrace, expected: Expected) -> list[Stay]:
    """Return those of its stays outside of its place in which a rank's thread was as good as idle.

    They are those of MPI's start. If the thread used more CPU time in them, all its stays count.
    """
    away = _away(stays, expected.in_place(thread)) if expected.mpi else []
    enough = _used_s(away) <= max(TICK_S, NEGLIGIBLE_SHARE * thread.cpu_s)
    return away if enough else []


def _away(stays: Sequence[Stay], in_place: Callable[[Stay], bool]) -> list[Stay]:
    """Return the stays outside of a thread's place; none where it was never in its place."""
    away = [stay for stay in stays if not in_place(stay)]
    return away if len(away) < len(stays) else []


def _used_s(stays: Iterable[Stay]) -> float:
    """Return the CPU time of some stays in seconds; infinite where it is not known."""
    return sum(inf if stay.used_s is None else stay.used_s for stay in stays)


def settling_looks(thread: ThreadTrace, expected: Expected) -> int:
    """Return how many of a thread's first looks are forgiven: those until it was bound.

    It must have used next to no CPU time until then. A runtime may bind it several times at first:
    libomp goes from CPU to CPU to identify them.
    """
    in_place = expected.in_place(thread)
    soon_s = max(SETTLING_S, SETTLING_SHARE * thread.cpu_s)
    early = list(takewhile(lambda stay: stay.cpu_s <= soon_s, thread.stays))
    while early and in_place(early[-1]):
        early.pop()
    return sum(stay.looks for stay in early) if len(early) < len(thread.stays) else 0


def released_looks(thread: ThreadTrace, expected: Expected) -> int:
    """Return how many of a thread's last looks are forgiven: those after it was let go.

    When a program ends, libomp (16 and 19, not 14) gives its main thread the mask of before, which
    contains the thread's place. It must be the last look, or the thread must have used next to no
    CPU time since the first look that found it free; it may have worked in its place until then.
    Where the kernel was told the CPUs before the program began, under `none` and `set`, no runtime
    has bound a thread that it could let go.
    """
    in_place = expected.in_place(thread)
    free = list(takewhile(lambda stay: not in_place(stay), reversed(thread.stays)))
    bound = thread.stays[: len(thread.stays) - len(free)]
    if not free or not bound or not (expected.binding == "pin" or expected.by_words):
        return 0
    place, within = set(expected.place_of(thread)), set(expected.cpus)
    if not all(place < set(stay.allowed) and within.issuperset(stay.ran_on) for stay in free):
        return 0
    looks = sum(stay.looks for stay in free)
    used_s = thread.cpu_s - bound[-1].cpu_s - free[-1].entering_s
    return looks if looks == 1 or used_s <= max(TICK_S, NEGLIGIBLE_SHARE * thread.cpu_s) else 0


def _misplaced(thread: ThreadTrace, stays: Sequence[Stay], expected: Expected) -> tuple[str, bool]:
    """Return where a misplaced thread was (empty: in its place), and whether that proves nothing.

    Of its stays only these decide. Under `pin`, a thread may have been bound late: it was unbound
    for more than its first moments and then stayed in its place, because some runtimes bind threads
    only at their first parallel region. A rank may have been moved by MPI's start.
    """
    in_place = expected.in_place(thread)
    wrong = [stay for stay in stays if not in_place(stay)]
    if not wrong:
        return "", False
    looks = sum(stay.looks for stay in wrong)
    first, mask = wrong[0], format_cpulist(expected.mask)
    allowed = format_cpulist(first.allowed)
    often = "" if looks == thread.looks else f" at {looks} of {plural(thread.looks, 'look')}"
    strays = sorted(set(first.ran_on).difference(expected.cpus))
    if strays:
        text = f"thread {thread.tid} ran on CPU {format_cpulist(strays)}, outside {mask}"
    elif expected.binding == "pin":
        text = (
            f"thread {thread.tid} was allowed CPU {allowed}{often}; "
            f"the mapping pins each thread to one {_kind_of_place(expected)}"
        )
    else:
        text = f"thread {thread.tid} was bound to CPU {allowed}{often}; the mapping allows {mask}"
    if expected.binding == "pin" and _bound_late(stays, in_place):
        share = wrong[-1].cpu_s / thread.cpu_s
        return text + f"; it was bound after {share:.0%} of its CPU time", True
    used_s = _used_s(_away(stays, in_place))
    if expected.mpi and 0 < used_s <= MPI_START_S:
        return text + "; MPI may have moved it when it started: a larger size would show it", True
    return text, False


def _kind_of_place(expected: Expected) -> str:
    """Return what a thread is pinned to one of."""
    if not expected.places:
        return f"CPU of {format_cpulist(expected.mask)}"
    return "of the places " + " ".join(f"{{{format_cpulist(place)}}}" for place in expected.places)


def _bound_late(stays: Sequence[Stay], in_place: Callable[[Stay], bool]) -> bool:
    """Return whether a thread's masks first contained its CPU, then were this CPU to the end."""
    lead = list(takewhile(lambda stay: not in_place(stay), stays))
    after = stays[len(lead) :]
    free = all(set(stay.allowed).issuperset(stays[-1].allowed) for stay in lead)
    return bool(after) and free and all(in_place(stay) for stay in after)


def _crowding(team: list[ThreadTrace], expected: Expected, elapsed_s: float) -> str:
    """Return a message about a CPU with too many threads, or too many threads in all, if any."""
    by_place = defaultdict(list)
    for thread in team:
        # A brief thread may have been unbound at all looks.
        if (place := expected.place_of(thread)) in expected.capacity:
            by_place[place].append(thread)
    for place, those in by_place.items():
        there = _most_at_work(those, elapsed_s)
        if len(there) > expected.capacity[place]:
            listed = " and ".join(str(thread.tid) for thread in there)
            every = "both" if len(there) == 2 else "all"
            return f"threads {listed} were {every} pinned to CPU {format_cpulist(place)}"
    many = len(_most_at_work(team, elapsed_s))
    if many > expected.threads:
        were = "was" if expected.threads == 1 else "were"
        return f"{many} threads ran at the same time, {expected.threads} {were} asked for"
    return ""


@dataclass(frozen=True)
class Account:
    """Where a program used its CPU time, in seconds.

    Looks saw `seen_s`, of this `in_place_s` where the mapping puts the threads, and `astray_s`
    where no mapping would; `stray` is the thread that used most of that. `start_s` is what may be
    forgiven of what is neither, threads that are not yet bound. `later_s` is what threads that were
    last seen in place may have used since then. All processes used `known_s`, and at most
    `dropped_s` more. `unmet` is that of Samples.
    """

    in_place_s: float
    start_s: float
    astray_s: float
    stray: ThreadTrace | None
    seen_s: float
    later_s: float
    known_s: float
    dropped_s: float
    unmet: int | None

    def astray_problem(self, expected: Expected) -> str:
        """Return a message if more than 5 % of the CPU time was seen elsewhere, else empty."""
        allowed_s = NEGLIGIBLE_SHARE * self.known_s
        # MPI moves a rank's main thread when it starts.
        if expected.mpi:
            allowed_s = max(allowed_s + self.start_s, MPI_START_S)
        if self.stray is None or self.astray_s <= allowed_s:
            return ""
        # Its last mask may be the right one, and a right mask need not be where it ran.
        wrong = _astray(self.stray, expected)[0]
        where = f"was allowed CPU {format_cpulist(wrong.allowed)}"
        if wrong.allowed == expected.mask:
            where = f"ran on CPU {format_cpulist(sorted(wrong.ran_on))}"
        part = f"{self.astray_s:.3g} s of {self.known_s:.3g} s of CPU time"
        return (
            f"{part} were used by threads that were elsewhere: thread {self.stray.tid}, "
            f"for one, {where}; the mapping has {format_cpulist(expected.mask)}"
        )

    @property
    def problem(self) -> str:
        """A message if more than 5 % of the CPU time are not known to be in place, else empty."""
        total_s = self.known_s + self.dropped_s
        not_in_place_s = self.seen_s - self.in_place_s - self.start_s
        unseen_s = max(0.0, total_s - self.seen_s - self.later_s)
        if not_in_place_s + unseen_s <= NEGLIGIBLE_SHARE * total_s:
            return ""
        if not_in_place_s > unseen_s:
            part, how = not_in_place_s, "while threads were not, or not yet, in their places"
        elif self.unmet == 0:
            part, how = unseen_s, "after the last looks at threads"
        else:
            part, how = unseen_s, "by threads that no look has met"
        return f"{part:.3g} s of {total_s:.3g} s of CPU time were used {how}"


def account_of(samples: Samples, expected: Expected, helpers: Collection[int] = ()) -> Account:
    """Return where the CPU time was used; threads with an id() of `helpers` may be anywhere."""
    in_place_s = unbound_s = astray_s = later_s = most_s = 0.0
    stray = None
    for thread in samples.threads:
        parts = (thread.cpu_s, 0.0, 0.0)
        if id(thread) not in helpers:
            parts = _parts_s(thread, expected)
        in_place_s, unbound_s = in_place_s + parts[0], unbound_s + parts[1]
        astray_s += parts[2]
        if parts[2] > most_s:
            most_s, stray = parts[2], thread
        if id(thread) in helpers or any(map(expected.in_place(thread), thread.stays[-1:])):
            later_s += _later_s(thread, samples)
    return Account(
        in_place_s=in_place_s,
        start_s=min(UNBOUND_S, unbound_s + (astray_s if expected.mpi else 0.0)),
        astray_s=astray_s,
        stray=stray,
        seen_s=samples.seen_s,
        later_s=later_s,
        known_s=_known_s(samples),
        dropped_s=_dropped_s(samples),
        unmet=samples.unmet,
    )


def _astray(thread: ThreadTrace, expected: Expected) -> list[Stay]:
    """Return the stays in which something has put a thread where no mapping would."""
    is_astray = expected.astray(thread)
    passed = {id(stay) for stay in _passed(thread.stays, thread, expected)}
    return [stay for stay in thread.stays if is_astray(stay) and id(stay) not in passed]


def _parts_s(thread: ThreadTrace, expected: Expected) -> tuple[float, float, float]:
    """Return the seconds of CPU time that a thread used in place, unbound and astray.

    The time until the first look at it counts where that look found it. So does the time between
    looks that found it in different places, but what it used just before or after it was bound is
    in place. Where something has led a thread astray, what it used just before it was seen in place
    counts nowhere, unless MPI or a runtime that finds the CPUs itself may have done that.
    """
    in_place = expected.in_place(thread)
    astray = {id(stay) for stay in _astray(thread, expected)}
    in_doubt = bool(astray) and not (expected.mpi or expected.by_words)
    in_place_s = unbound_s = astray_s = 0.0
    was_in_place = False
    for stay, spent_s in zip(thread.stays, thread.spent_s, strict=True):
        before_s = stay.entering_s if was_in_place and not in_doubt else 0.0
        was_in_place = in_place(stay)
        if was_in_place:
            in_place_s += spent_s - (stay.entering_s if in_doubt else 0.0)
        elif id(stay) in astray:
            astray_s += spent_s
        else:
            in_place_s, unbound_s = in_place_s + before_s, unbound_s + spent_s - before_s
    return in_place_s, unbound_s, astray_s


def _known_s(samples: Samples) -> float:
    """Return the CPU time that all processes are known to have used, in seconds.

    The kernel drops the CPU time of children whose parent ignores SIGCHLD, but looks may have found
    them, and perf counts them.
    """
    known_s = max(samples.cpu_s or 0.0, samples.seen_s)
    if _is_dropped(samples) and samples.task_clock_s is not None:
        return max(known_s, samples.task_clock_s - samples.uncharged_s - TICK_S)
    return known_s


def _dropped_s(samples: Samples) -> float:
    """Return how much CPU time the kernel may have dropped without a trace, in seconds.

    Each thread may have worked until the look that missed it.
    """
    if not _is_dropped(samples) or samples.task_clock_s is not None:
        return 0.0
    return sum(thread.gone_s for thread in samples.threads)


def _is_dropped(samples: Samples) -> bool:
    """Return whether the CPU time of some processes is not in that of all at their end."""
    if samples.drops_children:
        return True
    # A parent may also say so when it sets its handler (SA_NOCLDWAIT, sigaction(2)).
    return samples.cpu_s is not None and samples.seen_s > samples.cpu_s + AT_WORK_S


def cpu_time_problem(samples: Samples) -> str:
    """Return a message if much CPU time may be in no process that ended, else empty."""
    if samples.cpu_s is None:
        return ""
    clock = samples.task_clock_s
    if clock is None:
        if _is_dropped(samples) and samples.unmet != 0:
            return (
                "a process ignores the end of its children, whose CPU time the kernel then drops; "
                "perf would count it"
            )
        return ""
    accounted = max(samples.cpu_s, samples.seen_s)
    # perf's clock runs on while interrupts or the hypervisor have the CPU, which the kernel charges
    # to no process (update_rq_clock_task in kernel/sched/core.c).
    if clock - accounted - samples.uncharged_s > NEGLIGIBLE_SHARE * clock + TICK_S:
        counted = f"perf counted {clock:.3g} s of CPU time"
        return f"{counted}, of which processes account for {accounted:.3g} s only"
    return ""


def _later_s(thread: ThreadTrace, samples: Samples) -> float:
    """Return what a thread may have used since the last look at it, in seconds.

    It is assumed to have gone on as before, and to have used no more than the looks showed:
    hundreds of short-lived threads may come and go between two looks, and the few that are found do
    not stand for the others.
    """
    gone_s = thread.gone_s * thread.pace
    if not samples.in_ticks:
        # The kernel counts what a thread at work uses at its ticks (HZ of 100 or more).
        behind_s = TICK_S if thread.pace >= 1 else 0.0
        return min(gone_s + behind_s, thread.cpu_s)
    # Half a tick each of user and of system time are rounded down.
    return min(gone_s + TICK_S, max(thread.cpu_s, TICK_S / 2))


def migration_problem(samples: Samples, expected: Expected) -> str:
    """Return a message if pinned threads moved more often than their births explain, else empty."""
    # Within a place of several CPUs the scheduler may move a thread.
    moves = any(len(place) > 1 for place in expected.places)
    if expected.binding != "pin" or moves or samples.migrations is None:
        return ""
    births = len(samples.threads) + (samples.unmet or 0)
    processes = len({thread.pid for thread in samples.threads})
    if samples.migrations <= MOVES_OF_A_BIRTH * births + processes * len(expected.mask):
        return ""
    counted = f"perf counted {plural(int(samples.migrations), 'migration')}"
    return f"{counted} of {plural(births, 'thread')} that stay where they are pinned"


def _team_size_proof(samples: Samples, expected: Expected, team: Sequence[ThreadTrace]) -> Proof:
    """Compare the number of threads with the one that was requested.

    A thread with next to no CPU time is not counted, but it may be a member of the team without
    work. So few milliseconds count in one process alone: a shell waits for the helpers it starts.
    """
    ran = len(most_at_a_time(team))
    at_work = [thread for thread in samples.threads if thread.cpu_s >= AT_WORK_S]
    processes = dict.fromkeys(thread.pid for thread in at_work)
    worked = max(
        (len(most_at_a_time(own for own in at_work if own.pid == pid)) for pid in processes),
        default=0,
    )
    if max(ran, worked) >= expected.threads:
        return Proof("proved")
    busiest = max(samples.threads, key=lambda thread: thread.cpu_s).pid
    there = len(most_at_a_time(thread for thread in samples.threads if thread.pid == busiest))
    if there >= expected.threads:
        few = f"only {worked} of {expected.threads} threads used CPU time"
        return Proof("unproved", f"{few}; a larger size gives all of them work")
    few = f"only {there} of {expected.threads} threads"
    if samples.unmet == 0:
        return Proof("violated", f"{few} ran")
    return Proof("unproved", f"{few} were seen in {plural(samples.looks, 'look')}")
