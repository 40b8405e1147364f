"""How numbers stand in a table: as the published tables have them, never more digits than known."""

from __future__ import annotations

import math
from collections.abc import Iterable

# The published tables give times and frequencies to the thousandth.
TIME_DECIMALS = 3
FREQUENCY_DECIMALS = 3
ENERGY_DECIMALS = 2
# Short runs get more decimals, so that the shortest time still has this many digits.
MIN_TIME_DIGITS = 3
# Five digits of a hundredth of a nanosecond.
MAX_DECIMALS = 15
# Numbers of any size have as many digits as the published times.
METRIC_DIGITS = 5
# The text of an empty cell, and the reason for an absent value whose reason is unknown.
NOTHING = "-"
NO_REASON = "not recorded, and no reason given"


def time_decimals(seconds: Iterable[float]) -> int:
    """Return the decimals of all times of a table: 3, or more when the shortest needs them."""
    return max(TIME_DECIMALS, _decimals(seconds, MIN_TIME_DIGITS))


def metric_decimals(values: Iterable[float]) -> int:
    """Return the decimals of a metric's numbers: as many as the smallest needs for five digits."""
    return _decimals(values, METRIC_DIGITS)


def _decimals(values: Iterable[float], digits: int) -> int:
    positive = [value for value in values if 0 < value < math.inf]
    if not positive:
        return 0
    needed = digits - 1 - math.floor(math.log10(min(positive)))
    return max(0, min(MAX_DECIMALS, needed))


def fixed(value: float, decimals: int) -> str:
    """Return a number with a fixed number of decimals; nothing for what is none."""
    return f"{value:.{decimals}f}" if math.isfinite(value) else NOTHING


def finite(value: float) -> float | None:
    """Return a number for a program to read; None for what is none, or has no end."""
    return value if math.isfinite(value) else None


def mean_count(value: float) -> str:
    """Return a mean of counts: whole, but for small means that fall between whole numbers."""
    if abs(value) < 100 and not math.isclose(value, round(value), abs_tol=0.05):
        return f"{value:.1f}"
    return f"{value:.0f}"


def percent(share: float) -> str:
    """Return a share as a percentage with two digits; a plus sign is the caller's to add."""
    value = 100 * share
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.2g} %"


def three_digits(value: float) -> str:
    """Return a number with three digits, without an exponent where people would not use one."""
    return _digits(value, 3)


def five_digits(value: float) -> str:
    """Return a number of any size with five digits; nothing for what is none."""
    return _digits(value, METRIC_DIGITS) if math.isfinite(value) else NOTHING


def _digits(value: float, count: int) -> str:
    if value != 0 and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.{count - 1}e}"
    # From here on so many digits are a whole number, which `g` would write with an exponent.
    if abs(value) >= 10**count - 0.5:
        return f"{value:.0f}"
    return f"{value:.{count}g}"
