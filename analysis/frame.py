"""Records to a frame: one row a run, hostile or torn lines counted and left out.

Files are read a line at a time and only the columns below are kept, so that a record's long parts
(threads, counters, stderr) never pile up in memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from configs.errors import UserError
from runners.shards import read_lines
from runners.statuses import BASELINE, INTERRUPTED, LEFT_OUT

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
    "study", "study_digest", "case_id", "run_id", "started_at", "node_id", "node_digest",
    "node", "boot_id", "app", "variant", "size", "schedule", "wait_policy", "mapping", "governor",
    "selection", "tightness", "mechanism", "cpus", "status", "reason", "governor_read", "driver",
    "engine", "vcpu_mapping", "vcpu_cpus", "vm_accelerator",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "repetition", "block", "order", "attempt", "threads",
    "vm_cpus", "vm_memory_mib",
)  # fmt: skip
_OBJECTS = ("freq_ghz", "residency", "metrics", "unavailable", "placement", "vcpu_placement")
COLUMNS = (
    *_TEXTS, *_COUNTS, "warmup", "kinds_declared", *MEASURES, *MORE_MEASURES, *_OBJECTS,
)  # fmt: skip

_NEEDED = ("case_id", "status", *TABLE_KEYS, *ROW_KEYS)


@dataclass(frozen=True)
class Runs:
    """The records of a results folder: one row a record, oldest attempt first.

    `frame` has the columns COLUMNS; what was not measured is NaN (numbers) or None. `torn` counts
    lines that are no JSON objects, `unusable` those that do not say which case they belong to.
    """

    frame: pd.DataFrame
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
    rows: list[dict[str, Any]] = []
    torn = unusable = 0
    for record in read_lines(folder / "records"):
        if record is None:
            torn += 1
            continue
        if record.get("status") == BASELINE:
            continue
        row = _row(record)
        if any(row[key] is None for key in _NEEDED):
            unusable += 1
            continue
        rows.append(row)
    return Runs(_each_run_once(_frame(rows)), torn, unusable)


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows as a frame: numbers as float, truth values as bool, the rest as it is."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    numbers = dict.fromkeys((*MEASURES, *MORE_MEASURES), float)
    return frame.astype(numbers | {"warmup": bool, "kinds_declared": bool})


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in _TEXTS:
        value = record.get(name)
        row[name] = value if isinstance(value, str) else None
    for name in _COUNTS:
        value = record.get(name)
        is_count = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
        row[name] = value if is_count else None
    for name in ("warmup", "kinds_declared"):
        row[name] = record.get(name) is True
    for name in (*MEASURES, *MORE_MEASURES):
        row[name] = number_or_nan(record.get(name))
    for name in _OBJECTS:
        value = record.get(name)
        row[name] = value if isinstance(value, dict) else {}
    return row


def number_or_nan(value: object) -> float:
    """Return a measured number; NaN for what is none, a truth value or infinite included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _each_run_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with one row for each (case, warm-up or not, repetition).

    A run that was interrupted is made again, and the new one counts. Of several that ended, which
    only two runners at the same time can leave behind, the first counts whatever its status: to
    prefer good ones would choose by outcome. A case that a later attempt could run after all is
    not left out.
    """
    made = frame["status"] != LEFT_OUT
    runs = frame[made].assign(again=(frame["status"] == INTERRUPTED)[made])
    runs = runs.sort_values("again", kind="stable")
    runs = runs.drop_duplicates(["case_id", "warmup", "repetition"]).drop(columns="again")
    rows = [*TABLE_KEYS, *ROW_KEYS]
    left_out = frame[~made].drop_duplicates(rows, keep="last")
    has_runs = pd.MultiIndex.from_frame(left_out[rows]).isin(pd.MultiIndex.from_frame(runs[rows]))
    kept = runs.index.union(left_out[~has_runs].index)
    return frame.loc[kept].reset_index(drop=True)
