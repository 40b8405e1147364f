"""Undoes perf's scaling: from its extrapolated rows to the counts of each PMU.

A per-task event is enabled all the time but runs only while the task is on a CPU of its PMU, and
perf prints counted x enabled / running (tools/lib/perf/evsel.c, perf_counts_values__scale). On a
hybrid node each row is thus extrapolated to the whole run, and their sum has no meaning. A row of
100 % was not extrapolated: its running time is its enabled time. Otherwise a software event shows
the enabled time, because it runs whenever the task does. The two times differ where a kernel before
6.2, which switches software and hardware events one after the other, is interrupted in between: in
a guest by several milliseconds (kernel/events/core.c, perf_event_task_sched_in).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pinstudy.base.reading import Unavailable
from pinstudy.runners.records.perf.output import PerfOutput, Row

SOFTWARE = "software"

# perf-list(1), software events, and the short names that perf accepts for three of them.
_ALIASES = {"cs": "context-switches", "migrations": "cpu-migrations", "faults": "page-faults"}
_ALIASES |= {"cpu-cycles": "cycles"}
# Their names in perf before 3.17 and before 3.0 (tools/perf/util/parse-events.c, event_symbols).
_ALIASES |= {"CPU-migrations": "cpu-migrations"}
_ALIASES |= {f"{clock}-msecs": clock for clock in ("task-clock", "cpu-clock")}
# perf's names of events, and their names on ARM's PMUs (Linux drivers/perf/arm_pmuv3.c,
# armv8_pmuv3_perf_map).
ARM_NAMES = {
    "cycles": "cpu_cycles",
    "instructions": "inst_retired",
    "cache-misses": "l1d_cache_refill",
}
_ALIASES |= {arm_name: name for name, arm_name in ARM_NAMES.items()}
# Their names on the one PMU of x86 (Linux arch/x86/events/core.c, events_attr).
X86_NAMES = {name: name for name in ("instructions", "cache-misses")} | {"cycles": "cpu-cycles"}
_CLOCKS = frozenset({"task-clock", "cpu-clock"})
SOFTWARE_EVENTS = _CLOCKS | {
    "page-faults",
    "minor-faults",
    "major-faults",
    "context-switches",
    "cpu-migrations",
    "cgroup-switches",
    "alignment-faults",
    "emulation-faults",
    "bpf-output",
    "dummy",
}
# The kernel counts these in kernel mode: restricted to user mode they are always 0.
_IN_KERNEL_ONLY = frozenset({"context-switches", "cpu-migrations", "cgroup-switches"})
# Measured by perf itself, not by the kernel for the task: their running time is not the task's.
TOOL_EVENTS = frozenset({"duration_time", "user_time", "system_time"})

_CORE_PMU = re.compile(r"cpu|cpu_(core|atom|lowpower)|armv\d+_\w+|apple_\w+_pmu", re.ASCII)

# An event that was counting for less than this share of the time was multiplexed. Switching a
# task's events takes a little time too, so the sum over PMUs is rarely the whole time.
MULTIPLEXED_BELOW = 0.99
# A thread is on the CPUs of one PMU at a time. Above this share of the time, PMUs cannot all have
# been counting: the two clocks differ a little, and perf prints hundredths of a percent.
_IMPOSSIBLE_ABOVE = 1.01
# Nor can events be enabled for another time than the program ran: by more than this share of it,
# and by more than what interrupts between two clocks take (above: several milliseconds).
_CLOCKS_DIFFER, _CLOCKS_DIFFER_NS = 0.05, 20_000_000
# What perf may cut off a printed share.
_PRINTED_TO = 1e-4
# No CPU has such a clock: the highest that was ever reached, in liquid helium, is 9.1 GHz.
MAX_GHZ = 10.0
# The most that a core counts of an event in a cycle: it retires ten instructions or so, and has
# some dozens of requests under way, each of which events of occupancy count in every cycle.
_MOST_IN_A_CYCLE = {"cycles": 1, "instructions": 32}
_MOST_OF_OTHERS = 100
# In the reasons of counts that no node can have: their instrument is wrong, and not absent.
CANNOT_BE = "which cannot be"
# A core that runs counts these: 0 is what a counter shows that does not work.
_NEVER_ZERO = ("cycles", "instructions")

# Rows by their PMU and their event's usual name.
_Rows = dict[tuple[str | None, str], Row]
# How long each PMU counted an event, in nanoseconds, by the event.
_Times = dict[str, dict[str | None, int]]

HIDDEN_FROM_USERS = (
    "only the kernel can count it and perf may count user mode only; as root: "
    "sysctl kernel.perf_event_paranoid=1"
)


@dataclass(frozen=True)
class RawCount:
    """What one PMU counted of one event, times in nanoseconds.

    `enabled_ns` is the total time of the task's threads on CPUs, `running_ns` the part of it in
    which this PMU was counting. `multiplexed` is whether the event lost time to other events (then
    `value` covers only a part of the program); None when that is not known.
    """

    event: str
    pmu: str | None
    value: int
    enabled_ns: int
    running_ns: int
    multiplexed: bool | None
    user_only: bool


@dataclass
class RawCounts:
    """All counts of a run; `problems` has a reason for each (PMU, event) that has none.

    `kinds_of` are the node's core PMUs with the kinds each covers. `on_pmu_ns` is how long each
    core PMU counted any event, in nanoseconds: the time that the program spent on its CPUs, unless
    all its events were multiplexed. `task_clock_ns` is the total time of the program's threads on
    CPUs, and `enabled_ns` the same time as core PMUs' events were enabled; None when no row shows
    it.
    """

    kinds_of: Mapping[str, Sequence[str]]
    task_clock_ns: int | None
    enabled_ns: int | None
    counts: list[RawCount] = field(default_factory=list)
    problems: dict[tuple[str | None, str], str] = field(default_factory=dict)
    on_pmu_ns: dict[str | None, int] = field(default_factory=dict)
    pmus: tuple[str | None, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The core kinds that PMUs count."""
        return list(dict.fromkeys(kind for kinds in self.kinds_of.values() for kind in kinds))

    @property
    def complete(self) -> bool:
        """Whether every core PMU has a time, and they add up to the program's whole time."""
        return self._covered and set(self.on_pmu_ns) >= set(self.pmus)

    def never_ran_on(self, pmu: str | None) -> bool:
        """Whether the program spent all its time on other PMUs' CPUs."""
        return self._covered and self.on_pmu_ns.get(pmu, 0) == 0

    @property
    def impossible(self) -> str:
        """Why the times of the PMUs cannot be those of one program; empty if they can be.

        Software events and PMUs outside the cores are not among them: they count side by side.
        """
        if self._enabled_at_other_times:
            return (
                f"events of cores were enabled for {(self.enabled_ns or 0) / 1e9:.3g} s of the "
                f"program's {(self.task_clock_ns or 0) / 1e9:.3g} s of CPU time, {CANNOT_BE}: they "
                "were enabled on some CPUs only, or the log is of two programs"
            )
        counting_ns = sum(self.on_pmu_ns.values())
        if not self.enabled_ns or counting_ns <= _IMPOSSIBLE_ABOVE * self.enabled_ns:
            return ""
        names = " and ".join(pmu or "core events" for pmu, ns in self.on_pmu_ns.items() if ns)
        share = counting_ns / self.enabled_ns
        return (
            f"{names} were counting for {share:.0%} of the program's time, {CANNOT_BE}: events "
            "were multiplexed, enabled on each PMU's own CPUs only, or counted on all CPUs (-a)"
        )

    @property
    def _enabled_at_other_times(self) -> bool:
        if not (self.on_pmu_ns and self.enabled_ns and self.task_clock_ns):
            return False
        apart_ns = abs(self.enabled_ns - self.task_clock_ns)
        return apart_ns > max(_CLOCKS_DIFFER * self.task_clock_ns, _CLOCKS_DIFFER_NS)

    @property
    def _covered(self) -> bool:
        if not self.enabled_ns:
            return False
        return not _falls_short(self.on_pmu_ns.values(), self.enabled_ns)

    def counts_of(self, event: str, kind: str | None = None) -> list[RawCount]:
        """Return an event's counts: those of every PMU, or of the PMUs that count this kind."""
        found = [count for count in self.counts if count.event == event]
        if kind is None:
            return found
        return [count for count in found if kind in self.kinds_on(count.pmu)]

    def kinds_on(self, pmu: str | None) -> Sequence[str]:
        """Return the core kinds that a PMU counts."""
        return self.kinds_of.get(pmu or "", ())

    def absent(self, event: str) -> Unavailable:
        """Return why an event has no count."""
        reasons = (reason for (_, name), reason in self.problems.items() if name == event)
        return Unavailable(next(reasons, f"{event}: perf printed no row for it"))


def undo_scaling(
    output: PerfOutput, kinds_of: Mapping[str, Sequence[str]], unsupported_reason: str = ""
) -> RawCounts:
    """Return the raw counts of one run.

    `kinds_of` are the node's core PMUs with the core kinds each covers
    (`pinstudy.runners.measure.perf.events.kinds_of_pmus`); `unsupported_reason` is why this node
    refuses hardware events, if it does.
    """
    core, others = _whole_rows(output, kinds_of)
    not_scaled_ns = max((row.run_ns for row in core.values() if row.always), default=0)
    task_clock_ns = _task_clock_ns(others) or not_scaled_ns or None
    enabled_ns = not_scaled_ns or task_clock_ns
    raw = RawCounts(kinds_of, task_clock_ns, enabled_ns)
    for (pmu, event), row in others.items():
        _add_other(raw, pmu, event, row)
    raw.pmus = tuple(dict.fromkeys([*kinds_of, *(pmu for pmu, _ in core)]))
    if len(kinds_of) > 1:  # a bare row's None is no PMU of a hybrid node
        raw.pmus = tuple(pmu for pmu in raw.pmus if pmu is not None)
    for (pmu, _), row in core.items():
        if row.state != "not supported" and pmu in raw.pmus:
            raw.on_pmu_ns[pmu] = max(raw.on_pmu_ns.get(pmu, 0), row.run_ns)
    times: _Times = {}
    for (pmu, event), row in core.items():
        running = times.setdefault(event, {})
        if row.state != "not supported":
            running[pmu] = row.run_ns
    lost_time = _multiplexed_events(raw, times)
    for (pmu, event), row in core.items():
        problem = _core_problem(raw, pmu, row, unsupported_reason)
        if problem:
            raw.problems[pmu, event] = problem
        elif enabled_ns and row.value is not None:
            value = round(row.value if row.always else row.value * row.run_ns / enabled_ns)
            multiplexed = lost_time[event]
            raw.counts.append(
                RawCount(event, pmu, value, enabled_ns, row.run_ns, multiplexed, row.user_only)
            )
    return raw


def believable(raw: RawCounts) -> RawCounts:
    """Return the counts without those of cores that cannot be; these have a reason instead.

    To be asked of a whole run: the times of a part of it may be off by more than the part is long.
    """
    impossible = raw.impossible
    reasons = {
        (count.pmu, count.event): reason
        for count in raw.counts
        if count.pmu in raw.pmus and (reason := impossible or _why_no_count(count, raw))
    }
    if impossible:
        # From such times nothing follows of where the program never ran.
        unused = [key for key in raw.problems if key[0] in raw.pmus and raw.never_ran_on(key[0])]
        reasons |= dict.fromkeys(unused, impossible)
    return replace(
        raw,
        counts=[count for count in raw.counts if (count.pmu, count.event) not in reasons],
        problems={**raw.problems, **reasons},
    )


def _why_no_count(count: RawCount, raw: RawCounts) -> str:
    """Return why no core can have counted this while the program ran; empty if one can."""
    name = f"{count.pmu}/{count.event}/" if count.pmu else count.event
    if count.value < 0:
        return f"{name}: {count.value:,}, {CANNOT_BE}: nothing counts down"
    if count.event in _NEVER_ZERO and count.value == 0:
        # Of a short visit, all may have been the kernel's; of a shorter one, the switch to it.
        short = 1 - MULTIPLEXED_BELOW if count.user_only else _PRINTED_TO
        if count.running_ns >= short * count.enabled_ns:
            time_s = count.running_ns / 1e9
            return f"{name}: 0 in {time_s:.3g} s, {CANNOT_BE}: its counter stands still"
    most = _MOST_IN_A_CYCLE.get(count.event, _MOST_OF_OTHERS)
    if count.value > most * MAX_GHZ * count.running_ns:
        rate = count.value / count.running_ns
        shown = f"{rate:,.0f} GHz" if count.event == "cycles" else f"{rate:,.0f} in a nanosecond"
        return f"{name}: {shown}, {CANNOT_BE}: the count or its time is wrong"
    if count.event == "instructions" and (cycles := _cycles_beside(count, raw)):
        in_a_cycle = count.value * cycles.running_ns / count.running_ns / cycles.value
        if in_a_cycle > most:
            wrong = "one of the two counts is wrong"
            return f"{name}: {in_a_cycle:,.0f} in a cycle, {CANNOT_BE}: {wrong}"
    return ""


def _cycles_beside(count: RawCount, raw: RawCounts) -> RawCount | None:
    """Return the cycles that its PMU counted of the same modes; None without any."""
    for cycles in raw.counts_of("cycles"):
        if (cycles.pmu, cycles.user_only) == (count.pmu, count.user_only) and cycles.value > 0:
            return cycles
    return None


def added(parts: Sequence[RawCounts]) -> RawCounts:
    """Return the sum of what several perfs counted at different times of one run.

    Whether an event was multiplexed is found for the whole: a part of a millisecond may well lose
    a hundredth of its time. Raises ValueError without parts.
    """
    if not parts:
        raise ValueError("nothing to add")
    first, *_ = parts
    whole = RawCounts(
        first.kinds_of,
        sum(part.task_clock_ns or 0 for part in parts) or None,
        sum(part.enabled_ns or 0 for part in parts) or None,
    )
    whole.pmus = tuple(dict.fromkeys(pmu for part in parts for pmu in part.pmus))
    for part in parts:
        for pmu, ns in part.on_pmu_ns.items():
            whole.on_pmu_ns[pmu] = whole.on_pmu_ns.get(pmu, 0) + ns
    by_key: dict[tuple[str | None, str], list[RawCount]] = {}
    for count in (count for part in parts for count in part.counts):
        by_key.setdefault((count.pmu, count.event), []).append(count)
    lost_time = _multiplexed_events(whole, _times_of(whole, by_key))
    for (pmu, event), counts in by_key.items():
        multiplexed = lost_time[event] if pmu in whole.pmus else False
        whole.counts.append(_sum_of(counts, whole.enabled_ns, multiplexed))
    for part in parts:
        for key, problem in part.problems.items():
            if key not in by_key:
                whole.problems.setdefault(key, problem)
    return whole


def _times_of(
    whole: RawCounts, by_key: Mapping[tuple[str | None, str], Sequence[RawCount]]
) -> _Times:
    """Return how long core PMUs counted events: no time where the program never ran on a PMU."""
    unused = [pmu for pmu in whole.pmus if whole.never_ran_on(pmu)]
    times: _Times = {}
    for (pmu, event), counts in by_key.items():
        if pmu in whole.pmus:
            running = times.setdefault(event, dict.fromkeys(unused, 0))
            running[pmu] = sum(count.running_ns for count in counts)
    return times


def _sum_of(
    counts: Sequence[RawCount], enabled_ns: int | None, multiplexed: bool | None
) -> RawCount:
    first = counts[0]
    return RawCount(
        first.event,
        first.pmu,
        sum(count.value for count in counts),
        enabled_ns or sum(count.enabled_ns for count in counts),
        sum(count.running_ns for count in counts),
        multiplexed,
        any(count.user_only for count in counts),
    )


def canonical_event(event: str) -> str:
    """Return an event's usual name for one of its short names."""
    return _ALIASES.get(event, event)


def _whole_rows(output: PerfOutput, kinds_of: Mapping[str, Sequence[str]]) -> tuple[_Rows, _Rows]:
    """Return the rows that cover the whole run, the first of each PMU and event: cores', others'.

    If the node has one core PMU, perf prints rows without its name. A row of other modes than the
    program's, or of other modes than the event's first row, is of an event by itself (`cycles:k`).
    """
    only_pmu = next(iter(kinds_of)) if len(kinds_of) == 1 else None
    core: _Rows = {}
    others: _Rows = {}
    for row in sorted(output.rows, key=lambda row: bool(row.modifiers)):
        event = canonical_event(row.event)
        if row.aggregate is not None or row.time_s is not None:
            continue
        is_core = _is_core(row.pmu, event, kinds_of)
        rows, pmu = (core, row.pmu or only_pmu) if is_core else (others, row.pmu)
        first = rows.get((pmu, event), row)
        if row.without_user or row.modifiers != first.modifiers:
            event = f"{event}:{row.modifiers}"
        rows.setdefault((pmu, event), row)
    return core, others


def _task_clock_ns(others: _Rows) -> int:
    """Return how long software events were counting, 0 when there is none."""
    task_clock = others.get((None, "task-clock"))
    if task_clock and task_clock.run_ns:
        return task_clock.run_ns
    software = [
        row.run_ns
        for (pmu, event), row in others.items()
        if pmu in (None, SOFTWARE) and event in SOFTWARE_EVENTS
    ]
    return max(software, default=0)


def _is_core(pmu: str | None, event: str, kinds_of: Mapping[str, Sequence[str]]) -> bool:
    if pmu is None:
        is_tracepoint = ":" in event
        return not (event in SOFTWARE_EVENTS or event in TOOL_EVENTS or is_tracepoint)
    return pmu in kinds_of or _CORE_PMU.fullmatch(pmu) is not None


def _add_other(raw: RawCounts, pmu: str | None, event: str, row: Row) -> None:
    """Add an event that no core PMU counts: it runs whenever the program does."""
    usual = canonical_event(row.event)
    problem = ""
    if pmu is not None and pmu != SOFTWARE:
        problem = f"{row.name}: counts the whole machine, not one program"
    elif row.state == "not supported":
        problem = f"{row.name}: not supported by this kernel, or not permitted"
    elif usual in _IN_KERNEL_ONLY and row.user_only:
        problem = f"{row.name}: {HIDDEN_FROM_USERS}"
    elif row.value is None:
        problem = f"{row.name}: not counted: the program never ran while perf counted"
    label = SOFTWARE if usual in SOFTWARE_EVENTS else pmu
    if problem or row.value is None:
        raw.problems[label, event] = problem
        return
    # perf prints a clock to 10 us; the row's running time is the same clock to the nanosecond.
    value = row.run_ns if usual in _CLOCKS else round(row.value)
    raw.counts.append(RawCount(event, label, value, row.run_ns, row.run_ns, False, row.user_only))


def _multiplexed_events(raw: RawCounts, times: _Times) -> dict[str, bool | None]:
    """Return for each event whether it was multiplexed; None when that is not known."""
    multiplexed: dict[str, bool | None] = {}
    for name, running in times.items():
        if any(_lost_time(raw, pmu, ns) for pmu, ns in running.items()):
            multiplexed[name] = True
        elif set(running) >= set(raw.pmus):
            multiplexed[name] = _falls_short(running.values(), raw.enabled_ns or 0)
        elif raw.complete:
            # Some PMU lacks the event: compare with the other events of the PMUs that have it.
            on_these_ns = sum(raw.on_pmu_ns.get(pmu, 0) for pmu in running)
            multiplexed[name] = _falls_short(running.values(), on_these_ns)
        else:
            multiplexed[name] = None
    return multiplexed


def _lost_time(raw: RawCounts, pmu: str | None, running_ns: int) -> bool:
    """Return whether an event was counting for less time than another one of the same PMU."""
    on_pmu_ns = raw.on_pmu_ns.get(pmu, 0)
    slack_ns = _PRINTED_TO * (raw.enabled_ns or 0)
    return running_ns + slack_ns < MULTIPLEXED_BELOW * on_pmu_ns


def _falls_short(running_ns: Iterable[int], whole_ns: int) -> bool:
    return sum(running_ns) < MULTIPLEXED_BELOW * whole_ns


def _core_problem(raw: RawCounts, pmu: str | None, row: Row, unsupported_reason: str) -> str:
    """Return why a core event's row gives no count; empty when it does."""
    if row.state == "not supported":
        if unsupported_reason and not raw.on_pmu_ns:
            # The same for every event, so that a record has it once.
            return f"not supported by this node ({unsupported_reason})"
        where = f"by {pmu}" if pmu and len(raw.pmus) > 1 else "by this node"
        return f"{row.name}: not supported {where}"
    if (row.percent or 0.0) > _IMPOSSIBLE_ABOVE * 100:
        return f"{row.name}: counting for {row.percent:g} % of its time, {CANNOT_BE}"
    if raw.enabled_ns is None:
        return f"{row.name}: no task-clock beside it, so perf's extrapolation cannot be undone"
    if pmu is None and len(raw.kinds_of) > 1:
        return f"{row.name}: this perf counts it on one core kind only; a newer perf splits it"
    if row.state == "not counted" or not row.run_ns:
        if raw.never_ran_on(pmu):
            where = a_core_of(raw.kinds_on(pmu), pmu)
            return f"{row.name}: not counted: the program never ran on {where}"
        return f"{row.name}: not counted: other events held the counters; ask for fewer events"
    return ""


def a_core_of(kinds: Sequence[str], pmu: str | None) -> str:
    """Return words for a core of one of these kinds: `an E-core or an LP-E-core`."""
    if not kinds:
        return f"a CPU of {pmu}"
    return " or ".join(f"{'a' if kind == 'P' else 'an'} {kind}-core" for kind in kinds)
