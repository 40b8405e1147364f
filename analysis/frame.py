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
    "engine", "vcpu_mapping", "vcpu_cpus", "vm_cpus", "vm_memory_mib", "vm_accelerator",
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
    "engine", "vcpu_mapping", "vcpu_cpus", "vm_accelerator",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "threads",
    "vm_cpus", "vm_memory_mib",
)  # fmt: skip
_FLAGS = ("warmup", "kinds_declared")
# Columns that are part of an object in the record, or computed from a text.
_VERDICTS = {"placement_verdict": "placement", "vcpu_placement_verdict": "vcpu_placement"}
_BY_KIND = {"freq_{}_ghz": "freq_ghz", "residency_{}": "residency"}
_OTHERS = ("started_at", "temperature_before_c", "unavailable")
COLUMNS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, *_VERDICTS, "started_s", "temperature_c",
)  # fmt: skip

_FIELDS = (
    *_TEXTS, *_COUNTS, *_FLAGS, *MEASURES, *MORE_MEASURES, *_VERDICTS.values(), *_BY_KIND.values(),
    *_OTHERS,
)  # fmt: skip
_NEEDED = ("case_id", "status", *TABLE_KEYS, *ROW_KEYS)
_NEEDED_COUNTS = tuple(name for name in _NEEDED if name in _COUNTS)
# The column that tells which set of reasons a run has, until these are a frame of their own.
_REASONS = "unavailable"
# Records at a time: some 30 MB of them as Python's objects.
CHUNK = 1000

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

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal torn
        for record in read_lines(folder / "records"):
            if record is None:
                torn += 1
            elif record.get("status") != BASELINE:
                yield tuple(map(record.get, _FIELDS))

    growing = _Growing()
    left = rows()
    while chunk := list(islice(left, CHUNK)):
        growing.add(dict(zip(_FIELDS, zip(*chunk, strict=True), strict=True)))
    frame, kinds = growing.frame()
    frame = _each_run_once(frame)
    good = frame[(frame["status"] == OK) & ~frame["warmup"]]
    reasons = growing.reasons.by_case(zip(good["case_id"], good[_REASONS], strict=True))
    return Runs(frame.drop(columns=_REASONS), kinds, reasons, torn, growing.unusable)


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
        self.unusable += int((~usable).sum())
        for name, array in arrays.items():
            self._parts.setdefault(name, []).append(array[usable])

    def _arrays(self, chunk: Mapping[str, tuple[object, ...]]) -> Arrays:
        arrays: Arrays = {name: self._texts[name].numbered(chunk[name]) for name in _TEXTS}
        arrays |= {name: columns.counts(chunk[name]) for name in _COUNTS}
        arrays |= {name: columns.flags(chunk[name]) for name in _FLAGS}
        arrays |= {name: columns.numbers(chunk[name]) for name in (*MEASURES, *MORE_MEASURES)}
        for name, field in _VERDICTS.items():
            verdicts = columns.members(chunk[field], "verdict")
            arrays[name] = self._texts[name].numbered(verdicts)
        arrays["started_s"] = columns.unix_seconds(chunk["started_at"])
        arrays["temperature_c"] = columns.highest(chunk["temperature_before_c"])
        for pattern, field in _BY_KIND.items():
            parts = columns.by_kind(chunk[field])
            arrays |= {pattern.format(kind): part for kind, part in parts.items()}
        arrays[_REASONS] = self.reasons.numbered(chunk["unavailable"])
        return arrays

    def frame(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return all rows and the kinds of which there are numbers; the parts are used up."""
        if not self._parts:
            self.add(dict.fromkeys(_FIELDS, ()))
        data: dict[str, Any] = {}
        for name in [*self._parts]:
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
