"""How numbers stand in tables and sentences: never more digits than known, and never as -0.

Percentages have no exponent. The ends of an interval look alike only where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

# The published tables give times and frequencies to the thousandth.
TIME_DECIMALS = 3
FREQUENCY_DECIMALS = 3
ENERGY_DECIMALS = 2
# Short runs get more decimals, so that the shortest time, or least energy, has this many digits.
MIN_TIME_DIGITS = 3
# Five digits of a hundredth of a nanosecond.
MAX_DECIMALS = 15
# Numbers of any size have as many digits as the published times.
METRIC_DIGITS = 5
# Percentages beyond have no digits that anybody needs.
MOST_PERCENT = 1e6
# Ends of an interval that differ by a smaller share are equal: floats tell them apart, no clock.
SAME_END = 1e-9
# The text of an empty cell, and the reason for an absent value whose reason is unknown.
NOTHING = "-"
NO_REASON = "not recorded, and no reason given"


def time_decimals(seconds: Iterable[float]) -> int:
    """Return the decimals of all times of a table: 3, or more when the shortest needs them."""
    return max(TIME_DECIMALS, _decimals(seconds, MIN_TIME_DIGITS))


def energy_decimals(joules: Iterable[float]) -> int:
    """Return the decimals of all energies of a table: 2, or more when the smallest needs them."""
    return max(ENERGY_DECIMALS, _decimals(joules, MIN_TIME_DIGITS))


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
    """Return a number with a fixed number of decimals; nothing for what is none.

    Below 0 decimals are noughts before the point: 1234 with -2 is `1200`.
    """
    if not math.isfinite(value):
        return NOTHING
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return text.lstrip("-") if not text.strip("-0.") else text


def decimals_left(half_width: float) -> int:
    """Return the decimals that an uncertainty leaves: half of its interval shows two digits."""
    if not (half_width > 0 and math.isfinite(half_width)):
        return 1
    return min(2, 1 - math.floor(math.log10(half_width)))


def signed(value: float, decimals: int) -> str:
    """Return a number with its sign; none before one that is rounded to nothing."""
    text = fixed(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def signed_percents(share: float, low: float, high: float) -> tuple[str, tuple[str, str]]:
    """Return a share and the ends of its interval in per cent, all with their signs.

    They have the digits that the interval leaves.
    """
    decimals = decimals_left(100 * (high - low) / 2)
    both = ends(low, high, lambda end, more: signed(100 * end, decimals + more))
    return signed(100 * share, decimals), both


def ends(low: float, high: float, write: Callable[[float, int], str]) -> tuple[str, str]:
    """Return both ends of an interval as `write` writes them, with more digits where they need any.

    `write` gets a number and how many digits more it has to show than it would by itself.
    """
    more = 0
    texts = write(low, more), write(high, more)
    differ = not math.isclose(low, high, rel_tol=SAME_END)
    while differ and texts[0] == texts[1] and more < MAX_DECIMALS:
        more += 1
        texts = write(low, more), write(high, more)
    return texts


def finite(value: float) -> float | None:
    """Return a number for a program to read; None for what is none, or has no end."""
    return value if math.isfinite(value) else None


def mean_count(value: float) -> str:
    """Return a mean of counts: whole, but for small means that fall between whole numbers."""
    if abs(value) < 100 and not math.isclose(value, round(value), abs_tol=0.05):
        return fixed(value, 1)
    return fixed(value, 0)


def percent(share: float) -> str:
    """Return a share as a percentage with two digits; from 10 % on it is whole.

    A plus sign is the caller's to add.
    """
    return f"{in_percent(share, 2)} %"


def in_percent(share: float, digits: int) -> str:
    """Return a share as the number of a percentage, with so many digits, those of a whole at least.

    There is no exponent, and no nought at the end behind a point.
    """
    value = 100 * share
    if math.isnan(value):
        return NOTHING
    if abs(value) > MOST_PERCENT:
        return f"{'-' if value < 0 else ''}{MOST_PERCENT:.0f} or more"
    # As it will be rounded: 9.96 has one digit before its point, and 10.0 two.
    near = float(f"{value:.{digits - 1}e}")
    if near == 0:
        return "0"
    decimals = max(0, min(MAX_DECIMALS, digits - 1 - math.floor(math.log10(abs(near)))))
    text = fixed(value, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed_in_percent(share: float, digits: int) -> str:
    """Return a share as `in_percent` does, with its sign; none before nothing."""
    text = in_percent(abs(share), digits)
    return text if text in ("0", NOTHING) else f"{'+' if share > 0 else '-'}{text}"


def signed_percent(share: float, digits: int = 2) -> str:
    """Return a share as a percentage with its sign: `-12 %`."""
    return f"{signed_in_percent(share, digits)} %"


def ends_in_percent(low: float, high: float) -> tuple[str, str]:
    """Return both ends of an interval of shares as numbers of percentages, without a plus sign."""
    return ends(low, high, lambda end, more: in_percent(end, 2 + more))


def percent_range(low: float, high: float) -> str:
    """Return both ends of an interval of shares with one percent sign: `-17 to -9 %`."""
    first, last = percent_ends(low, high)
    return f"{first.removesuffix(' %')} to {last}"


def percent_ends(low: float, high: float) -> tuple[str, str]:
    """Return both ends of an interval of shares, as percentages with their signs."""
    if max(abs(low), abs(high)) < SAME_END:
        return "0 %", "0 %"
    return ends(low, high, _signed_percent)


def _signed_percent(share: float, more: int) -> str:
    # Half of a hundredth of a per cent has no number, unless the other end asks for one.
    if abs(share) < 0.5 * 10 ** (-4 - more):
        return "0 %"
    return signed_percent(share, 2 + more)


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
