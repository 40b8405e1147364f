"""Holm's correction: the chance of any false claim among several tests stays within the level."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given.

    Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979): the smallest of m times
    m, the next times m - 1, and so on, none smaller than the one before and none above 1.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted
