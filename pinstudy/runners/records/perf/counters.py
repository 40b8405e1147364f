"""The counter fields of a run's record: counts, residency and frequency per core kind.

Formulas, with raw counts (pinstudy/runners/records/perf/scaling.py): residency of a kind = time its
PMU was counting / time the program's threads were on CPUs; frequency of a kind = cycles counted
there / time it was counting, a mean over on-CPU time and not over elapsed time. What is not known
has a reason and no value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.runners.records.perf.output import PerfOutput
from pinstudy.runners.records.perf.scaling import (
    SOFTWARE,
    RawCount,
    RawCounts,
    a_core_of,
    added,
    believable,
    undo_scaling,
)

_SOFTWARE_FIELDS = {
    "page_faults": "page-faults",
    "context_switches": "context-switches",
    "migrations": "cpu-migrations",
}
# Their counts are fields of a record already, each for the time that task-clock counts.
_HAVE_FIELDS = frozenset(("task-clock", *_SOFTWARE_FIELDS.values()))
_TOTALS = {"cycles": "cycles", "instructions": "instructions", "cache_misses": "cache-misses"}
# Every field that this collector fills; each is in `fields` or has its reason in `unavailable`.
FIELDS = ("task_clock_s", *_SOFTWARE_FIELDS, *_TOTALS, "freq_ghz", "freq_mean_ghz", "residency")

# Filled only if a study requests both events.
L1D_MISS_RATE = "l1d_miss_rate"
L1D_EVENTS = ("L1-dcache-load-misses", "L1-dcache-loads")

# User-mode cycles over a time that includes the kernel's understate the frequency by the kernel's
# share of the time. Up to this share, that error is smaller than perf's own cost.
MAX_KERNEL_SHARE = 0.01


def fields_of(events: Collection[str]) -> tuple[str, ...]:
    """Return the fields that this collector fills when a study asks for these events as well."""
    return (*FIELDS, L1D_MISS_RATE) if set(L1D_EVENTS) <= set(events) else FIELDS


def no_counters(reason: str, fields: Iterable[str] = FIELDS) -> Reading:
    """Return the reading of a run without perf, with the same reason for every field."""
    return Reading({}, dict.fromkeys(fields, reason))


def read_counters(
    output: PerfOutput,
    kinds_of: Mapping[str, Sequence[str]],
    unsupported_reason: str = "",
    kernel_share: float | None = None,
    more: Iterable[PerfOutput] = (),
) -> Reading:
    """Return the counter fields of a run's record from perf's rows.

    `more` are the rows of other perfs, which counted at other times of the run: all are added.
    `kinds_of` are the node's core PMUs with the core kinds each one covers, as
    `pinstudy.runners.measure.perf.events.kinds_of_pmus` gives them for the CPUs that the program
    could use. `unsupported_reason` is why this node refuses hardware events, if it does.
    `kernel_share` is system time / CPU time of the run, from its resource usage: it bounds the
    error of a frequency from user-mode cycles.

    Fields: `task_clock_s` (CPU time of all threads, seconds), `page_faults`, `context_switches`,
    `migrations`, `cycles`, `instructions`, `cache_misses` (sums over PMUs), `counters` (list of
    one object per PMU and event without a field of its own: `value`, `enabled_ns`, `running_ns`,
    `multiplexed`, `kinds`), `counted_modes`, `residency` and `freq_ghz` (objects by core kind),
    `residency_pmu` (by PMU), `freq_mean_ghz`; where both events were requested, `l1d_miss_rate`
    (by core kind): L1-dcache-load-misses / L1-dcache-loads.
    """
    if not output.rows:
        first_line = f": {output.unparsed[0][:200]}" if output.unparsed else ""
        return no_counters(f"perf printed no counts{first_line}")
    raw = undo_scaling(output, kinds_of, unsupported_reason)
    if parts := [undo_scaling(part, kinds_of, unsupported_reason) for part in more]:
        raw = added([raw, *parts])
    raw = believable(raw)
    reading = _counts(raw) | reading_of(
        {"task_clock_s": _task_clock_s(raw)}
        | {name: _of_software(raw, event) for name, event in _SOFTWARE_FIELDS.items()}
        | {name: _total(raw, event) for name, event in _TOTALS.items()}
    )
    if output.unparsed:
        reading.unavailable["perf_output"] = (
            f"perf printed {len(output.unparsed)} lines that are not understood, "
            f"the first is {output.unparsed[0][:200]!r}"
        )
    return reading | _residency(raw) | _frequency(raw, kernel_share) | _miss_rate(raw)


def _counts(raw: RawCounts) -> Reading:
    reading = Reading()
    reading.fields["counters"] = [
        {
            "pmu": count.pmu,
            "kinds": list(raw.kinds_on(count.pmu)),
            "event": count.event,
            "value": count.value,
            "enabled_ns": count.enabled_ns,
            "running_ns": count.running_ns,
            "multiplexed": count.multiplexed,
        }
        for count in raw.counts
        if not (count.pmu == SOFTWARE and count.event in _HAVE_FIELDS)
    ]
    restricted = {count.user_only for count in raw.counts}
    if restricted:
        modes = "user" if True in restricted else "user+kernel"
        reading.fields["counted_modes"] = modes if len(restricted) == 1 else "mixed"
    for (pmu, event), reason in raw.problems.items():
        if pmu != SOFTWARE:
            reading.unavailable[f"counters.{pmu}/{event}" if pmu else f"counters.{event}"] = reason
    return reading


def _task_clock_s(raw: RawCounts) -> float | Unavailable:
    return raw.absent("task-clock") if raw.task_clock_ns is None else raw.task_clock_ns / 1e9


def _of_software(raw: RawCounts, event: str) -> int | Unavailable:
    found = raw.counts_of(event)
    return found[0].value if found else raw.absent(event)


def _total(raw: RawCounts, event: str) -> int | Unavailable:
    """Return an event's sum over PMUs, if all parts of the program were counted."""
    found = raw.counts_of(event)
    if any(count.multiplexed for count in found):
        share = sum(count.running_ns for count in found) / found[0].enabled_ns
        part = f"{event}: counted for {share:.0%} of the time only"
        return Unavailable(f"{part}; ask for fewer events")
    return _uncounted(raw, event) or sum(count.value for count in found)


def _uncounted(raw: RawCounts, event: str) -> Unavailable | None:
    """Return why a PMU that the program ran on did not count the event; None if all did."""
    counted_on = {count.pmu for count in raw.counts_of(event)}
    if not counted_on:
        return raw.absent(event)
    for pmu in raw.pmus:
        if pmu not in counted_on and not raw.never_ran_on(pmu):
            no_row = f"{event}: perf printed no row for {pmu}"
            return Unavailable(raw.problems.get((pmu, event), no_row))
    return None


def _residency(raw: RawCounts) -> Reading:
    reason = _no_residency_reason(raw)
    if reason or not raw.enabled_ns:
        return Reading({}, {"residency": reason})
    shares = {pmu: min(1.0, ns / raw.enabled_ns) for pmu, ns in raw.on_pmu_ns.items()}
    by_pmu = {pmu: share for pmu, share in shares.items() if pmu is not None}
    by_kind = {kind: _residency_on(raw, kind, by_pmu) for kind in raw.kinds}
    return Reading({"residency_pmu": by_pmu}) | _by_kind("residency", by_kind)


def _residency_on(raw: RawCounts, kind: str, by_pmu: Mapping[str, float]) -> float | Unavailable:
    pmus = [pmu for pmu in by_pmu if kind in raw.kinds_on(pmu)]
    if all(by_pmu[pmu] == 0 for pmu in pmus):
        return 0.0
    return _shared(raw, pmus) or min(1.0, sum(by_pmu[pmu] for pmu in pmus))


def _no_residency_reason(raw: RawCounts) -> str:
    if raw.enabled_ns is None:
        return "the program's CPU time is not known: perf printed no task-clock"
    if raw.impossible:
        return raw.impossible
    if not raw.on_pmu_ns:
        return raw.absent("cycles").reason
    if not raw.complete:
        missing = [pmu for pmu in raw.pmus if pmu and pmu not in raw.on_pmu_ns]
        if missing:
            return f"no event counted on {', '.join(missing)}, so the rest cannot be told apart"
        return "every event was multiplexed: ask for fewer events"
    return ""


def _frequency(raw: RawCounts, kernel_share: float | None) -> Reading:
    cycles = raw.counts_of("cycles")
    reason = _no_frequency_reason(raw, cycles, kernel_share)
    if reason:
        return Reading({}, {"freq_ghz": reason, "freq_mean_ghz": reason})
    mean = reading_of({"freq_mean_ghz": _uncounted(raw, "cycles") or _per_ns(cycles)})
    return mean | _by_kind("freq_ghz", {kind: _rate(raw, "cycles", kind) for kind in raw.kinds})


def _no_frequency_reason(
    raw: RawCounts, cycles: Sequence[RawCount], kernel_share: float | None
) -> str:
    if not cycles:
        return raw.absent("cycles").reason
    user_only = any(count.user_only for count in cycles)
    if user_only and (kernel_share is None or kernel_share > MAX_KERNEL_SHARE):
        share = "an unknown part" if kernel_share is None else f"{kernel_share:.1%}"
        return (
            f"cycles: counted in user mode only, and {share} of the time was the kernel's; "
            "as root: sysctl kernel.perf_event_paranoid=1"
        )
    return ""


def _miss_rate(raw: RawCounts) -> Reading:
    """Return the share of loads that missed the L1 data cache, if both events were requested."""
    requested = {event for _, event in raw.problems} | {count.event for count in raw.counts}
    if not set(L1D_EVENTS) <= requested:
        return Reading()
    for event in L1D_EVENTS:
        if not raw.counts_of(event):
            return reading_of({L1D_MISS_RATE: raw.absent(event)})
    return _by_kind(L1D_MISS_RATE, {kind: _miss_rate_on(raw, kind) for kind in raw.kinds})


def _miss_rate_on(raw: RawCounts, kind: str) -> float | Unavailable:
    misses, loads = (_rate(raw, event, kind) for event in L1D_EVENTS)
    if isinstance(misses, Unavailable):
        return misses
    if isinstance(loads, Unavailable):
        return loads
    return misses / loads if loads else Unavailable(f"{L1D_EVENTS[1]}: none was counted")


def _by_kind(name: str, values: Mapping[str, float | Unavailable]) -> Reading:
    found = reading_of(values)
    absent = {f"{name}.{kind}": reason for kind, reason in found.unavailable.items()}
    return Reading({name: found.fields}, absent)


def _rate(raw: RawCounts, event: str, kind: str) -> float | Unavailable:
    """Return an event's counts per nanosecond on a core kind's CPUs."""
    counts = raw.counts_of(event, kind)
    if counts:
        return _shared(raw, [count.pmu for count in counts]) or _per_ns(counts)
    pmus = [pmu for pmu, kinds in raw.kinds_of.items() if kind in kinds]
    if all(raw.never_ran_on(pmu) for pmu in pmus):
        return Unavailable(f"the program never ran on {a_core_of([kind], None)}")
    reasons = (raw.problems.get((pmu, event)) for pmu in pmus)
    return Unavailable(next(filter(None, reasons), f"{event}: perf printed no row for it"))


def _per_ns(counts: Sequence[RawCount]) -> float:
    """Return counts per nanosecond; for cycles that is GHz.

    A multiplexed count is a sample, and its rate is still valid.
    """
    return sum(count.value for count in counts) / sum(count.running_ns for count in counts)


def _shared(raw: RawCounts, pmus: Iterable[str | None]) -> Unavailable | None:
    """Return why a PMU does not tell kinds apart; None when each one counts a single kind."""
    for pmu in pmus:
        kinds = raw.kinds_on(pmu)
        if len(kinds) > 1:
            both = " and ".join(kinds)
            return Unavailable(f"{pmu} counts {both} cores together, so neither is known alone")
    return None
