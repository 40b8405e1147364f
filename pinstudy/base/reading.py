"""What a collector adds to a run's record, and values of records, which may hold anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Reading:
    """Fields of the record, and for each field that is absent the reason."""

    fields: dict[str, Any] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def __or__(self, other: Reading) -> Reading:
        """Return the fields and the reasons of both; those of `other` replace equal ones."""
        return Reading(self.fields | other.fields, self.unavailable | other.unavailable)


@dataclass(frozen=True)
class Unavailable:
    """Why there is no value; `missing` when its file does not exist, which is often normal.

    `busy` when the file belongs to something that is not in use, such as an offline CPU's policy;
    `denied` when this process may not access it.
    """

    reason: str
    missing: bool = False
    busy: bool = False
    denied: bool = False


def known(value: _Value | Unavailable) -> _Value | None:
    """Return a value, or None for one that is unavailable."""
    return None if isinstance(value, Unavailable) else value


def reading_of(values: Mapping[str, object]) -> Reading:
    """Return the values as fields, and the reasons of those that are `Unavailable`."""
    absent = {
        name: value.reason for name, value in values.items() if isinstance(value, Unavailable)
    }
    return Reading({name: of for name, of in values.items() if name not in absent}, absent)


def number_or_nan(value: object) -> float:
    """Return a measured value as a float; NaN if it is no number, a bool or infinite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def table_in(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a table inside another; an empty one for what is none."""
    value = values.get(name)
    return value if isinstance(value, dict) else {}
