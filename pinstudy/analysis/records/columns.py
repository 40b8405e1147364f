"""Values of records as columns of a frame. Their types were checked where the line was read."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.runners.node.topology import KIND_ORDER

Floats = NDArray[np.float64]

_NO_KIND = (None,) * len(KIND_ORDER)


class Codes(dict[Hashable, int]):
    """Numbers for values, 0, 1, … in the order of their first use."""

    def __missing__(self, value: Hashable) -> int:
        """Return the number of a new value."""
        code = self[value] = len(self)
        return code


class Texts:
    """The texts of a column: each distinct one is kept once, a row is its number."""

    def __init__(self) -> None:
        # 0 stands for no text.
        self._codes = Codes({None: 0})

    def numbered(self, values: Sequence[Any]) -> NDArray[np.int32]:
        """Return the texts' numbers, 0 for none."""
        return np.fromiter(map(self._codes.__getitem__, values), np.int32, len(values))

    def column(self, numbers: NDArray[np.int32]) -> pd.Categorical:
        """Return the column of these numbers; it is missing where there was no text."""
        codes: Any = numbers - 1
        texts = pd.Index(list(self._codes)[1:], dtype=object)
        return pd.Categorical.from_codes(codes, categories=texts)


class Reasons:
    """What `unavailable` says: each distinct pair of field and reason, and each set of these, once.

    Runs of a case lack the same fields for the same reasons, so that a run costs one number.
    """

    def __init__(self) -> None:
        self._sets = Codes()

    def number(self, unavailable: Mapping[str, str] | None) -> int:
        """Return the number of the set of a record's reasons."""
        return self._sets[tuple((unavailable or {}).items())]

    def by_case(self, cases: pd.Series[Any], numbers: pd.Series[Any]) -> pd.DataFrame:
        """Return the distinct reasons of runs, given by their cases and the numbers of their sets.

        Columns: `case_id`, `field`, `reason`; a case's in the order of their appearance.
        """
        sets: list[Any] = list(self._sets)
        runs = pd.DataFrame({"case": cases, "set": numbers}).drop_duplicates()
        rows = dict.fromkeys(
            (case, field, reason)
            for case, number in runs.itertuples(index=False, name=None)
            for field, reason in sets[number]
            if reason
        )
        return pd.DataFrame(list(rows), columns=["case_id", "field", "reason"], dtype=object)


def numbers(values: Sequence[Any]) -> Floats:
    """Return numbers, NaN for None."""
    return np.array(values, dtype=float)


def by_kind(values: Mapping[str, float] | None) -> Iterable[float | None]:
    """Return what an object by core kind has for each of KIND_ORDER; other names are ignored."""
    return map(values.get, KIND_ORDER) if values else _NO_KIND


def by_number_and_kind(values: Sequence[Mapping[str, float]] | None, most: int) -> dict[str, float]:
    """Return a list of objects by core kind as one object, whose names are such as `0 P`.

    Of longer lists the first `most` are taken.
    """
    return {
        f"{at} {kind}": number
        for at, by_kind in enumerate((values or ())[:most])
        for kind, number in by_kind.items()
        if kind in KIND_ORDER
    }


def unix_seconds(moment: str | None) -> float:
    """Return a point in time, a text as ISO 8601 has it, in seconds since 1970; UTC is assumed."""
    if moment is None:
        return math.nan
    try:
        # Python 3.10 does not know the Z.
        parsed = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
        return aware.timestamp()
    except (ValueError, OverflowError):
        return math.nan


class Sparse:
    """Numbers by name, a column a name, a row a record; only records that have any take memory.

    `pattern` makes a column's name, `accepts` says which names may be columns. Of more than `most`
    names the first in the alphabet are kept. `more` tells that there were others.
    """

    def __init__(self, pattern: str, accepts: Callable[[str], bool], most: int) -> None:
        self.more = False
        self._pattern, self._accepts, self._most = pattern, accepts, most
        self._cells: dict[str, tuple[list[int], list[float]]] = {}

    def add(self, row: int, values: Mapping[str, float] | None) -> None:
        """Add what a row has."""
        for name, value in (values or {}).items():
            if self._takes(name):
                rows, numbers = self._cells[name]
                rows.append(row)
                numbers.append(value)

    def _takes(self, name: str) -> bool:
        """Return whether a name is a column, after it has become one where it may."""
        if name in self._cells:
            return True
        if self._accepts(name):
            self._cells[name] = [], []
            if len(self._cells) <= self._most:
                return True
            del self._cells[max(self._cells)]
        self.more = True
        return name in self._cells

    def columns(self, row_count: int) -> dict[str, Floats]:
        """Return the columns, NaN where a row has no number."""
        columns_by_name = {}
        for name, (rows, numbers) in sorted(self._cells.items()):
            column = np.full(row_count, np.nan)
            column[rows] = numbers
            columns_by_name[self._pattern.format(name)] = column
        return columns_by_name
