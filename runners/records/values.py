"""What the fields of a record may be: types and possible values, the same for every reader.

A record that does not say soundly which run it is of, and how long that took, is no record. Any
other number that cannot be is taken out, and the record says why it lacks it, as it does of what
was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.units import MAX_DURATION_S
from runners.measure.conditions.temperature import HIGHEST_C, LOWEST_C
from runners.records.status import FINAL, INTERRUPTED

# From here on a float no longer tells whole numbers apart.
_MAX_COUNT = 2**53
# More CPUs than any node has, all at work; more watts than any node takes, all the time.
_MAX_CPU_S = MAX_DURATION_S * 65_536
_MAX_W = 1e6
_MAX_J = _MAX_W * MAX_DURATION_S
# What programs print may be anything, as long as sums of squares over runs are numbers still.
_MAX_METRIC = 1e100


@dataclass(frozen=True)
class NoRecord:
    """A line of a shard that is no record, and why: one of a few texts, which name no values."""

    why: str


TORN = NoRecord("cut off or damaged")
ALTERED = NoRecord("changed since they were written (their checksum is another)")


@dataclass(frozen=True)
class _Range:
    """Numbers from `least` to `most`; `above` leaves out `least` itself."""

    least: float
    most: float
    above: bool = False

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return self.least <= value <= self.most and not (self.above and value == self.least)


# Times are read from a clock that counts nanoseconds.
_TIME = _Range(1e-9, MAX_DURATION_S)
_DURATION = _Range(0, MAX_DURATION_S)
_CPU_TIME = _Range(0, _MAX_CPU_S)
_EVENTS = _Range(0, 2**64)
_ENERGY = _Range(0, _MAX_J)
_POWER = _Range(0, _MAX_W)
# Parts of a run's CPU time, each rounded by itself.
_SHARE = _Range(0, 1.01)
_NUMBERS: Mapping[str, _Range] = {
    **dict.fromkeys(("task_clock_s", "cpu_s", "user_s", "system_s"), _CPU_TIME),
    **dict.fromkeys(("foreign_cpu_s", "steal_s", "quota_throttled_s"), _CPU_TIME),
    **dict.fromkeys(("energy_window_s", "gate_wait_s"), _DURATION),
    **dict.fromkeys(("migrations", "context_switches", "page_faults"), _EVENTS),
    **dict.fromkeys(("cycles", "instructions", "cache_misses", "max_rss_bytes"), _EVENTS),
    **dict.fromkeys(("vcpu_migrations", "vcpu_context_switches"), _EVENTS),
    # A package never takes nothing; a part of it that is switched off does.
    "energy_pkg_j": _Range(0, _MAX_J, above=True),
    **dict.fromkeys(("energy_core_j", "energy_uncore_j", "energy_dram_j"), _ENERGY),
    "energy_psys_j": _ENERGY,
    # Less was taken during the run than while idle: odd, but so it was measured.
    "energy_net_j": _Range(-_MAX_J, _MAX_J),
    **dict.fromkeys(("idle_power_w", "power_pkg_w"), _POWER),
    "edp_js": _Range(0, _MAX_J * MAX_DURATION_S, above=True),
    "ed2p_js2": _Range(0, _MAX_J * MAX_DURATION_S**2, above=True),
    "freq_mean_ghz": _Range(0, 1000, above=True),
    "race_value": _Range(-_MAX_METRIC, _MAX_METRIC),
}
# Objects from names to numbers.
_BY_NAME: Mapping[str, _Range] = {
    "freq_ghz": _Range(0, 1000, above=True),
    "residency": _SHARE,
    "l1d_miss_rate": _Range(0, 1000),
    "metrics": _Range(-_MAX_METRIC, _MAX_METRIC),
    "temperature_before_c": _Range(LOWEST_C, HIGHEST_C),
}


_RUN_STATUSES = frozenset((*FINAL, INTERRUPTED))
# Without the value: of a thousand records each may have another one.
_WRONG = "what the record says is impossible"


def sound(record: dict[str, Any]) -> dict[str, Any] | NoRecord:
    """Return a record without the numbers that cannot be, or why it is none at all.

    It may be the head of a record alone (runners.records.line).
    """
    if why := _none_reason(record):
        return NoRecord(why)
    wrong = [
        name
        for name in _NUMBERS.keys() & record.keys()
        if record[name] is not None and record[name] not in _NUMBERS[name]
    ]
    kept = {
        name: inner
        for name in _BY_NAME.keys() & record.keys()
        if (inner := _possible(record[name], _BY_NAME[name])) is not None
    }
    if not (wrong or kept):
        return record
    given = record.get("unavailable")
    names = sorted([*wrong, *kept])
    reasons = (given if isinstance(given, dict) else {}) | dict.fromkeys(names, _WRONG)
    rest = {name: value for name, value in record.items() if name not in wrong}
    return rest | kept | {"unavailable": reasons}


def _none_reason(record: Mapping[str, Any]) -> str:
    """Return what keeps this from being a record; empty when nothing does.

    Only runs must say of which case they are and which of its repetitions.
    """
    get = record.get
    status, case_id, repetition = get("status"), get("case_id"), get("repetition")
    if not isinstance(status, (str, type(None))):
        return "with a status that is no word"
    is_run = status in _RUN_STATUSES
    if (is_run or case_id is not None) and not (isinstance(case_id, str) and case_id):
        return "without a case"
    is_count = type(repetition) is int and 0 < repetition < _MAX_COUNT
    if (is_run or repetition is not None) and not is_count:
        return "with a repetition that is no number from 1"
    if not isinstance(get("warmup"), (bool, type(None))):
        return "with a warmup that is neither true nor false"
    if get("elapsed_s") is not None and get("elapsed_s") not in _TIME:
        return "with a time (elapsed_s) that no run can take"
    return ""


def _possible(given: object, possible: _Range) -> dict[str, Any] | None:
    """Return an object without the numbers that cannot be; None when nothing is to be changed."""
    if not isinstance(given, dict) or all(value in possible for value in given.values()):
        return None
    return {key: value for key, value in given.items() if value in possible}
