"""The types and possible values of a record's fields, the same for every reader.

A line with an impossible status, case, repetition, warm-up flag or time is no record. Any other
impossible number is removed, and `unavailable` gives the reason, as for what was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ulp
from typing import Any

from base.units import MAX_DURATION_S
from runners.measure.conditions.temperature import HIGHEST_C, LOWEST_C

# The status of a run, in one word; docs/records.md explains each.
OK = "ok"
FAILED = "failed"
TIMEOUT = "timeout"
CHECK_FAILED = "check-failed"
PLACEMENT_VIOLATED = "placement-violated"
SETTINGS_CHANGED = "settings-changed"
CLOCK_DRIFTED = "clock-drifted"
SUSPENDED = "suspended"
INTERRUPTED = "interrupted"
SKIPPED = "skipped"
# Not a run: the record of an idle baseline.
BASELINE = "baseline"
# A run with one of these is part of the study; an interrupted one is made again.
FINAL = (
    OK, FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED, SETTINGS_CHANGED, CLOCK_DRIFTED,
    SUSPENDED,
)  # fmt: skip
_RUN_STATUSES = frozenset((*FINAL, INTERRUPTED))

# From here on, floats cannot represent every whole number.
_MAX_COUNT = 2**53
# More CPUs than any node has, all busy; more watts than any node takes, all the time.
_MAX_CPU_S = MAX_DURATION_S * 65_536
_MAX_W = 1e6
_MAX_J = _MAX_W * MAX_DURATION_S
_ABOVE_0 = ulp(0.0)
# A program may print any number, as long as sums of squares over runs stay finite.
_MAX_METRIC = 1e100


@dataclass(frozen=True)
class NoRecord:
    """A line of a shard that is no record; `why` is one of a few texts, which contain no values."""

    why: str


TORN = NoRecord("cut off or damaged")
ALTERED = NoRecord("changed since they were written (their checksum is another)")


# The least and the most that a number may be.
Range = tuple[float, float]

# Times are read from a clock that counts nanoseconds.
_TIME = (1e-9, MAX_DURATION_S)
_DURATION = (0, MAX_DURATION_S)
_CPU_TIME = (0, _MAX_CPU_S)
_EVENTS = (0, 2**64)
_ENERGY = (0, _MAX_J)
_POWER = (0, _MAX_W)
# Parts of a run's CPU time, each rounded separately.
_SHARE = (0, 1.01)
_NUMBERS: Mapping[str, Range] = {
    **dict.fromkeys(("task_clock_s", "cpu_s", "user_s", "system_s"), _CPU_TIME),
    **dict.fromkeys(("foreign_cpu_s", "steal_s", "quota_throttled_s"), _CPU_TIME),
    **dict.fromkeys(("energy_window_s", "gate_wait_s"), _DURATION),
    **dict.fromkeys(("migrations", "context_switches", "page_faults"), _EVENTS),
    **dict.fromkeys(("cycles", "instructions", "cache_misses", "max_rss_bytes"), _EVENTS),
    **dict.fromkeys(("vcpu_migrations", "vcpu_context_switches"), _EVENTS),
    # A package always takes some energy; a part of it that is switched off takes none.
    "energy_pkg_j": (_ABOVE_0, _MAX_J),
    **dict.fromkeys(("energy_core_j", "energy_uncore_j", "energy_dram_j"), _ENERGY),
    "energy_psys_j": _ENERGY,
    # Below 0 when the run took less power than the idle baseline: odd, but possible.
    "energy_net_j": (-_MAX_J, _MAX_J),
    **dict.fromkeys(("idle_power_w", "power_pkg_w"), _POWER),
    "edp_js": (_ABOVE_0, _MAX_J * MAX_DURATION_S),
    "ed2p_js2": (_ABOVE_0, _MAX_J * MAX_DURATION_S**2),
    "freq_mean_ghz": (_ABOVE_0, 1000),
    "race_value": (-_MAX_METRIC, _MAX_METRIC),
}
# Objects from names to numbers.
_BY_NAME: Mapping[str, Range] = {
    "freq_ghz": (_ABOVE_0, 1000),
    "residency": _SHARE,
    "l1d_miss_rate": (0, 1000),
    "metrics": (-_MAX_METRIC, _MAX_METRIC),
    "temperature_before_c": (LOWEST_C, HIGHEST_C),
}

# Without the value, which may differ in each of a thousand records.
_WRONG = "what the record says is impossible"


def sound(record: dict[str, Any]) -> dict[str, Any] | NoRecord:
    """Return a record without its impossible numbers, or why it is no record.

    `record` may be the head of a record only (runners.records.shard.HEAD).
    """
    if why := _none_reason(record):
        return NoRecord(why)
    wrong = [
        name
        for name in _NUMBERS.keys() & record.keys()
        if record[name] is not None and not _is_within(record[name], _NUMBERS[name])
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
    """Return why this is no record; empty when it is one.

    Only runs must have a case and a repetition.
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
    if get("elapsed_s") is not None and not _is_within(get("elapsed_s"), _TIME):
        return "with a time (elapsed_s) that no run can take"
    return ""


def _possible(given: object, possible: Range) -> dict[str, Any] | None:
    """Return an object without its impossible numbers; None when there is nothing to change."""
    if not isinstance(given, dict) or all(_is_within(value, possible) for value in given.values()):
        return None
    return {key: value for key, value in given.items() if _is_within(value, possible)}


def _is_within(value: object, possible: Range) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return possible[0] <= value <= possible[1]
