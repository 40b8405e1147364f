"""Columns that only some records have, under names that only the records know: the metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from analysis.columns import Floats, Values, numbers


class Sparse:
    """Numbers by name, a column a name, a row a record; only records that have any take memory.

    `pattern` makes a column's name, `accepts` says which names may be columns. Of more than `most`
    names the first in the alphabet are kept: these are the same ones however the records are split
    between processes. `more` tells that there were others.
    """

    def __init__(self, pattern: str, accepts: Callable[[str], bool], most: int) -> None:
        self.more = False
        self._pattern, self._accepts, self._most = pattern, accepts, most
        self._rows = 0
        self._parts: dict[str, list[tuple[int, Floats]]] = {}

    def add(self, objects: Values, usable: NDArray[np.bool_]) -> None:
        """Add the usable ones of some records' objects from names to numbers; others are empty."""
        first = self._rows
        self._rows += int(usable.sum())
        tables = [value if isinstance(value, dict) else {} for value in objects]
        for name in dict.fromkeys(name for table in tables for name in table):
            if self._takes(name):
                values = numbers([table.get(name) for table in tables])
                self._parts[name].append((first, values[usable]))

    def _takes(self, name: str) -> bool:
        """Return whether a name is a column, after it has become one where it may."""
        if name in self._parts:
            return True
        if self._accepts(name):
            self._parts[name] = []
            if len(self._parts) <= self._most:
                return True
            del self._parts[max(self._parts)]
        self.more = True
        return name in self._parts

    def merge(self, others: Sparse) -> None:
        """Add the rows of others after those that are here."""
        for name, parts in others._parts.items():
            if self._takes(name):
                self._parts[name] += [(self._rows + first, values) for first, values in parts]
        self._rows += others._rows
        self.more |= others.more

    def columns(self) -> dict[str, Floats]:
        """Return the columns that have a number, NaN where a record has none; parts are used up."""
        made = {}
        for name in sorted(self._parts):
            column = np.full(self._rows, np.nan)
            for first, values in self._parts.pop(name):
                column[first : first + len(values)] = values
            if np.isfinite(column).any():
                made[self._pattern.format(name)] = column
        return made
