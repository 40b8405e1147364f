"""How a run's work was divided: among its threads, among core kinds, and over its course. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.base.text import plural
from pinstudy.configs.app import OPENMP_RUNTIMES
from pinstudy.configs.study import RUNTIME_DEFAULT
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.node.topology import CoreKind
from pinstudy.runners.placement.thread_placement import NEGLIGIBLE_SHARE, TICK_S, most_at_a_time
from pinstudy.runners.placement.thread_trace import ThreadTrace, quarters
from pinstudy.runners.plan.case import Case

FIELDS = ("imbalance", "waited", "cpu_share", "team_cpu_s", "course")
# User and system time are each rounded down to a tick: with this much, imbalance is wrong by at
# most 0.04.
MIN_WORK_S = 50 * TICK_S
# They say how long threads wait actively, whatever the wait policy is.
_SPIN_VARIABLES = ("GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def read_imbalance(run: Observation, case: Case, kinds: Iterable[CoreKind]) -> Reading:
    """Return the fields of a run's record that say how its work was divided.

    `kinds` are the node's; each has a number, 0 where it was not used. The team are the busiest
    threads, as many as were asked for, of the process that used almost all CPU time. What they used
    after the last look before the program's end is not known, and not counted.

    Fields: `imbalance`, 1 - mean / largest CPU time of a thread of the team (Pearce, Gamblin, de
    Supinski, Schulz, Amato, "Quantifying the Effectiveness of Load Balance Algorithms", 2012, have
    largest / mean - 1); `waited`, the same with the mean over the threads of each core kind, if
    each thread stayed on one and there are two or more; `team_cpu_s`, CPU seconds by core kind of
    each thread of the team; `cpu_share`, the share of all CPU time by core kind; `course`, CPU
    seconds by core kind in each quarter of the run.
    """
    if reason := case.engine.lacks.get("imbalance"):
        return Reading({}, dict.fromkeys(FIELDS, reason))
    sums = _Kinds(kinds)
    team = _team(run.threads, case.threads)
    if isinstance(team, Unavailable):
        return reading_of(dict.fromkeys(FIELDS, team))
    times = [sum(thread.cpu_s_on.values()) for thread in team]
    if max(times) < MIN_WORK_S:
        few = Unavailable(
            f"the busiest thread used less than {MIN_WORK_S:g} s of CPU time, which the kernel "
            f"rounds to {TICK_S:g} s"
        )
        return reading_of(dict.fromkeys(FIELDS, few))
    by_kind = [sums.of(thread.cpu_s_on) for thread in team]
    everyone = sums.of(run.course[-1].cpu_s_on)
    total_s = sum(everyone.values()) or 1.0
    divided: dict[str, object] = {
        "team_cpu_s": [_rounded(seconds) for seconds in by_kind],
        "cpu_share": {kind: round(s / total_s, 4) for kind, s in everyone.items()},
        "course": [_rounded(sums.of(quarter)) for quarter in quarters(run.course)],
    }
    if sums.unknown:
        unknown = Unavailable(f"the core kind of CPU {min(sums.unknown)} is not known")
        divided = dict.fromkeys(divided, unknown)
    if why := _hides_waiting(case):
        return reading_of(divided | {"imbalance": why, "waited": why})
    divided["imbalance"] = round(max(0.0, 1 - sum(times) / len(times) / max(times)), 4)
    if not sums.unknown and (waited := _waited(by_kind, times)):
        divided["waited"] = waited
    return reading_of(divided)


def _team(threads: Sequence[ThreadTrace], size: int) -> list[ThreadTrace] | Unavailable:
    """Return the team's threads in the order in which they were found, or why it is not known."""
    total_s = sum(thread.cpu_s for thread in threads)
    if not total_s:
        return Unavailable("no look found a thread that had used CPU time")
    used_s: dict[int, float] = {}
    for thread in threads:
        used_s[thread.pid] = used_s.get(thread.pid, 0.0) + thread.cpu_s
    process = max(used_s, key=lambda pid: used_s[pid])
    own_s = used_s[process]
    if total_s - own_s > NEGLIGIBLE_SHARE * total_s:
        return Unavailable(f"{len(used_s)} processes worked, not one team")
    alive = most_at_a_time(thread for thread in threads if thread.pid == process)
    if len(alive) < size:
        return Unavailable(f"only {len(alive)} of {plural(size, 'thread')} were seen at a time")
    team = sorted(alive, key=lambda thread: thread.cpu_s, reverse=True)[:size]
    rest_s = own_s - sum(thread.cpu_s for thread in team)
    if rest_s > NEGLIGIBLE_SHARE * own_s:
        return Unavailable(f"threads were started anew, or more than {size} worked")
    members = {thread.tid for thread in team}
    return [thread for thread in alive if thread.tid in members]


def _hides_waiting(case: Case) -> Unavailable | None:
    """Return why CPU time does not show who waited; None where it does."""
    runtime, policy = case.build.runtime, case.wait_policy
    own = [variable.name for variable in case.variables if variable.name in _SPIN_VARIABLES]
    if case.threads == 1:
        return Unavailable("one thread has none to wait for")
    if own:
        return Unavailable(f"{own[0]} is set: threads that wait may use CPU time")
    if policy == "active":
        return Unavailable("threads that wait actively use CPU time; set wait_policy: passive")
    if policy == RUNTIME_DEFAULT and runtime in OPENMP_RUNTIMES:
        first = f"{runtime} by default waits actively at first"
        return Unavailable(f"{first}; set wait_policy: passive")
    return None


def _waited(by_kind: Sequence[Mapping[str, float]], times: Sequence[float]) -> dict[str, float]:
    """Return by core kind for which share of the busiest thread's CPU time its threads had none.

    Empty where all threads were on one kind, or one was on several or on none.
    """
    shares: dict[str, list[float]] = {}
    for of_thread, time_s in zip(by_kind, times, strict=True):
        if not time_s:
            return {}
        kind = max(of_thread, key=lambda kind: of_thread[kind])
        if time_s - of_thread[kind] > NEGLIGIBLE_SHARE * time_s:
            return {}
        shares.setdefault(kind, []).append(1 - time_s / max(times))
    if len(shares) < 2:
        return {}
    return {kind: round(fmean(of_kind), 4) for kind, of_kind in shares.items()}


class _Kinds:
    """Sums CPU times by core kind; `unknown` are the CPUs without one."""

    def __init__(self, kinds: Iterable[CoreKind]) -> None:
        self._names = {cpu: kind.name for kind in kinds for cpu in kind.cpus}
        self.unknown: set[int] = set()

    def of(self, cpu_s_on: Mapping[int, float]) -> dict[str, float]:
        """Return CPU seconds by core kind, 0 for those that were not used.

        Means over runs would otherwise be those of the runs that used a kind.
        """
        by_kind = dict.fromkeys(self._names.values(), 0.0)
        for cpu, seconds in cpu_s_on.items():
            if cpu in self._names:
                by_kind[self._names[cpu]] += seconds
            else:
                self.unknown.add(cpu)
        return by_kind


def _rounded(by_kind: Mapping[str, float]) -> dict[str, float]:
    # 0 is added because -0.0 may be left of a difference.
    return {kind: round(seconds, 3) + 0.0 for kind, seconds in by_kind.items()}
