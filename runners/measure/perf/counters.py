"""The counter fields of a run's record: counts, residency and frequency per core kind.

Formulas, with raw counts (runners/measure/perf/scaling.py): residency of a kind = time its PMU was
counting / time the program's threads were on CPUs; frequency of a kind = cycles counted there /
time it was counting, a mean over on-CPU time and not over elapsed time. What is not known has a
reason and no value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from base.reading import Reading
from runners.measure.perf.output import PerfOutput
from runners.measure.perf.scaling import SOFTWARE, RawCount, RawCounts, a_core_of, undo_scaling

_SOFTWARE_FIELDS = {
    "page_faults": "page-faults",
    "context_switches": "context-switches",
    "migrations": "cpu-migrations",
}
_TOTALS = {
    "cycles": "cycles",
    "instructions": "instructions",
    "cache_misses": "cache-misses",
}
# Every field that this collector fills; each is in `fields` or has its reason in `unavailable`.
FIELDS = ("task_clock_s", *_SOFTWARE_FIELDS, *_TOTALS, "freq_ghz", "freq_mean_ghz", "residency")

# Filled only where a study asks for both events.
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
) -> Reading:
    """Return the counter fields of a run's record from perf's rows.

    `kinds_of` are the node's core PMUs with the core kinds each one covers, as
    `runners.measure.perf.events.kinds_of_pmus` gives them for the CPUs that the program could use.
    `unsupported_reason` is why this node refuses hardware events, if it does. `kernel_share` is
    system time / CPU time of the run, from its resource usage: it bounds the error of a frequency
    from user-mode cycles.

    Fields: `task_clock_s` (CPU time of all threads, seconds), `page_faults`, `context_switches`,
    `migrations`, `cycles`, `instructions`, `cache_misses` (sums over PMUs), `counters` (list of
    one object per PMU and event: `value`, `enabled_ns`, `running_ns`, `multiplexed`, `kinds`),
    `counted_modes`, `residency` and `freq_ghz` (objects by core kind), `residency_pmu` (by PMU),
    `freq_mean_ghz`; where both events were asked for, `l1d_miss_rate` (by core kind):
    L1-dcache-load-misses / L1-dcache-loads.
    """
    if not output.rows:
        said = f": {output.unparsed[0][:200]}" if output.unparsed else ""
        return no_counters(f"perf printed no counts{said}")
    raw = undo_scaling(output, kinds_of, unsupported_reason)
    reading = Reading()
    if output.unparsed:
        reading.unavailable["perf_output"] = (
            f"perf printed {len(output.unparsed)} lines that are not understood, "
            f"the first is {output.unparsed[0][:200]!r}"
        )
    _add_counts(reading, raw)
    _add_software(reading, raw)
    for name, event in _TOTALS.items():
        _add_total(reading, raw, name, event)
    _add_residency(reading, raw)
    _add_frequency(reading, raw, kernel_share)
    _add_miss_rate(reading, raw)
    return reading


def _add_counts(reading: Reading, raw: RawCounts) -> None:
    reading.fields["counters"] = [
        {
            "pmu": count.pmu,
            "kinds": list(raw.kinds_of.get(count.pmu or "", ())),
            "event": count.event,
            "value": count.value,
            "enabled_ns": count.enabled_ns,
            "running_ns": count.running_ns,
            "multiplexed": count.multiplexed,
        }
        for count in raw.counts
    ]
    restricted = {count.user_only for count in raw.counts}
    if restricted:
        one = "user" if True in restricted else "user+kernel"
        reading.fields["counted_modes"] = one if len(restricted) == 1 else "mixed"
    for (pmu, event), reason in raw.problems.items():
        if pmu != SOFTWARE:
            reading.unavailable[f"counters.{pmu}/{event}" if pmu else f"counters.{event}"] = reason


def _add_software(reading: Reading, raw: RawCounts) -> None:
    if raw.enabled_ns is None:
        reading.unavailable["task_clock_s"] = raw.absent_reason("task-clock")
    else:
        reading.fields["task_clock_s"] = raw.enabled_ns / 1e9
    for name, event in _SOFTWARE_FIELDS.items():
        found = raw.counts_of(event)
        if found:
            reading.fields[name] = found[0].value
        else:
            reading.unavailable[name] = raw.absent_reason(event)


def _add_total(reading: Reading, raw: RawCounts, name: str, event: str) -> None:
    """Add an event's sum over PMUs, if all parts of the program were counted."""
    found = raw.counts_of(event)
    if any(count.multiplexed for count in found):
        share = sum(count.running_ns for count in found) / found[0].enabled_ns
        reason = f"{event}: counted for {share:.0%} of the time only; ask for fewer events"
    else:
        reason = _partial_reason(raw, event)
    if reason:
        reading.unavailable[name] = reason
    else:
        reading.fields[name] = sum(count.value for count in found)


def _partial_reason(raw: RawCounts, event: str) -> str:
    """Return why a PMU that the program ran on did not count the event; empty if all did."""
    counted_on = {count.pmu for count in raw.counts_of(event)}
    if not counted_on:
        return raw.absent_reason(event)
    for pmu in raw.pmus:
        if pmu not in counted_on and not raw.never_ran_on(pmu):
            return raw.problems.get((pmu, event), f"{event}: perf printed no row for {pmu}")
    return ""


def _add_residency(reading: Reading, raw: RawCounts) -> None:
    reason = _no_residency_reason(raw)
    if reason or not raw.enabled_ns:
        reading.unavailable["residency"] = reason
        return
    by_pmu = {pmu: min(1.0, ns / raw.enabled_ns) for pmu, ns in raw.on_pmu_ns.items()}
    reading.fields["residency_pmu"] = {pmu: by_pmu[pmu] for pmu in by_pmu if pmu is not None}
    by_kind: dict[str, float] = {}
    for kind in raw.kinds:
        pmus = [pmu for pmu in by_pmu if kind in raw.kinds_of.get(pmu or "", ())]
        if all(by_pmu[pmu] == 0 for pmu in pmus):
            by_kind[kind] = 0.0
        elif shared := _shared(raw, pmus):
            reading.unavailable[f"residency.{kind}"] = shared
        else:
            by_kind[kind] = min(1.0, sum(by_pmu[pmu] for pmu in pmus))
    reading.fields["residency"] = by_kind


def _no_residency_reason(raw: RawCounts) -> str:
    if raw.enabled_ns is None:
        return "the program's CPU time is not known: perf printed no task-clock"
    if not raw.on_pmu_ns:
        return f"needs a hardware counter; {raw.absent_reason('cycles')}"
    if not raw.complete:
        missing = [pmu for pmu in raw.pmus if pmu and pmu not in raw.on_pmu_ns]
        if missing:
            return f"no event counted on {', '.join(missing)}, so the rest cannot be told apart"
        return "every event was multiplexed: ask for fewer events"
    return ""


def _add_frequency(reading: Reading, raw: RawCounts, kernel_share: float | None) -> None:
    cycles = raw.counts_of("cycles")
    reason = _no_frequency_reason(raw, cycles, kernel_share)
    if reason:
        reading.unavailable.update(freq_ghz=reason, freq_mean_ghz=reason)
        return
    if partial := _partial_reason(raw, "cycles"):
        reading.unavailable["freq_mean_ghz"] = partial
    else:
        reading.fields["freq_mean_ghz"] = _per_ns(cycles)
    by_kind: dict[str, float] = {}
    for kind in raw.kinds:
        counts = raw.counts_of("cycles", kind)
        if not counts:
            reading.unavailable[f"freq_ghz.{kind}"] = _none_on_reason(raw, "cycles", kind)
        elif shared := _shared(raw, [count.pmu for count in counts]):
            reading.unavailable[f"freq_ghz.{kind}"] = shared
        else:
            by_kind[kind] = _per_ns(counts)
    reading.fields["freq_ghz"] = by_kind


def _add_miss_rate(reading: Reading, raw: RawCounts) -> None:
    """Add the share of loads that missed the L1 data cache, if both events were asked for."""
    asked = {event for _, event in raw.problems} | {count.event for count in raw.counts}
    if not set(L1D_EVENTS) <= asked:
        return
    for event in L1D_EVENTS:
        if not raw.counts_of(event):
            reading.unavailable[L1D_MISS_RATE] = raw.absent_reason(event)
            return
    by_kind: dict[str, float] = {}
    for kind in raw.kinds:
        misses, loads = (raw.counts_of(event, kind) for event in L1D_EVENTS)
        field = f"{L1D_MISS_RATE}.{kind}"
        if not misses or not loads:
            lacking = L1D_EVENTS[0] if not misses else L1D_EVENTS[1]
            reading.unavailable[field] = _none_on_reason(raw, lacking, kind)
        elif shared := _shared(raw, [count.pmu for count in misses]):
            reading.unavailable[field] = shared
        elif (rate := _per_ns(loads)) > 0:
            by_kind[kind] = _per_ns(misses) / rate
        else:
            reading.unavailable[field] = f"{L1D_EVENTS[1]}: none was counted"
    reading.fields[L1D_MISS_RATE] = by_kind


def _no_frequency_reason(
    raw: RawCounts, cycles: Sequence[RawCount], kernel_share: float | None
) -> str:
    if not cycles:
        return raw.absent_reason("cycles")
    if any(count.user_only for count in cycles):
        share = "an unknown part" if kernel_share is None else f"{kernel_share:.1%}"
        if kernel_share is None or kernel_share > MAX_KERNEL_SHARE:
            return (
                f"cycles: counted in user mode only, and {share} of the time was the kernel's; "
                "as root: sysctl kernel.perf_event_paranoid=1"
            )
    return ""


def _none_on_reason(raw: RawCounts, event: str, kind: str) -> str:
    pmus = [pmu for pmu, kinds in raw.kinds_of.items() if kind in kinds]
    if all(raw.never_ran_on(pmu) for pmu in pmus):
        return f"the program never ran on {a_core_of([kind], None)}"
    reasons = (raw.problems.get((pmu, event)) for pmu in pmus)
    return next(filter(None, reasons), f"{event}: perf printed no row for it")


def _per_ns(counts: Sequence[RawCount]) -> float:
    """Return counts per nanosecond; for cycles that is GHz.

    A multiplexed count is a sample, and its rate is still valid.
    """
    return sum(count.value for count in counts) / sum(count.running_ns for count in counts)


def _shared(raw: RawCounts, pmus: Iterable[str | None]) -> str:
    """Return why a PMU does not tell kinds apart; empty when each one counts a single kind."""
    for pmu in pmus:
        kinds = raw.kinds_of.get(pmu or "", ())
        if len(kinds) > 1:
            return f"{pmu} counts {' and '.join(kinds)} cores together, so neither is known alone"
    return ""
