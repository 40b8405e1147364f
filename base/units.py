"""Durations as people write them: `30 s`, `10 min`, `1.5 h`. A unit is required."""

from __future__ import annotations

import re

SECONDS_OF_UNIT = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}

# A month: longer than any batch system lets a job run, so a longer one is a slip of the pen.
MAX_DURATION_S = 31 * 24 * 3600.0

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
