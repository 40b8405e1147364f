"""Records to a frame: one row a run, and one for each of its regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.records.columns import (
    Reasons,
    Sparse,
    Texts,
    by_kind,
    by_number_and_kind,
    numbers,
    unix_seconds,
)
from analysis.records.fields import (
    COURSE,
    L1D_MISS_RATE,
    MAX_METRICS,
    MAX_TEAM,
    MEASURES,
    METRIC,
    MORE_MEASURES,
    OF_SCHEDULING,
    OPTIONAL_KEYS,
    RANK_SEPARATOR,
    ROW_KEYS,
    TABLE_KEYS,
    TEAM_CPU_S,
)
from analysis.records.metrics import METRIC_FACTS, facts_text
from analysis.records.regions import REGION, region_records
from configs.core_kinds import KIND_ORDER
from runners.records.disturbances import SEPARATOR, SHARED, disturbances
from runners.records.placed_runs import QUARTERS, verdict_of

_TEXTS = (
    "study", "study_digest", "study_file", "case_id", "program_digest", "environment_digest",
    "node_id", "pool", "node_digest", "node", "boot_id", "app", "variant", "size", "schedule",
    "wait_policy", "mapping", "governor", "selection", "binding", "mechanism", "cpus", "status",
    "reason", "governor_read", "driver", "engine", "vcpu_mapping", "vcpu_selection", "vcpu_binding",
    "vcpu_cpus", "vm_accelerator", "algorithm", "implementation", "mpi", "ranks_by",
    "sched_energy_aware", "sched_ext_scheduler", REGION, "beside", "beside_cpus", "beside_alone",
    *OF_SCHEDULING, "priority",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "ranks", "threads",
    "vm_cpus", "vm_memory_mib",
)  # fmt: skip
_FLAGS = ("warmup", "kinds_declared", "fixed_time", "no_schedule")
_VERDICTS = ("placement_verdict", "vcpu_placement_verdict", "beside_placement_verdict")
# Texts that combine several values of a record.
_COMBINED = ("disturbed", "daemons", "rank_cpus", METRIC_FACTS, "neighbour")
_BY_KIND = {
    "freq_ghz": "freq_{}_ghz",
    "residency": "residency_{}",
    "cpu_share": "cpu_share_{}",
    "waited": "waited_{}",
    "energy_by_kind_j": "energy_by_kind_{}_j",
}
_OF_KINDS = tuple(pattern.format(kind) for pattern in _BY_KIND.values() for kind in KIND_ORDER)
# The column that tells which set of reasons a run has.
REASONS = "unavailable"
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, *_VERDICTS, *_COMBINED,
    "started_s", "temperature_c",
)  # fmt: skip
# The fields that a row takes unchanged, and the names of all that it has.
_PLAIN = (*_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES)
_ROW = (*_PLAIN, *_VERDICTS, *_COMBINED, "started_s", "temperature_c", *_OF_KINDS, REASONS)
_AS_TEXT = frozenset((*_TEXTS, *_VERDICTS, *_COMBINED))
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
        self._sparse = {
            "l1d_miss_rate": Sparse(L1D_MISS_RATE, KIND_ORDER.__contains__, len(KIND_ORDER)),
            "metrics": self.metrics,
            "team_cpu_s": Sparse(TEAM_CPU_S, str.isprintable, MAX_TEAM * len(KIND_ORDER)),
            "course": Sparse(COURSE, str.isprintable, QUARTERS * len(KIND_ORDER)),
        }
        self._texts = {name: Texts() for name in _AS_TEXT}
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[dict[str, NDArray[Any]]] = []
        self._count = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the row of a run and those of its regions."""
        self._add_row(record)
        if "regions" in record or record.get("region_marks") is not None:
            for region in region_records(record):
                self._add_row(region)

    def _add_row(self, record: Mapping[str, Any]) -> None:
        if not _is_usable(record):
            self.unusable += 1
            return
        self._rows.append(_row(record, self.reasons))
        sparse = self._sparse
        sparse["l1d_miss_rate"].add(self._count, record.get("l1d_miss_rate"))
        sparse["metrics"].add(self._count, record.get("metrics"))
        sparse["team_cpu_s"].add(
            self._count, by_number_and_kind(record.get("team_cpu_s"), MAX_TEAM)
        )
        sparse["course"].add(self._count, by_number_and_kind(record.get("course"), QUARTERS))
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
        if name in _FLAGS:
            return np.array([value is True for value in values], dtype=bool)
        return np.array(values, dtype=np.int32) if name == REASONS else numbers(values)

    def frame(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return all rows and the core kinds of which there are numbers; the rows are used up."""
        self._flush()
        data: dict[str, Any] = {}
        for name in _ROW:
            array = np.concatenate([chunk.pop(name) for chunk in self._chunks])
            if name in _AS_TEXT:
                data[name] = self._texts[name].column(array)
            elif name in _COUNTS and name in _NEEDED:
                data[name] = array.astype(np.int64)
            else:
                data[name] = array
        kinds = [kind for kind in KIND_ORDER if _is_known(kind, data)]
        for kind in set(KIND_ORDER).difference(kinds):
            for pattern in _BY_KIND.values():
                del data[pattern.format(kind)]
        for sparse in self._sparse.values():
            data |= sparse.columns(self._count)
        # Without a copy, or all numbers would be there twice for a while.
        return pd.DataFrame(data, copy=False), tuple(kinds)


def _is_known(kind: str, data: Mapping[str, Any]) -> bool:
    return any(np.isfinite(data[pattern.format(kind)]).any() for pattern in _BY_KIND.values())


def _is_usable(record: Mapping[str, Any]) -> bool:
    """Return whether a record says which row of which table it belongs to."""
    # A number of ranks that was removed does not mean that there are no ranks.
    removed = record.get("unavailable") or {}
    known = all(record.get(name) is not None for name in _NEEDED)
    return known and removed.keys().isdisjoint(OPTIONAL_KEYS)


def _row(record: Mapping[str, Any], reasons: Reasons) -> tuple[Any, ...]:
    """Return the values of a record by _ROW."""
    get = record.get
    disturbed = disturbances(record)
    # By the clock as it was when the attempt began: one that is set must not misorder runs.
    started_s = unix_seconds(get("started_at")) - (get("clock_set_s") or 0.0)
    return (
        *map(get, _PLAIN),
        verdict_of(record),
        verdict_of(record, "vcpu_placement"),
        verdict_of(record, "beside_placement"),
        SEPARATOR.join(disturbed) or None,
        SEPARATOR.join(get("daemons") or ()) or None,
        RANK_SEPARATOR.join(get("rank_cpus") or ()) or None,
        facts_text(get("metric_units"), get("metric_better")),
        _neighbour(record) if SHARED in disturbed else None,
        started_s,
        max((get("temperature_before_c") or {}).values(), default=None),
        *_values_by_kind(record),
        reasons.number(get("unavailable")),
    )


def _values_by_kind(record: Mapping[str, Any]) -> Iterator[float | None]:
    for name in _BY_KIND:
        yield from by_kind(record.get(name))


def _neighbour(record: Mapping[str, Any]) -> str | None:
    """Return seconds and command of the task with most CPU time, as `0.21 python`; None if none.

    Tasks of another container have time on the CPUs and no entry in /proc, and so have short ones.
    Where such took more than any task that was seen, UNSEEN_TASKS stands for them.
    """
    if record.get("foreign_tasks") is None:
        return None
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
    return f"{most_s:.2f} {command}" if command else None
