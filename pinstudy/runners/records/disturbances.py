"""Disturbances of a run that is still averaged: heat, limits, other tasks, threads, marks. Pure.

The numbers of the record become a few words, for the notes under a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.reading import number_or_nan

THROTTLED = "throttled by heat"
CLIPPED = "clipped at a power limit"
BY_QUOTA = "stopped by the CPU quota of a control group"
AT_LIMIT = "at or above the long-term power limit (PL1)"
WARM = "begun warmer than the temperature gate allows"
POWERED = "begun after more power than the power gate allows"
SHARED = "with other tasks on their CPUs (more than 1 % of their CPU time)"
STOLEN = "with CPU time stolen by a hypervisor (more than 1 % of theirs)"
TOO_SHORT = "of a region that is too short (a mark takes more than 1 % of its time)"
MARKED = "whose time includes marks of regions (more than 1 % of it)"
MORE_THREADS = "with more threads at work than asked for (nested regions, or a library's own)"
DISTURBANCES = (
    *(THROTTLED, CLIPPED, BY_QUOTA, AT_LIMIT, WARM, POWERED, SHARED, STOLEN, TOO_SHORT, MARKED),
    MORE_THREADS,
)
# What the program does itself, in each run.
OWN = (MARKED, MORE_THREADS)

_COUNTERS = {
    THROTTLED: ("core_count", "package_count"),
    CLIPPED: ("core_power_limit_count", "package_power_limit_count"),
}

MIN_SHARE = 0.01
MARK_SHARE = 0.01
# The kernel reports CPU times in ticks, user and system time each rounded down
# (pinstudy/runners/measure/conditions/cpu_time.py).
RESOLUTION_S = 0.02


def disturbances(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which of DISTURBANCES a record shows; a value that it lacks shows none."""
    get = record.get
    throttle = get("throttle")
    found = []
    # Most runs are quiet, and many are read.
    if throttle and any(throttle.values()):
        found += [word for word, names in _COUNTERS.items() if any(map(throttle.get, names))]
    if get("cpu_cooling") and THROTTLED not in found:
        found.append(THROTTLED)
    if get("quota_throttled_s"):
        found.append(BY_QUOTA)
    if get("power_limit_note"):
        found.append(AT_LIMIT)
    if get("gate_reached") is False:
        found.append(WARM)
    if get("power_gate_reached") is False:
        found.append(POWERED)
    for name, word in (("foreign_cpu_s", SHARED), ("steal_s", STOLEN)):
        if (seconds := get(name)) and _is_much(seconds, record):
            found.append(word)
    return (*found, *_by_program(record))


def _by_program(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the program itself does: marks of regions, and more threads than asked for."""
    get = record.get
    at_work = (get("placement") or {}).get("at_work")
    if at_work and at_work > (get("threads") or math.inf):
        yield MORE_THREADS
    if not (get("mark_s") or get("region_marks")):
        return
    least_s = MARK_SHARE * (get("elapsed_s") or math.inf)
    if number_or_nan(get("mark_s")) * number_or_nan(get("executions")) > least_s:
        yield TOO_SHORT
    if number_or_nan((get("region_marks") or {}).get("cost_s")) > least_s:
        yield MARKED


def _is_much(seconds: float, record: Mapping[str, Any]) -> bool:
    """Whether seconds on a run's CPUs exceed the counting error and 1 % of its own CPU time."""
    if seconds <= RESOLUTION_S:
        return False
    cpus = (record.get("guest") or {}).get("cpus") or record.get("cpus") or ""
    if (co_runner := record.get("co_runner_cpus")) and cpus:
        cpus = f"{cpus},{co_runner}"
    used_s = [record.get(name) for name in ("user_s", "system_s")]
    least_s = 0.0 if None in used_s else MIN_SHARE * sum(filter(None, used_s))
    return seconds > max(least_s, RESOLUTION_S * _cpu_count(cpus))


@lru_cache(maxsize=256)
def _cpu_count(cpus: str) -> int:
    try:
        return len(parse_cpulist(cpus))
    except ValueError:
        return 0
