"""Records to columns: chunk by chunk, checked, and merged with those of other processes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.records import columns
from analysis.records.columns import Growing, Reasons, Sparse, Texts
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
from analysis.records.first_records import FirstRecords
from analysis.records.metrics import METRIC_FACTS, facts_text
from analysis.records.race_records import RaceReader
from analysis.records.regions import REGION, region_records
from analysis.records.settings_seen import SettingsSeen
from analysis.records.team_looks import TeamLooks
from base.reading import number_or_nan
from configs.core_kinds import KIND_ORDER
from configs.repetitions import MAX_REPETITIONS, looks_of
from runners.records.disturbances import SEPARATOR, SHARED, disturbances
from runners.records.placed_runs import QUARTERS, verdict_of
from runners.records.reader import Part, read_part
from runners.records.values import BASELINE, InvalidLine

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
_BY_KIND = ("freq_{}_ghz", "residency_{}", "cpu_share_{}", "waited_{}", "energy_by_kind_{}_j")
_OF_KINDS = tuple(of.format(kind) for of in _BY_KIND for kind in KIND_ORDER)
_NUMBERS = (*MEASURES, *MORE_MEASURES, *_OF_KINDS, "temperature_c")
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, *_VERDICTS, *_COMBINED,
    "started_s", "temperature_c",
)  # fmt: skip

# Objects from names to numbers, of which only some records have any.
_SPARSE = ("l1d_miss_rate", "metrics", "team_cpu_s", "course")
# The fields that `_row` takes unchanged, and the names of all that it returns.
_PLAIN = (*_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, "started_at", "clock_set_s")
_ROW = (*_PLAIN, *_VERDICTS, *_COMBINED, *_OF_KINDS, "temperature_c", *_SPARSE, "unavailable")
_NEEDED = (
    "case_id", "status", *(key for key in TABLE_KEYS if key not in OPTIONAL_KEYS), *ROW_KEYS,
)  # fmt: skip
_NEEDED_COUNTS = tuple(name for name in _NEEDED if name in _COUNTS)
# The column that tells which set of reasons a run has, until these are a frame of their own.
REASONS = "unavailable"
UNSEEN_TASKS = "tasks that were not seen, of another container or short ones"
# Runs at a time: few enough to stay in a processor's cache.
CHUNK = 500

Arrays = dict[str, NDArray[Any]]


def _row(record: Mapping[str, Any], reasons: Reasons) -> tuple[object, ...]:
    """Return the fields of a record that columns need, unchecked."""
    get = record.get
    disturbed = disturbances(record)
    return (
        *map(get, _PLAIN),
        verdict_of(record),
        verdict_of(record, "vcpu_placement"),
        verdict_of(record, "beside_placement"),
        SEPARATOR.join(disturbed) or None,
        _joined(get("daemons"), SEPARATOR),
        _joined(get("rank_cpus"), RANK_SEPARATOR),
        facts_text(get("metric_units"), get("metric_better")),
        _neighbour(record) if SHARED in disturbed else None,
        *columns.by_kind(get("freq_ghz")),
        *columns.by_kind(get("residency")),
        *columns.by_kind(get("cpu_share")),
        *columns.by_kind(get("waited")),
        *columns.by_kind(get("energy_by_kind_j")),
        columns.highest(get("temperature_before_c")),
        get("l1d_miss_rate"),
        get("metrics"),
        columns.by_number_and_kind(get("team_cpu_s"), MAX_TEAM),
        columns.by_number_and_kind(get("course"), QUARTERS),
        reasons.number(get("unavailable")),
    )


def _neighbour(record: Mapping[str, Any]) -> str | None:
    """Return seconds and command of the task with most CPU time, as `0.21 python`; None if none.

    Tasks of another container have time on the CPUs and no entry in /proc, and so have short ones.
    Where such took more than any task that was seen, UNSEEN_TASKS stands for them.
    """
    tasks = record.get("foreign_tasks")
    if not isinstance(tasks, list):
        return None
    known = [
        (number_or_nan(task.get("cpu_s")), task["command"])
        for task in tasks
        if isinstance(task, dict) and isinstance(task.get("command"), str)
    ]
    known = [(seconds, command) for seconds, command in known if 0 < seconds < math.inf]
    most_s, command = max(known, default=(0.0, None))
    busy_s = number_or_nan(record.get("foreign_cpu_s"))
    interrupts_s = number_or_nan(record.get("interrupts_s") or 0)
    unseen_s = busy_s - interrupts_s - sum(seconds for seconds, _ in known)
    if unseen_s > most_s:
        most_s, command = unseen_s, UNSEEN_TASKS
    return f"{most_s:.2f} {command}" if command else None


def _joined(names: object, separator: str) -> str | None:
    """Return the texts of a list as one; None where there is none."""
    texts = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return separator.join(texts) or None


def _planned_looks(decide: object) -> int | None:
    """Return how many looks a record's rule allows; None where it is not that of such a study."""
    first, most = (columns.member(decide, key) for key in ("first", "max"))
    if type(first) is not int or type(most) is not int:
        return None
    return len(looks_of(first, most)) if 1 <= first <= most <= MAX_REPETITIONS else None


class RecordColumns:
    """The columns of a frame while records are read, a chunk at a time.

    `refused` counts lines that are no records, by why; `unusable` counts records that do not say
    which row of which table they belong to.
    `ruled`: a precision or a race ended the repetitions of a record's case; `raced`: a race did.
    `planned_looks` is how many looks at the results the rule of a record allows, 1 without one.
    `sparse` has the columns that only some records have; `firsts`, `race_reader`, `team_looks` and
    `settings` gather what is no column.
    """

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        self.unusable = 0
        self.raced = self.ruled = False
        self.planned_looks = 1
        self.reasons = Reasons()
        self.firsts = FirstRecords()
        self.race_reader = RaceReader()
        self.team_looks = TeamLooks()
        self.settings = SettingsSeen()
        self._texts = {name: Texts() for name in (*_TEXTS, *_VERDICTS, *_COMBINED)}
        self._columns: dict[str, Growing] = {}
        self.sparse = {
            "l1d_miss_rate": Sparse(L1D_MISS_RATE, KIND_ORDER.__contains__, len(KIND_ORDER)),
            "metrics": Sparse(METRIC, str.isprintable, MAX_METRICS),
            "team_cpu_s": Sparse(TEAM_CPU_S, str.isprintable, MAX_TEAM * len(KIND_ORDER)),
            "course": Sparse(COURSE, str.isprintable, QUARTERS * len(KIND_ORDER)),
        }

    def read(self, part: Part) -> None:
        """Add the records of a part of a shard; idle baselines are no runs."""
        rows = self._rows(part)
        while chunk := list(islice(rows, CHUNK)):
            self._add(dict(zip(_ROW, zip(*chunk, strict=True), strict=True)))

    def _rows(self, part: Part) -> Iterator[tuple[object, ...]]:
        for record in read_part(part):
            if isinstance(record, InvalidLine):
                self.refused[record.why] += 1
            elif record.get("status") != BASELINE:
                if not self.raced and "repetition_rule" in record:
                    self._take_rule(record["repetition_rule"])
                self.firsts.add(record)
                self.race_reader.add(record)
                self.team_looks.add(record)
                self.settings.add(record)
                yield _row(record, self.reasons)
                if "regions" in record or record.get("region_marks") is not None:
                    yield from (_row(of, self.reasons) for of in region_records(record))

    def _take_rule(self, rule: object) -> None:
        looks = _planned_looks(columns.member(rule, "decide"))
        if looks is not None:
            self.planned_looks = max(self.planned_looks, looks)
            return
        self.ruled = True
        self.raced = columns.member(rule, "race") is not None

    def merge(self, others: RecordColumns) -> None:
        """Add the rows of others, whose texts and reasons have other numbers."""
        self.refused += others.refused
        self.unusable += others.unusable
        self.raced |= others.raced
        self.ruled |= others.ruled
        self.planned_looks = max(self.planned_looks, others.planned_looks)
        self.firsts.merge(others.firsts)
        self.race_reader.merge(others.race_reader)
        self.team_looks.merge(others.team_looks)
        self.settings.merge(others.settings)
        numbers = {
            name: texts.numbers_of(others._texts[name]) for name, texts in self._texts.items()
        }
        numbers[REASONS] = self.reasons.numbers_of(others.reasons)
        for name, column in others._columns.items():
            array = column.array
            self._extend(name, numbers[name][array] if name in numbers else array)
        for name, sparse in self.sparse.items():
            sparse.merge(others.sparse[name])

    def _add(self, chunk: Mapping[str, tuple[object, ...]]) -> None:
        """Add the rows of a chunk, by field, that say which case they belong to."""
        arrays = self._arrays(chunk)
        known = [
            ~np.isnan(arrays[name]) if name in _COUNTS else arrays[name] > 0 for name in _NEEDED
        ]
        # A number of ranks that is none does not mean that there are no ranks.
        known += [columns.are_absent(chunk[name]) | (arrays[name] > 0) for name in OPTIONAL_KEYS]
        usable = np.logical_and.reduce(known)
        if not usable.all():
            self.unusable += int((~usable).sum())
            arrays = {name: array[usable] for name, array in arrays.items()}
        for name, array in arrays.items():
            self._extend(name, array)
        for name, sparse in self.sparse.items():
            sparse.add(chunk[name], usable)

    def _extend(self, name: str, array: NDArray[Any]) -> None:
        if name not in self._columns:
            self._columns[name] = Growing(array.dtype)
        self._columns[name].add(array)

    def _arrays(self, chunk: Mapping[str, tuple[object, ...]]) -> Arrays:
        arrays: Arrays = {name: texts.numbered(chunk[name]) for name, texts in self._texts.items()}
        arrays |= {name: columns.counts(chunk[name]) for name in _COUNTS}
        arrays |= {name: columns.flags(chunk[name]) for name in _FLAGS}
        arrays |= {name: columns.numbers(chunk[name]) for name in _NUMBERS}
        # By the clock as it was when the attempt began: one that is set must not misorder runs.
        set_s = np.nan_to_num(columns.numbers(chunk["clock_set_s"]))
        arrays["started_s"] = columns.unix_seconds(chunk["started_at"]) - set_s
        arrays[REASONS] = np.array(chunk["unavailable"], dtype=np.int32)
        return arrays

    def frame(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return all rows and the kinds of which there are numbers; the columns are used up."""
        if not self._columns:
            self._add(dict.fromkeys(_ROW, ()))
        kinds = []
        for kind in KIND_ORDER:
            names = [pattern.format(kind) for pattern in _BY_KIND]
            if all(self._columns[name].is_empty for name in names):
                for name in names:
                    del self._columns[name]
            else:
                kinds.append(kind)
        data: dict[str, Any] = {}
        for name in (*COLUMNS, *filter(self._columns.__contains__, _OF_KINDS), REASONS):
            array = self._columns.pop(name).array
            if name in self._texts:
                data[name] = self._texts[name].column(array)
            else:
                data[name] = array.astype(np.int64) if name in _NEEDED_COUNTS else array
        for sparse in self.sparse.values():
            data |= sparse.columns()
        # Without a copy, or all numbers would be there twice for a while.
        return pd.DataFrame(data, copy=False), tuple(kinds)


def columns_of(part: Part) -> RecordColumns:
    """Return the columns of one part, for a process of its own."""
    columns_of_part = RecordColumns()
    columns_of_part.read(part)
    return columns_of_part
