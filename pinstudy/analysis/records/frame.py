"""Records to a frame: one row a run, and one for each of its regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.analysis.measures import OF_KINDS, PLAIN, PROFILES
from pinstudy.analysis.records import engines
from pinstudy.analysis.records.columns import (
    Reasons,
    Sparse,
    Texts,
    by_kind,
    by_number_and_kind,
    numbers,
    unix_seconds,
)
from pinstudy.analysis.records.keys import (
    OPTIONAL_KEYS,
    ROW_KEYS,
    TABLE_KEYS,
    settings_as_texts,
    settings_in,
)
from pinstudy.analysis.records.metrics import MAX_METRICS, METRIC, METRICS, metrics_of_record
from pinstudy.analysis.records.regions import REGION, region_records
from pinstudy.runners.node.topology import KIND_ORDER
from pinstudy.runners.records.disturbances import SHARED, disturbances
from pinstudy.runners.records.placed_runs import verdict_of

_TEXTS = (
    "study", "study_digest", "study_file", "case_id", "program_digest", "environment_digest",
    "node_id", "pool", "node_digest", "node", "boot_id", "app", "build", "size", "schedule",
    "wait_policy", "mapping", "governor", "selection", "binding", "mechanism", "cpus", "status",
    "reason", "governor_read", "driver", *engines.TEXTS, "algorithm", "implementation",
    "sched_energy_aware", "sched_ext_scheduler", REGION, "co_runner", "co_runner_cpus",
    "co_runner_alone", "priority", "power_supply",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "threads",
    *engines.COUNTS,
)  # fmt: skip
_FLAGS = ("warmup", "kinds_declared", "fixed_time", "no_schedule")
_VERDICTS = tuple(
    f"{name}_verdict" for name in ("placement", engines.VCPU_PLACEMENT, "co_runner_placement")
)
# What the study asks for, and what was read back.
_SETTINGS = ("settings", "settings_read")
# Tuples, None where there is nothing in them.
_LISTS = ("disturbed", "daemons", engines.RANK_CPUS, *_SETTINGS, METRICS)
# The task that took most CPU time of all others, where the run shared its CPUs, and that time.
_NEIGHBOUR = ("neighbour", "neighbour_s")
_FIELDS_OF_KINDS = tuple(measure.field for measure in OF_KINDS)
COLUMNS_OF_KINDS = tuple(column for measure in OF_KINDS for column in measure.columns)
# The column that tells which set of reasons a run has.
REASONS = "unavailable"
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *PLAIN, *_VERDICTS, *_LISTS, *_NEIGHBOUR, "started_s",
    "temperature_c",
)  # fmt: skip
# The fields that a row takes unchanged, and the names of all that it has.
_UNCHANGED = (*_TEXTS, *_COUNTS, *_FLAGS, *PLAIN)
_ROW = (*COLUMNS, *COLUMNS_OF_KINDS, REASONS)
_AS_TEXT = frozenset((*_TEXTS, *_VERDICTS, "neighbour"))
_NEEDED = (
    "case_id", "status", *(key for key in TABLE_KEYS if key not in OPTIONAL_KEYS), *ROW_KEYS,
)  # fmt: skip
UNSEEN_TASKS = "tasks that were not seen, of another container or short ones"
# Rows that are held as objects before they become arrays.
CHUNK = 5000


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
        self._texts = {name: Texts() for name in _AS_TEXT}
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[dict[str, NDArray[Any]]] = []
        self._count = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the row of a run and those of its regions."""
        self._add_row(engines.in_columns(record))
        if "regions" in record or record.get("region_marks") is not None:
            for region in region_records(record):
                self._add_row(engines.in_columns(region))

    def _add_row(self, record: Mapping[str, Any]) -> None:
        if not _is_usable(record):
            self.unusable += 1
            return
        self._rows.append(_row(record, self.reasons))
        self.metrics.add(self._count, record.get("metrics"))
        for name, profile in self._profiles.items():
            values = by_number_and_kind(record.get(name), PROFILES[name])
            profile.add(self._count, values)
        self._count += 1
        if len(self._rows) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        values = dict(zip(_ROW, zip(*self._rows, strict=True), strict=False))
        self._chunks.append({name: self._array(name, values.get(name, ())) for name in _ROW})
        self._rows.clear()

    def _array(self, name: str, values: tuple[Any, ...]) -> NDArray[Any]:
        if name in _AS_TEXT:
            return self._texts[name].numbered(values)
        if name in _LISTS:
            array = np.empty(len(values), dtype=object)
            array[:] = values
            return array
        if name in _FLAGS:
            return np.array([value is True for value in values], dtype=bool)
        return np.array(values, dtype=np.int32) if name == REASONS else numbers(values)

    def frame(self) -> pd.DataFrame:
        """Return all rows, without core kinds of which there is no number; they are used up."""
        self._flush()
        data: dict[str, Any] = {}
        for name in _ROW:
            array = np.concatenate([chunk.pop(name) for chunk in self._chunks])
            if name in _AS_TEXT:
                data[name] = self._texts[name].column(array)
            elif name in _COUNTS and name in _NEEDED:
                data[name] = array.astype(np.int64)
            elif name not in COLUMNS_OF_KINDS or np.isfinite(array).any():
                data[name] = array
        for sparse in (self.metrics, *self._profiles.values()):
            data |= sparse.columns(self._count)
        # Without a copy, or all numbers would be there twice for a while.
        return pd.DataFrame(data, copy=False)


def _is_usable(record: Mapping[str, Any]) -> bool:
    """Return whether a record says which row of which table it belongs to."""
    # A number of ranks that was removed does not mean that there are no ranks.
    removed = record.get("unavailable") or {}
    known = None not in map(record.get, _NEEDED)
    return known and removed.keys().isdisjoint(OPTIONAL_KEYS)


def _row(record: Mapping[str, Any], reasons: Reasons) -> tuple[Any, ...]:
    """Return the values of a record by _ROW."""
    get = record.get
    disturbed = disturbances(record)
    # By the clock as it was when the attempt began: one that is set must not misorder runs.
    started_s = unix_seconds(get("started_at")) - (get("clock_set_s") or 0.0)
    neighbour, neighbour_s = _neighbour(record) if SHARED in disturbed else (None, None)
    return (
        *map(get, _UNCHANGED),
        verdict_of(record),
        verdict_of(record, engines.VCPU_PLACEMENT),
        verdict_of(record, "co_runner_placement"),
        disturbed or None,
        tuple(get("daemons") or ()) or None,
        tuple(get(engines.RANK_CPUS) or ()) or None,
        *[settings_as_texts(settings_in(get(name) or {})) or None for name in _SETTINGS],
        metrics_of_record(get("metric_units"), get("metric_better")),
        neighbour,
        neighbour_s,
        started_s,
        max((get("temperature_before_c") or {}).values(), default=None),
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
