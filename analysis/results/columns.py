"""Records to columns: chunk by chunk, whatever stands there; what does not belong there is missing.

A chunk's types are looked at as a set. Where all are as they should be, as in every record that
pinstudy wrote, the values are converted at once; otherwise one by one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.results.fields import (
    L1D_MISS_RATE,
    MAX_METRICS,
    MEASURES,
    METRIC,
    MORE_MEASURES,
    ROW_KEYS,
    TABLE_KEYS,
)
from base.reading import number_or_nan
from runners.node.topology import KIND_ORDER
from runners.records.disturbances import SEPARATOR, disturbances
from runners.records.placed_runs import verdict_of
from runners.records.reader import Part, read_part
from runners.records.values import BASELINE, INTERRUPTED, OK, SKIPPED, NoRecord

Values = Sequence[object]
Floats = NDArray[np.float64]

_NONE = type(None)
_NO_KIND = (None,) * len(KIND_ORDER)
# From here on a float no longer tells whole numbers apart.
_TOO_LARGE = 2**53

_TEXTS = (
    "study", "study_digest", "study_file", "case_id", "program_digest", "node_id", "pool",
    "node_digest", "node", "boot_id", "app", "variant", "size", "schedule", "wait_policy",
    "mapping", "governor", "selection", "binding", "mechanism", "cpus", "status", "reason",
    "governor_read", "driver", "engine", "vcpu_mapping", "vcpu_selection", "vcpu_binding",
    "vcpu_cpus", "vm_accelerator", "algorithm", "implementation",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "threads",
    "vm_cpus", "vm_memory_mib",
)  # fmt: skip
_FLAGS = ("warmup", "kinds_declared", "fixed_time")
_VERDICTS = ("placement_verdict", "vcpu_placement_verdict")
# Texts that are made of several fields of a record.
_TOLD = ("disturbed", "daemons")
_BY_KIND = ("freq_{}_ghz", "residency_{}")
_OF_KINDS = tuple(of.format(kind) for of in _BY_KIND for kind in KIND_ORDER)
_NUMBERS = (*MEASURES, *MORE_MEASURES, *_OF_KINDS, "temperature_c")
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, *_VERDICTS, *_TOLD,
    "started_s", "temperature_c",
)  # fmt: skip

# Objects from names to numbers, of which only some records have any.
_SPARSE = ("l1d_miss_rate", "metrics")
# What is taken as it is, and the names of all that `_row` returns.
_PLAIN = (*_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, "started_at", "clock_set_s")
_ROW = (*_PLAIN, *_VERDICTS, *_TOLD, *_OF_KINDS, "temperature_c", *_SPARSE)
_NEEDED = ("case_id", "status", *TABLE_KEYS, *ROW_KEYS)
_NEEDED_COUNTS = tuple(name for name in _NEEDED if name in _COUNTS)
# Runs at a time: few enough to stay in a processor's cache.
CHUNK = 500

Arrays = dict[str, NDArray[Any]]


class Texts(dict[object, int]):
    """The texts of a column: each distinct one is kept once, a row is its number."""

    def __init__(self) -> None:
        # 0 stands for no text.
        super().__init__({None: 0})

    def __missing__(self, text: object) -> int:
        """Return the number of a new text."""
        number = self[text] = len(self)
        return number

    def numbered(self, values: Values) -> NDArray[np.int32]:
        """Return the texts' numbers, 0 for what is no text."""
        if not set(map(type, values)) <= {str, _NONE}:
            values = [value if isinstance(value, str) else None for value in values]
        return np.fromiter(map(self.__getitem__, values), np.int32, len(values))

    def column(self, numbers: NDArray[np.int32]) -> pd.Categorical:
        """Return the column of these numbers; it is missing where there was no text."""
        codes: Any = numbers - 1
        return pd.Categorical.from_codes(codes, categories=pd.Index(list(self)[1:], dtype=object))


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


def member(value: object, name: str) -> object:
    """Return a member of an object from a record; None where there is no such object or member."""
    return value.get(name) if isinstance(value, dict) else None


def by_kind(value: object) -> Iterable[object]:
    """Return what an object by core kind has for each of KIND_ORDER; other names are ignored."""
    return map(value.get, KIND_ORDER) if isinstance(value, dict) else _NO_KIND


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
    names the first in the alphabet are kept, and `more` tells that there were others.
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


def is_good(record: Mapping[str, Any]) -> bool:
    """Return whether a run is averaged: its status is ok, and it is no warm-up."""
    return record.get("status") == OK and record.get("warmup") is not True


def _row(record: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what is kept of a record, unchecked; its long parts can go at once."""
    get = record.get
    return (
        *map(get, _PLAIN),
        verdict_of(record),
        verdict_of(record, "vcpu_placement"),
        SEPARATOR.join(disturbances(record)) or None,
        _joined(get("daemons")),
        *by_kind(get("freq_ghz")),
        *by_kind(get("residency")),
        highest(get("temperature_before_c")),
        *map(get, _SPARSE),
    )


def _joined(names: object) -> str | None:
    """Return the texts of a list as one; None where there is none."""
    texts = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return SEPARATOR.join(texts) or None


class Growing:
    """The columns of a frame while records come in; a chunk leaves one array a column.

    `refused` counts lines that are no records, by why; `unusable` counts records that do not say
    which row of which table they belong to.
    `ruled` tells that something ended the repetitions of a record's case, `raced` that a race did.
    `reasons` has (case_id, field, reason) of what good runs lack, each once, in the order of their
    appearance. `sparse` has the columns that only some records have.
    """

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        self.unusable = 0
        self.raced = self.ruled = False
        self.reasons: dict[tuple[str, str, str], None] = {}
        self._ended: set[tuple[str, bool, str]] = set()
        self._texts = {name: Texts() for name in (*_TEXTS, *_VERDICTS, *_TOLD)}
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self.sparse = {
            "l1d_miss_rate": Sparse(L1D_MISS_RATE, KIND_ORDER.__contains__, len(KIND_ORDER)),
            "metrics": Sparse(METRIC, str.isprintable, MAX_METRICS),
        }

    def read(self, part: Part) -> None:
        """Add the records of a part of a shard; idle baselines are no runs."""
        rows = self._rows(part)
        while chunk := list(islice(rows, CHUNK)):
            self._add(dict(zip(_ROW, zip(*chunk, strict=True), strict=True)))

    def _rows(self, part: Part) -> Iterator[tuple[object, ...]]:
        for record in read_part(part):
            if isinstance(record, NoRecord):
                self.refused[record.why] += 1
            elif record.get("status") != BASELINE:
                if not self.raced and "repetition_rule" in record:
                    self.ruled = True
                    self.raced = member(record["repetition_rule"], "race") is not None
                self._keep_reasons(record)
                yield _row(record)

    def _keep_reasons(self, record: Mapping[str, Any]) -> None:
        """Keep what a good run lacks and why; of several records of a run the first one counts."""
        case_id, absent = record.get("case_id"), record.get("unavailable")
        if record.get("status") in (INTERRUPTED, SKIPPED) or not isinstance(case_id, str):
            return
        run = case_id, record.get("warmup") is True, repr(record.get("repetition"))
        is_first = run not in self._ended
        self._ended.add(run)
        if is_first and is_good(record) and isinstance(absent, dict):
            for name, reason in absent.items():
                if isinstance(reason, str) and reason:
                    self.reasons[case_id, name, reason] = None

    def _add(self, chunk: Mapping[str, tuple[object, ...]]) -> None:
        """Add the rows of a chunk, given by field, that say which case they belong to."""
        arrays = self._arrays(chunk)
        known = [
            ~np.isnan(arrays[name]) if name in _COUNTS else arrays[name] > 0 for name in _NEEDED
        ]
        usable = np.logical_and.reduce(known)
        if not usable.all():
            self.unusable += int((~usable).sum())
            arrays = {name: array[usable] for name, array in arrays.items()}
        for name, array in arrays.items():
            self._parts.setdefault(name, []).append(array)
        for name, sparse in self.sparse.items():
            sparse.add(chunk[name], usable)

    def _arrays(self, chunk: Mapping[str, tuple[object, ...]]) -> Arrays:
        arrays: Arrays = {name: texts.numbered(chunk[name]) for name, texts in self._texts.items()}
        arrays |= {name: counts(chunk[name]) for name in _COUNTS}
        arrays |= {name: flags(chunk[name]) for name in _FLAGS}
        arrays |= {name: numbers(chunk[name]) for name in _NUMBERS}
        # By the clock as it was when the attempt began: one that is set must not misorder runs.
        set_s = np.nan_to_num(numbers(chunk["clock_set_s"]))
        arrays["started_s"] = unix_seconds(chunk["started_at"]) - set_s
        return arrays

    def frame(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return all rows and the kinds of which there are numbers; the parts are used up."""
        if not self._parts:
            self._add(dict.fromkeys(_ROW, ()))
        data: dict[str, Any] = {}
        for name in (*COLUMNS, *_OF_KINDS):
            array = np.concatenate(self._parts.pop(name))
            if name in self._texts:
                data[name] = self._texts[name].column(array)
            else:
                data[name] = array.astype(np.int64) if name in _NEEDED_COUNTS else array
        kinds = []
        for kind in KIND_ORDER:
            names = [pattern.format(kind) for pattern in _BY_KIND]
            if all(np.isnan(data[name]).all() for name in names):
                for name in names:
                    del data[name]
            else:
                kinds.append(kind)
        for sparse in self.sparse.values():
            data |= sparse.columns()
        # Without a copy, or all numbers would be there twice for a while.
        return pd.DataFrame(data, copy=False), tuple(kinds)
