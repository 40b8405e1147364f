"""The digits of values, ratios and their intervals, and an outcome with what would decide it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pinstudy.analysis.format.numbers import (
    ENERGY_DECIMALS,
    NOTHING,
    ends,
    fixed,
    metric_decimals,
    time_decimals,
)
from pinstudy.analysis.objectives import EDP, ENERGY, TIME, Objective
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.model import Comparison

RATIO_DECIMALS = 3
MAX_RATIO_DECIMALS = 9


def objective_decimals(objective: Objective, values: Iterable[float]) -> int:
    """Return the decimals of an objective's values in one table."""
    if objective in (ENERGY, EDP):
        return ENERGY_DECIMALS
    return time_decimals(values) if objective == TIME else metric_decimals(values)


def ratio_decimals(ratio: float) -> int:
    """Return the decimals of a ratio: three, or more so that a small one has three digits."""
    if not 0 < ratio < 1:
        return RATIO_DECIMALS
    return min(MAX_RATIO_DECIMALS, max(RATIO_DECIMALS, 2 - math.floor(math.log10(ratio))))


def ratio_text(ratio: float) -> str:
    """Return a ratio with the decimals of `ratio_decimals`."""
    return fixed(ratio, ratio_decimals(ratio))


def ratio_interval(difference: Difference) -> str:
    """Return a ratio's interval; nothing without spread, or where it says next to nothing."""
    interval = difference.known_interval()
    if interval is None or interval.tells_nothing:
        return NOTHING
    return interval_of(interval, ratio_decimals(interval.low))


def outcome_text(comparison: Comparison) -> str:
    """Return a comparison's outcome, with how many more repetitions would decide."""
    if comparison.outcome != "undecided" or not comparison.more:
        return comparison.outcome
    return f"undecided (+{comparison.more.half} to {comparison.more.most})"


def interval_of(interval: Interval | None, decimals: int) -> str:
    """Return both ends of an interval with these decimals, or more where both would look equal.

    Nothing where there is none.
    """
    if interval is None:
        return NOTHING
    both = ends(interval.low, interval.high, lambda end, more: fixed(end, decimals + more))
    return " to ".join(both)
