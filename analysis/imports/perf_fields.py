"""From what a log counted to the measured fields of a record, or to means and deviations.

perf's `+-` under `-r` is the standard error of the mean: stddev_stats in Linux'
tools/perf/util/stat.c divides the variance by the number of runs before it takes the root. The
standard deviation of the runs is therefore error x sqrt(runs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from analysis.imports.perf_log import Block
from analysis.results.fields import with_unit_last
from base.reading import Reading
from runners.host.tree import Unavailable, reading_of
from runners.measure.energy.figures import FIELDS as ENERGY
from runners.measure.energy.figures import PACKAGE, domain_fields, run_figures
from runners.measure.energy.perf import EVENTS, UNIT
from runners.measure.perf.counters import no_counters, read_counters
from runners.measure.perf.output import PerfOutput, Row
from runners.measure.perf.scaling import canonical_event

NOT_THERE = "not in the imported perf log"
# perf names core PMUs after the kinds they count on Intel's hybrid CPUs.
_KINDS = {"cpu_core": ("P",), "cpu_atom": ("E",), "cpu_lowpower": ("LP-E",)}
_OF_POWER = ("power_pkg_w", "energy_net_j", "idle_power_w")
_OF_TIME = ("edp_js", "ed2p_js2")
_OF_ALL_CPUS = "counted on all CPUs (-a, -C), not of the program"
# Deviations are known to about as many digits as perf prints of its errors.
_DIGITS = 3
_MIN_COUNT = 100
# What a float holds of a decimal number.
_MAX_DIGITS = 15
# A frequency that follows from shares of two decimals is known to four digits.
_FREQUENCY_DIGITS = 4
# The measures of a summary beside time, and the event that has the error of each.
_MEASURES = {
    "task_clock_s": "task-clock",
    "context_switches": "context-switches",
    "migrations": "cpu-migrations",
    "cache_misses": "cache-misses",
    "freq_mean_ghz": None,
    **{name: EVENTS[domain] for domain, name in ENERGY.items()},
}


def run_fields(block: Block, energy: Block) -> Reading:
    """Return the measured fields of a single run; what the logs lack has its reason.

    `energy` is the log that has the energy, another one or the same.
    """
    return _counters(block) | _times(block) | _energy_fields(energy, block.elapsed_s)


def _energy_fields(block: Block, elapsed_s: float | None) -> Reading:
    """Return a run's energy, counted during a log's own time, and what follows from it.

    `elapsed_s` is the time of the program, which another log may have.
    """
    energy = _energy(block)
    idle = Unavailable("no idle baseline was imported")
    figures = run_figures(energy, elapsed_s or 0.0, idle)
    if block.elapsed_s is None:
        energy.fields.pop("energy_window_s", None)
        return energy | _without_time(*_OF_POWER, *_OF_TIME)
    if elapsed_s is None and PACKAGE in energy.fields:
        figures |= _without_time(*_OF_TIME)
    return energy | figures


def _without_time(*names: str) -> Reading:
    return Reading({}, dict.fromkeys(names, "no elapsed time in the imported perf log"))


def _energy(block: Block) -> Reading:
    """Return the joules of each domain during a log's time, or why there are none."""
    found = reading_of({domain: _joules(block.rows, event) for domain, event in EVENTS.items()})
    return domain_fields(found.fields, found.unavailable, block.elapsed_s or 0.0, "perf")


def _joules(rows: Sequence[Row], event: str) -> float | Unavailable:
    """Return the joules of an event, packages summed, or why there are none."""
    parts = [row for row in rows if row.event == event and row.pmu in ("power", None)]
    for row in parts:
        if row.value is None:
            return Unavailable(f"{row.name}: {row.state}")
        if row.unit != UNIT:
            return Unavailable(f"{row.name}: counted in {row.unit or 'no unit'}, not in {UNIT}")
    return sum(row.value or 0.0 for row in parts) if parts else Unavailable(NOT_THERE)


def _times(block: Block) -> Reading:
    known = {"elapsed_s": block.elapsed_s, "user_s": block.user_s, "system_s": block.system_s}
    found = {name: value for name, value in known.items() if value is not None}
    absent = {
        "elapsed_s": "perf stat -x and -j print no elapsed time; ask for the event duration_time",
        "user_s": NOT_THERE,
        "system_s": NOT_THERE,
        "max_rss_bytes": NOT_THERE,
    }
    return Reading(found, {name: why for name, why in absent.items() if name not in found})


def _counters(block: Block) -> Reading:
    if block.system_wide:
        return no_counters(_OF_ALL_CPUS)
    rows = tuple(row for row in block.rows if row.pmu != "power")
    if not rows:
        return no_counters(NOT_THERE)
    used = (block.user_s or 0.0) + (block.system_s or 0.0)
    kernel_share = (block.system_s or 0.0) / used if used > 0 else None
    reading = read_counters(PerfOutput(rows, ()), _kinds(rows), kernel_share=kernel_share)
    if not block.clock:
        _forget_times(reading)
    return reading


def _kinds(rows: Sequence[Row]) -> Mapping[str, Sequence[str]]:
    """Return the core PMUs of the node: one of Intel's two implies the other."""
    seen = {row.pmu for row in rows} & set(_KINDS)
    if not seen:
        return {}
    return {pmu: kinds for pmu, kinds in _KINDS.items() if pmu in seen or pmu != "cpu_lowpower"}


def _forget_times(reading: Reading) -> None:
    """Drop what was made of the nominal second that rows without a clock have."""
    reason = "no task-clock in the imported perf log"
    for name in ("task_clock_s", "freq_ghz", "freq_mean_ghz"):
        if name in reading.fields or name == "task_clock_s":
            reading.fields.pop(name, None)
            reading.unavailable[name] = reason
    for count in reading.fields.get("counters", ()):
        count["enabled_ns"] = count["running_ns"] = None


def summary_fields(block: Block, repeats: int, energy: Block) -> dict[str, str]:
    """Return the columns of a summary (`elapsed_mean_s`, …) that averages of runs give.

    `energy` is the block that has the energy, another one or the same. Means are as perf printed
    them. Where counts were extrapolated, their mean is undone by the mean share: exact when the
    share was the same in all runs; no deviation is given for it.
    """
    columns: dict[str, str] = {}
    if block.elapsed_text:
        columns["elapsed_mean_s"] = block.elapsed_text
        columns |= _deviation("elapsed_s", block.elapsed_error_s, repeats)
    measured = _counters(block) | _times(block) | _energy(energy)
    for name, event in _MEASURES.items():
        if name in measured.fields:
            digits = _FREQUENCY_DIGITS if name == "freq_mean_ghz" else _MAX_DIGITS
            rows = energy.rows if name in ENERGY.values() else block.rows
            columns[with_unit_last(name, "mean")] = plain(float(measured.fields[name]), digits)
            columns |= _deviation(name, _error_of(rows, event), repeats)
    reasons = {name: measured.unavailable.get(name) for name in ("elapsed_s", *_MEASURES)}
    columns["reasons"] = "; ".join(
        f"{name}: {why.replace('; ', ', ')}" for name, why in reasons.items() if why
    )
    return columns


def _error_of(rows: Sequence[Row], event: str | None) -> float | None:
    """Return the standard error of an event's mean in its unit; None when it is not that simple."""
    found = [row for row in rows if canonical_event(row.event) == event]
    if len(found) != 1 or not found[0].always:
        return None
    value, percent, unit = found[0].value, found[0].error_percent, found[0].unit
    # A mean count is printed without decimals: a small one is too coarse for a percentage of it.
    if value is None or percent is None or (not unit and value < _MIN_COUNT):
        return None
    return percent / 100 * value * (1e-3 if unit == "msec" else 1.0)


def _deviation(measure: str, error: float | None, repeats: int) -> dict[str, str]:
    """Return the deviation of the runs; nothing where perf printed an error of 0.00 %."""
    if not error:
        return {}
    return {with_unit_last(measure, "sd"): plain(error * repeats**0.5, _DIGITS)}


def plain(value: float, digits: int = _MAX_DIGITS) -> str:
    """Return a number without an exponent, with so many significant digits at most."""
    text = format(Decimal(f"{value:.{digits}g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
