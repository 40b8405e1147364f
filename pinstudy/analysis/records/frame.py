"""Records to a frame: one row a run, and one for each of its regions.

Types of values were checked where the line was read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.analysis.measures import COMPARED_ENERGY, OF_KINDS, PLAIN, PROFILES
from pinstudy.analysis.records import flat
from pinstudy.analysis.records.flat import REGION, region_records
from pinstudy.analysis.records.keys import (
    OPTIONAL_KEYS,
    ROW_KEYS,
    TABLE_KEYS,
    settings_as_texts,
    settings_in,
)
from pinstudy.analysis.records.metrics import MAX_METRICS, METRIC, METRICS, metrics_of_record
from pinstudy.runners.node.topology import KIND_ORDER
from pinstudy.runners.records.disturbances import SHARED, disturbances
from pinstudy.runners.records.energy import compared_energy, meter_of
from pinstudy.runners.records.placed_runs import verdict_of

Floats = NDArray[np.float64]

_NO_KIND = (None,) * len(KIND_ORDER)


class Codes(dict[Hashable, int]):
    """Numbers for values, 0, 1, … in the order of their first use."""

    def __missing__(self, value: Hashable) -> int:
        """Return the number of a new value."""
        code = self[value] = len(self)
        return code


def texts(values: Sequence[Any]) -> pd.Categorical:
    """Return texts, each distinct one kept once; missing where there is none."""
    codes: Any
    codes, known = pd.factorize(np.array(values, dtype=object))
    return pd.Categorical.from_codes(codes, categories=pd.Index(known, dtype=object))


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


_TEXTS = (
    "study", "study_digest", "study_file", "case_id", "program_digest", "environment_digest",
    "node_id", "pool", "node_digest", "node", "boot_id", "app", "build", "size", "schedule",
    "wait_policy", "mapping", "governor", "selection", "binding", "mechanism", "cpus", "status",
    "reason", "governor_read", "driver", *flat.TEXTS, "algorithm", "implementation",
    "sched_energy_aware", "sched_ext_scheduler", REGION, "co_runner", "co_runner_cpus",
    "co_runner_alone", "priority", "power_supply",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "submission",
    "threads", *flat.COUNTS,
)  # fmt: skip
_FLAGS = ("warmup", "kinds_declared", "fixed_time", "no_schedule")
_VERDICTS = tuple(
    f"{name}_verdict" for name in ("placement", flat.VCPU_PLACEMENT, "co_runner_placement")
)
# What the study asks for, and what was read back.
_SETTINGS = ("settings", "settings_read")
# Tuples, None where there is nothing in them.
_LISTS = ("disturbed", "daemons", flat.RANK_CPUS, *_SETTINGS, METRICS)
# The task that took most CPU time of all others, where the run shared its CPUs, and that time.
_NEIGHBOUR = ("neighbour", "neighbour_s")
_FIELDS_OF_KINDS = tuple(measure.field for measure in OF_KINDS)
COLUMNS_OF_KINDS = tuple(column for measure in OF_KINDS for column in measure.columns)
# The column that tells which set of reasons a run has.
REASONS = "unavailable"
# The meter of a run's energy with its scope, and that energy.
METER = "energy_meter"
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *PLAIN, *_VERDICTS, *_LISTS, *_NEIGHBOUR, "started_s",
    "temperature_c", METER, COMPARED_ENERGY,
)  # fmt: skip
# The fields that a row takes unchanged, and the names of all that it has.
_UNCHANGED = (*_TEXTS, *_COUNTS, *_FLAGS, *PLAIN)
_ROW = (*COLUMNS, *COLUMNS_OF_KINDS, REASONS)
_AS_TEXT = frozenset((*_TEXTS, *_VERDICTS, "neighbour", METER))
_NEEDED = (
    "case_id", "status", *(key for key in TABLE_KEYS if key not in OPTIONAL_KEYS), *ROW_KEYS,
)  # fmt: skip
_WHOLE = frozenset(_COUNTS).intersection(_NEEDED)
UNSEEN_TASKS = "unseen tasks, of another container or short ones"


class FrameBuilder:
    """Gathers the rows of records.

    `unusable` counts records that do not say which row of which table they belong to, `reasons` has
    the reasons for what they lack, `metrics` the columns of the programs' own metrics.
    """

    def __init__(self) -> None:
        self.unusable = 0
        self.reasons = Reasons()
        self.metrics = Sparse(METRIC, str.isprintable, MAX_METRICS)
        self._profiles = {
            name: Sparse(f"{name}_{{}}", str.isprintable, most * len(KIND_ORDER))
            for name, most in PROFILES.items()
        }
        self._rows: list[tuple[Any, ...]] = []

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the row of a run and those of its regions."""
        self._add_row(flat.in_columns(record))
        if "regions" in record or record.get("region_marks") is not None:
            for region in region_records(record):
                self._add_row(flat.in_columns(region))

    def _add_row(self, record: Mapping[str, Any]) -> None:
        if not _is_usable(record):
            self.unusable += 1
            return
        row = len(self._rows)
        self._rows.append(_row(record, self.reasons))
        self.metrics.add(row, record.get("metrics"))
        for name, profile in self._profiles.items():
            profile.add(row, by_number_and_kind(record.get(name), PROFILES[name]))

    def frame(self) -> pd.DataFrame:
        """Return all rows, without core kinds of which there is no number."""
        data: dict[str, Any] = {}
        for at, name in enumerate(_ROW):
            column = _column(name, [row[at] for row in self._rows])
            if name not in COLUMNS_OF_KINDS or np.isfinite(column).any():
                data[name] = column
        for sparse in (self.metrics, *self._profiles.values()):
            data |= sparse.columns(len(self._rows))
        # Without a copy, or all numbers would be there twice for a while.
        return pd.DataFrame(data, copy=False)


def _column(name: str, values: Sequence[Any]) -> Any:  # noqa: ANN401 - texts, tuples or numbers
    if name in _AS_TEXT:
        return texts(values)
    if name in _LISTS:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    if name in _FLAGS:
        return np.array([value is True for value in values], dtype=bool)
    if name == REASONS:
        return np.array(values, dtype=np.int32)
    return numbers(values).astype(np.int64) if name in _WHOLE else numbers(values)


def _is_usable(record: Mapping[str, Any]) -> bool:
    """Return whether a record says which row of which table it belongs to."""
    # A number of ranks that was removed does not mean that there are no ranks.
    removed = record.get("unavailable") or {}
    known = None not in map(record.get, _NEEDED)
    return known and removed.keys().isdisjoint(OPTIONAL_KEYS)


def _row(record: Mapping[str, Any], reasons: Reasons) -> tuple[Any, ...]:
    get = record.get
    disturbed = disturbances(record)
    # By the clock as it was when the attempt began: one that is set must not misorder runs.
    started_s = unix_seconds(get("started_at")) - (get("clock_set_s") or 0.0)
    neighbour, neighbour_s = _neighbour(record) if SHARED in disturbed else (None, None)
    return (
        *map(get, _UNCHANGED),
        verdict_of(record),
        verdict_of(record, flat.VCPU_PLACEMENT),
        verdict_of(record, "co_runner_placement"),
        disturbed or None,
        tuple(get("daemons") or ()) or None,
        tuple(get(flat.RANK_CPUS) or ()) or None,
        *[settings_as_texts(settings_in(get(name) or {})) or None for name in _SETTINGS],
        metrics_of_record(get("metric_units"), get("metric_better")),
        neighbour,
        neighbour_s,
        started_s,
        max((get("temperature_before_c") or {}).values(), default=None),
        meter_of(record),
        compared_energy(record)[0],
        *[value for field in _FIELDS_OF_KINDS for value in by_kind(get(field))],
        reasons.number(get("unavailable")),
    )


def _neighbour(record: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """Return the command of the task with most CPU time and its seconds; None if there is none.

    Tasks of another container have time on the CPUs and no entry in /proc, and so have short ones.
    Where such took more than any task that was seen, UNSEEN_TASKS stands for them.
    """
    if record.get("foreign_tasks") is None:
        return None, None
    tasks = [
        (task["cpu_s"], task["command"])
        for task in record["foreign_tasks"]
        if task.get("cpu_s") and task.get("command") is not None
    ]
    most_s, command = max(tasks, default=(0.0, None))
    busy_s = (record.get("foreign_cpu_s") or 0.0) - (record.get("interrupts_s") or 0.0)
    unseen_s = busy_s - sum(seconds for seconds, _ in tasks)
    if unseen_s > most_s:
        most_s, command = unseen_s, UNSEEN_TASKS
    return (command, most_s) if command else (None, None)
