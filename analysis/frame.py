"""Records to a frame: one row a run, hostile or torn lines counted and left out.

Files are read a line at a time and turned into columns a chunk at a time, so that a record's long
parts (threads, counters, stderr) never pile up in memory: a run takes some 500 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis import columns
from analysis.columns import Reasons, Texts
from configs.errors import UserError
from runners.shards import read_lines
from runners.statuses import BASELINE, INTERRUPTED, LEFT_OUT, OK
from runners.topology import KIND_ORDER

# What identifies a table; what identifies a row in it; what a row says beside its numbers.
TABLE_KEYS = ("app", "variant", "size", "threads", "schedule", "wait_policy")
ROW_KEYS = ("case_number", "mapping", "governor")
ROW_FACTS = (
    "study", "node_id", "selection", "tightness", "mechanism", "cpus",
    "engine", "vcpu_mapping", "vcpu_selection", "vcpu_tightness", "vcpu_cpus",
    "vm_cpus", "vm_memory_mib", "vm_accelerator",
)  # fmt: skip
# Measured numbers that are averaged, in the order of the published tables.
MEASURES = (
    "elapsed_s",
    "freq_mean_ghz",
    "migrations",
    "context_switches",
    "cache_misses",
    "energy_pkg_j",
)
# More numbers for the machine-readable tables.
MORE_MEASURES = (
    "task_clock_s",
    "user_s",
    "system_s",
    "max_rss_bytes",
    "energy_core_j",
    "energy_uncore_j",
    "energy_dram_j",
    "energy_psys_j",
    "energy_net_j",
    "idle_power_w",
    "power_pkg_w",
    "edp_js",
    "ed2p_js2",
    "vcpu_migrations",
)
_TEXTS = (
    "study", "study_digest", "case_id", "node_id", "node_digest",
    "node", "boot_id", "app", "variant", "size", "schedule", "wait_policy", "mapping", "governor",
    "selection", "tightness", "mechanism", "cpus", "status", "reason", "governor_read", "driver",
    "engine", "vcpu_mapping", "vcpu_selection", "vcpu_tightness", "vcpu_cpus", "vm_accelerator",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "threads",
    "vm_cpus", "vm_memory_mib",
)  # fmt: skip
_FLAGS = ("warmup", "kinds_declared")
_VERDICTS = ("placement_verdict", "vcpu_placement_verdict")
_BY_KIND = ("freq_{}_ghz", "residency_{}")
_OF_KINDS = tuple(of.format(kind) for of in _BY_KIND for kind in KIND_ORDER)
_NUMBERS = (*MEASURES, *MORE_MEASURES, *_OF_KINDS, "temperature_c")
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, *_VERDICTS, "started_s", "temperature_c",
)  # fmt: skip

# What is taken as it is, and the names of all that `_row` returns.
_PLAIN = (*_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, "started_at")
_ROW = (*_PLAIN, *_VERDICTS, *_OF_KINDS, "temperature_c", "unavailable")
_NEEDED = ("case_id", "status", *TABLE_KEYS, *ROW_KEYS)
_NEEDED_COUNTS = tuple(name for name in _NEEDED if name in _COUNTS)
# The column that tells which set of reasons a run has, until these are a frame of their own.
_REASONS = "unavailable"
# Runs at a time: few enough to stay in a processor's cache.
CHUNK = 500

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Runs:
    """The records of a results folder: one row a record, oldest attempt first.

    `frame` has the columns COLUMNS, then `freq_<kind>_ghz` and `residency_<kind>` for each of
    `kinds`, the core kinds of which anything was measured, best first. Texts are categoricals
    (which may have categories that no row uses), numbers floats and NaN where nothing was measured,
    `threads` and `case_number` integers. `started_s` is in seconds since 1970, `temperature_c` that
    of the hottest package before the run.

    `reasons` says why good runs that are no warm-ups lack what they lack: `case_id`, `field`,
    `reason`, each combination once. `torn` counts lines that are no JSON objects, `unusable` those
    that do not say which case they belong to.
    """

    frame: pd.DataFrame
    kinds: tuple[str, ...]
    reasons: pd.DataFrame
    torn: int = 0
    unusable: int = 0


def read_runs(folder: Path) -> Runs:
    """Return the records below `folder` (its `records/*.jsonl`), each run once.

    Raises UserError when there are none, when a file cannot be read, or when a record was written
    by a newer pinstudy.
    """
    if not any((folder / "records").glob("*.jsonl")):
        raise UserError(
            f"{folder}: no results here (expected records/*.jsonl); make some with "
            "`pinstudy run quick`"
        )
    torn = 0
    growing = _Growing()

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal torn
        for record in read_lines(folder / "records"):
            if record is None:
                torn += 1
            elif record.get("status") != BASELINE:
                yield _row(record, growing.reasons)

    left = rows()
    while chunk := list(islice(left, CHUNK)):
        growing.add(dict(zip(_ROW, zip(*chunk, strict=True), strict=True)))
    frame, kinds = growing.frame()
    frame = _each_run_once(frame)
    # Popped, because to drop a column would copy all others.
    numbers = frame.pop(_REASONS)
    good = (frame["status"] == OK) & ~frame["warmup"]
    reasons = growing.reasons.by_case(frame["case_id"][good], numbers[good])
    return Runs(frame, kinds, reasons, torn, growing.unusable)


def _row(record: Mapping[str, Any], reasons: Reasons) -> tuple[object, ...]:
    """Return what is kept of a record, unchecked; its long parts can go at once."""
    get = record.get
    return (
        *map(get, _PLAIN),
        columns.member(get("placement"), "verdict"),
        columns.member(get("vcpu_placement"), "verdict"),
        *columns.by_kind(get("freq_ghz")),
        *columns.by_kind(get("residency")),
        columns.highest(get("temperature_before_c")),
        reasons.number(get("unavailable")),
    )


class _Growing:
    """The columns of a frame while records come in; a chunk leaves one array a column."""

    def __init__(self) -> None:
        self.unusable = 0
        self.reasons = Reasons()
        self._texts = {name: Texts() for name in (*_TEXTS, *_VERDICTS)}
        self._parts: dict[str, list[NDArray[Any]]] = {}

    def add(self, chunk: Mapping[str, tuple[object, ...]]) -> None:
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

    def _arrays(self, chunk: Mapping[str, tuple[object, ...]]) -> Arrays:
        arrays: Arrays = {name: texts.numbered(chunk[name]) for name, texts in self._texts.items()}
        arrays |= {name: columns.counts(chunk[name]) for name in _COUNTS}
        arrays |= {name: columns.flags(chunk[name]) for name in _FLAGS}
        arrays |= {name: columns.numbers(chunk[name]) for name in _NUMBERS}
        arrays["started_s"] = columns.unix_seconds(chunk["started_at"])
        arrays[_REASONS] = np.array(chunk["unavailable"], dtype=np.int32)
        return arrays

    def frame(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return all rows and the kinds of which there are numbers; the parts are used up."""
        if not self._parts:
            self.add(dict.fromkeys(_ROW, ()))
        data: dict[str, Any] = {}
        for name in (*COLUMNS, *_OF_KINDS, _REASONS):
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
        # Without a copy, or all numbers would be there twice for a while.
        return pd.DataFrame(data, copy=False), tuple(kinds)


def _each_run_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with one row for each (case, warm-up or not, repetition).

    A run that was interrupted is made again, and the new one counts. Of several that ended, which
    only two runners at the same time can leave behind, the first counts whatever its status: to
    prefer good ones would choose by outcome. A case that a later attempt could run after all is
    not left out.
    """
    left_out = frame["status"] == LEFT_OUT
    runs = frame.loc[~left_out, ["case_id", "warmup", "repetition"]]
    again = frame.loc[runs.index, "status"] == INTERRUPTED
    runs = runs.loc[again.sort_values(kind="stable").index].drop_duplicates()
    kept = np.zeros(len(frame), dtype=bool)
    kept[runs.index] = True
    if left_out.any():
        by_row = frame.groupby([*TABLE_KEYS, *ROW_KEYS], observed=True, sort=False)
        row = by_row.ngroup()
        last = row[left_out].drop_duplicates(keep="last")
        kept[last.index[~last.isin(row[runs.index])]] = True
    return frame if kept.all() else frame[kept].reset_index(drop=True)
