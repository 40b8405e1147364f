"""Values of records as columns of frames: whatever stands there, a chunk of it becomes an array.

A chunk's types are looked at as a set. Where all are as they should be, as in every record that
pinstudy wrote, the values are converted at once; otherwise one by one, and what does not belong
there is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from base.reading import number_or_nan
from configs.core_kinds import KIND_ORDER

Values = Sequence[object]
Floats = NDArray[np.float64]

_NONE = type(None)
_NO_KIND = (None,) * len(KIND_ORDER)
# From here on a float no longer tells whole numbers apart.
_TOO_LARGE = 2**53


class Codes(dict[Hashable, int]):
    """Numbers for values, 0, 1, … in the order of their first use."""

    def __missing__(self, value: Hashable) -> int:
        """Return the number of a new value."""
        code = self[value] = len(self)
        return code


class Growing:
    """An array that grows at its end; one of floats takes no memory until it has a number.

    A node has few of the core kinds, and a study few of the measures, that there are columns for.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._count = 0
        # With room at its end, to be copied seldom.
        self._held: NDArray[Any] = np.empty(0, dtype)

    @property
    def is_empty(self) -> bool:
        """Whether it has no number, and no other value."""
        return not len(self._held)

    @property
    def array(self) -> NDArray[Any]:
        """All values; they must not be changed while more are added."""
        if self.is_empty and self._count:
            return np.full(self._count, np.nan)
        return self._held[: self._count]

    def add(self, values: NDArray[Any]) -> None:
        """Add values of the array's type."""
        count = self._count + len(values)
        if not (self.is_empty and values.dtype.kind == "f" and np.isnan(values).all()):
            if count > len(self._held):
                grown = np.empty(max(count, len(self._held) * 5 // 4), self._held.dtype)
                grown[: self._count] = self.array
                self._held = grown
            self._held[self._count : count] = values
        self._count = count


class Texts:
    """The texts of a column: each distinct one is kept once, a row is its number."""

    def __init__(self) -> None:
        # 0 stands for no text.
        self._codes = Codes({None: 0})

    def numbered(self, values: Values) -> NDArray[np.int32]:
        """Return the texts' numbers, 0 for what is no text."""
        if not set(map(type, values)) <= {str, _NONE}:
            values = [value if isinstance(value, str) else None for value in values]
        return np.fromiter(map(self._codes.__getitem__, values), np.int32, len(values))

    def numbers_of(self, others: Texts) -> NDArray[np.int32]:
        """Return the numbers here of the texts of another column, by their numbers there."""
        known = map(self._codes.__getitem__, others._codes)
        return np.fromiter(known, np.int32, len(others._codes))

    def column(self, numbers: NDArray[np.int32]) -> pd.Categorical:
        """Return the column of these numbers; it is missing where there was no text."""
        texts = pd.Index(list(self._codes)[1:], dtype=object)
        codes: Any = numbers - 1
        return pd.Categorical.from_codes(codes, categories=texts)


class Reasons:
    """What `unavailable` says: each distinct pair of field and reason, and each set of these, once.

    Runs of a case lack the same fields for the same reasons, so that a run costs one number.
    """

    def __init__(self) -> None:
        self._pairs = Codes()
        self._sets = Codes()

    def number(self, value: object) -> int:
        """Return the number of the set in a record's `unavailable`."""
        if not isinstance(value, dict):
            value = {}
        pair_of = self._pairs.__getitem__
        try:
            return self._sets[tuple(map(pair_of, value.items()))]
        except TypeError:
            texts = ((name, text) for name, text in value.items() if isinstance(text, str))
            return self._sets[tuple(map(pair_of, texts))]

    def numbers_of(self, others: Reasons) -> NDArray[np.int32]:
        """Return the numbers here of the sets of others, by their numbers there."""
        pairs = [self._pairs[pair] for pair in others._pairs]
        of_others: list[Any] = list(others._sets)
        sets = [self._sets[tuple(pairs[at] for at in of)] for of in of_others]
        return np.array(sets, dtype=np.int32)

    def by_case(self, cases: pd.Series[Any], numbers: pd.Series[Any]) -> pd.DataFrame:
        """Return the distinct reasons of runs, given by their cases and the numbers of their sets.

        Columns: `case_id`, `field`, `reason`; a case's in the order of their appearance.
        """
        pairs: list[Any] = list(self._pairs)
        sets: list[Any] = list(self._sets)
        runs = pd.DataFrame({"case": cases, "set": numbers}).drop_duplicates()
        rows = dict.fromkeys(
            (case, *pairs[pair])
            for case, number in runs.itertuples(index=False, name=None)
            for pair in sets[number]
        )
        texts = [row for row in rows if isinstance(row[2], str) and row[2]]
        return pd.DataFrame(texts, columns=["case_id", "field", "reason"], dtype=object)


def numbers(values: Values) -> Floats:
    """Return measured numbers, NaN for what is none (`number_or_nan`)."""
    if set(map(type, values)) <= {float, int, _NONE}:
        try:
            array = np.array(values, dtype=float)
        except OverflowError:
            pass
        else:
            array[~np.isfinite(array)] = math.nan
            return array
    return np.array([number_or_nan(value) for value in values], dtype=float)


def counts(values: Values) -> Floats:
    """Return whole numbers; NaN for what is none, or too large to be told from its neighbours."""
    if not set(map(type, values)) <= {int, _NONE}:
        values = [value if type(value) is int else None for value in values]
    array = numbers(values)
    array[np.abs(array) >= _TOO_LARGE] = math.nan
    return array


def flags(values: Values) -> NDArray[np.bool_]:
    """Return which values are true; all that is not `true` is false."""
    return np.array([value is True for value in values], dtype=bool)


def are_absent(values: Values) -> NDArray[np.bool_]:
    """Return which values are not there; one that is null is as good as none."""
    return np.array([value is None for value in values], dtype=bool)


def member(value: object, name: str) -> object:
    """Return a member of an object from a record; None where there is no such object or member."""
    return value.get(name) if isinstance(value, dict) else None


def by_kind(value: object) -> Iterable[object]:
    """Return what an object by core kind has for each of KIND_ORDER; other names are ignored."""
    return map(value.get, KIND_ORDER) if isinstance(value, dict) else _NO_KIND


def by_number_and_kind(value: object, most: int) -> dict[str, object] | None:
    """Return a list of objects by core kind as one object, whose names are such as `0 P`.

    Of longer lists the first `most` are taken; what is no time becomes None. None for what is no
    list.
    """
    if not isinstance(value, list):
        return None
    return {
        f"{at} {kind}": number if number_or_nan(number) >= 0 else None
        for at, of_one in enumerate(value[:most])
        for kind, number in (of_one.items() if isinstance(of_one, dict) else ())
        if kind in KIND_ORDER
    }


def unix_seconds(values: Values) -> Floats:
    """Return points in time, texts as ISO 8601 has them, in seconds since 1970; UTC is assumed."""
    return np.array([_unix_seconds(value) for value in values], dtype=float)


def _unix_seconds(value: object) -> float:
    if not isinstance(value, str):
        return math.nan
    try:
        # Python 3.10 does not know the Z.
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        return aware.timestamp()
    except (ValueError, OverflowError):
        return math.nan


def highest(value: object) -> float:
    """Return the highest number of an object; NaN where there is none."""
    if not isinstance(value, dict):
        return math.nan
    numbers_of = [number_or_nan(number) for number in value.values()]
    return max((number for number in numbers_of if not math.isnan(number)), default=math.nan)


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
        columns_by_name = {}
        for name in sorted(self._parts):
            column = np.full(self._rows, np.nan)
            for first, values in self._parts.pop(name):
                column[first : first + len(values)] = values
            if np.isfinite(column).any():
                columns_by_name[self._pattern.format(name)] = column
        return columns_by_name
