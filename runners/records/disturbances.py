"""Disturbances of a run that is still averaged: heat, limits, other tasks, threads, marks. Pure.

The numbers of the record become a few words, for the notes under a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from base.cpulist import parse_cpulist
from base.reading import number_or_nan

THROTTLED = "throttled by heat"
CLIPPED = "clipped at a power limit"
BY_QUOTA = "stopped by the CPU quota of a control group"
AT_LIMIT = "at or above the long-term power limit (PL1)"
WARM = "begun warmer than the temperature gate allows"
SHARED = "with other tasks on their CPUs (more than 1 % of their CPU time)"
STOLEN = "with CPU time stolen by a hypervisor (more than 1 % of theirs)"
TOO_SHORT = "of a region that is too short (a mark takes more than 1 % of its time)"
MARKED = "whose time includes marks of regions (more than 1 % of it)"
MORE_THREADS = "with more threads at work than asked for (nested regions, or a library's own)"
DISTURBANCES = (
    *(THROTTLED, CLIPPED, BY_QUOTA, AT_LIMIT, WARM, SHARED, STOLEN, TOO_SHORT, MARKED),
    MORE_THREADS,
)
# What the program does itself, in each run.
OWN = (MARKED, MORE_THREADS)

_COUNTERS = {
    THROTTLED: ("core_count", "package_count"),
    CLIPPED: ("core_power_limit_count", "package_power_limit_count"),
}
# Separates these in one text, and daemons too.
SEPARATOR = "; "

MIN_SHARE = 0.01
MARK_SHARE = 0.01
# The kernel reports CPU times in ticks, user and system time each rounded down
# (runners/measure/conditions/cpu_time.py).
RESOLUTION_S = 0.02


def disturbances(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which of DISTURBANCES a record shows; a value that it lacks shows none."""
    get = record.get
    throttle, note = get("throttle"), get("power_limit_note")
    # Many records are read, and most runs are quiet: values that are 0 or empty are skipped fast.
    found: list[str] = []
    if isinstance(throttle, dict) and any(throttle.values()):
        for what, names in _COUNTERS.items():
            if any(number_or_nan(throttle.get(name)) > 0 for name in names):
                found.append(what)
    if (stopped := get("quota_throttled_s")) and number_or_nan(stopped) > 0:
        found.append(BY_QUOTA)
    if note and isinstance(note, str):
        found.append(AT_LIMIT)
    if get("gate_reached") is False:
        found.append(WARM)
    for name, what in (("foreign_cpu_s", SHARED), ("steal_s", STOLEN)):
        if (seconds := get(name)) and _is_much(seconds, record):
            found.append(what)
    return (*found, *_by_program(record))


def _by_program(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the program itself does: marks of regions, and more threads than asked for."""
    get, placement = record.get, record.get("placement")
    if get("mark_s") or get("region_marks"):
        yield from _by_marks(record)
    at_work = placement.get("at_work") if isinstance(placement, dict) else None
    if at_work and number_or_nan(at_work) > number_or_nan(get("threads")):
        yield MORE_THREADS


def _by_marks(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the marks of regions disturbed: a region of short executions, or a whole run."""
    get, least_s = record.get, MARK_SHARE * number_or_nan(record.get("elapsed_s"))
    if number_or_nan(get("mark_s")) * number_or_nan(get("executions")) > least_s:
        yield TOO_SHORT
    marks = get("region_marks")
    if isinstance(marks, dict) and number_or_nan(marks.get("cost_s")) > least_s:
        yield MARKED


def _is_much(value: object, record: Mapping[str, Any]) -> bool:
    """Whether seconds on a run's CPUs exceed the counting error and 1 % of its own CPU time."""
    seconds = number_or_nan(value)
    if not seconds > RESOLUTION_S:
        return False
    cpus = record.get("vcpu_cpus") or record.get("cpus")
    if isinstance(beside := record.get("beside_cpus"), str) and isinstance(cpus, str):
        cpus = f"{cpus},{beside}"
    own_s = number_or_nan(record.get("user_s")) + number_or_nan(record.get("system_s"))
    least_s = 0.0 if math.isnan(own_s) else MIN_SHARE * own_s
    return seconds > max(least_s, RESOLUTION_S * _cpu_count(cpus if isinstance(cpus, str) else ""))


@lru_cache(maxsize=256)
def _cpu_count(cpus: str) -> int:
    try:
        return len(parse_cpulist(cpus))
    except ValueError:
        return 0
