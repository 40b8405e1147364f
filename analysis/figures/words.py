"""Numbers and lists in captions and alt texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.findings import CaseFinding
from base.text import one_line


def number(value: float) -> str:
    """Return a number with three digits, without an exponent where people would not use one."""
    if value != 0 and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.2e}"
    # From here on three digits are a whole number, which `g` would write with an exponent.
    if abs(value) >= 999.5:
        return f"{value:.0f}"
    return f"{value:.3g}"


def named(case: CaseFinding) -> str:
    """Return a case's name as it may stand in a sentence."""
    return one_line(case.label)


def extremes(
    what: str, unit: str, values: Mapping[int, float], cases: Sequence[CaseFinding]
) -> str:
    """Return a sentence with the least and the greatest value; `values` are by row."""
    if not values:
        return ""
    low, high = min(values, key=lambda row: values[row]), max(values, key=lambda row: values[row])
    unit = f" {unit}" if unit else ""
    least = f"{number(values[low])}{unit} for {named(cases[low])}"
    if len(values) == 1:
        return f"{what} is {least}."
    return (
        f"{what} of {len(values)} cases goes from {least} to "
        f"{number(values[high])}{unit} for {named(cases[high])}."
    )


def sentences(*parts: str) -> str:
    """Return the parts that say something as one paragraph."""
    return " ".join(part for part in parts if part)
