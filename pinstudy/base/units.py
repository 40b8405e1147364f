"""Durations, percentages and points in time, as people and files write them, and bounds."""

from __future__ import annotations

import re
from datetime import datetime, timezone

SECONDS_OF_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

# A month: no batch system lets a job run longer, so a longer duration is a typing error.
MAX_DURATION_S = 31 * 24 * 3600.0

# More watts than any node takes, all the time.
MAX_POWER_W = 1e6

# Degrees Celsius; a value outside this range comes from a broken sensor.
LOWEST_C, HIGHEST_C = -60.0, 200.0

# Digits are bounded so that no number overflows to infinity or takes long to convert.
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]*)", re.ASCII)


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `10 min`.

    Raises ValueError, saying what a duration looks like, for anything else: no unit, an unknown
    one, zero, or more than 31 days.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError("is not a duration; write a number and its unit, such as 30 s or 10 min")
    number, unit = match.groups()
    if not unit:
        raise ValueError(f"has no unit; write {number} s, {number} min or {number} h")
    if unit not in SECONDS_OF_UNIT:
        raise ValueError(f"has the unknown unit {unit!r}; known: {', '.join(SECONDS_OF_UNIT)}")
    seconds = float(number) * SECONDS_OF_UNIT[unit]
    if not 0 < seconds <= MAX_DURATION_S:
        raise ValueError("is not longer than nothing and at most 31 days")
    return seconds


def duration(seconds: float | None) -> str:
    """Return a time as people say it: `2.5 s`, `3 min 20 s`, `2 h 05 min`; None is `unknown`."""
    if seconds is None:
        return "unknown"
    # Half a second is much of a few.
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def utc_now(timespec: str = "seconds") -> str:
    """Return the time in UTC, in ISO 8601 format; `timespec` is that of `datetime.isoformat`."""
    return datetime.now(timezone.utc).isoformat(timespec=timespec)


def percent(share: float) -> str:
    """Return a share as a percentage of three digits, or whole: `0.25 %`, `10.3 %`, `1430 %`."""
    value = 100 * share
    # From here on three digits round to 1000, which `g` writes as 1e+03.
    return f"{value:.0f} %" if abs(value) >= 999.5 else f"{value:.3g} %"
