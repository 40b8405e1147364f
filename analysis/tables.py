"""The tables of a study's results, with the columns of the published ones and honest footnotes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.digits import ENERGY_DECIMALS, FREQUENCY_DECIMALS, fixed, mean_count, time_decimals
from analysis.frame import MEASURES, MORE_MEASURES, ROW_FACTS, TABLE_KEYS, read_runs
from analysis.remarks import folder_remarks, table_remarks
from analysis.render import render
from analysis.summary import summarise
from analysis.table import Column, Notes, Table, harmless, joined, one_line
from configs.errors import UserError
from runners.statuses import LEFT_OUT

__all__ = ["make_tables", "render", "tables_of", "write_tables"]

COLUMNS = (
    Column("#"),
    Column("mapping", right=False),
    Column("governor (driver)", right=False),
    Column("n"),
    Column("time mean", "s"),
    Column("sd", "s"),
    Column("frequency", "GHz"),
    Column("migrations"),
    Column("context switches"),
    Column("cache misses"),
    Column("energy package", "J"),
)
# When a guest's CPUs were mapped, the mapping of its threads has this name, and these stand beside
# it, in this place.
_MAPPING_IN_GUEST = 1, Column("mapping in guest", right=False)
_VCPU_MAPPING = 1, Column("vCPU mapping", right=False)
_VCPU_MIGRATIONS = 9, Column("vCPU migrations")
FILES = {"markdown": "tables.md", "csv": "tables.csv", "latex": "tables.tex"}
_UNITS = ("_s", "_j", "_js", "_js2", "_w", "_ghz", "_bytes")
NOT_AVAILABLE = "n/a"
NOTHING = "-"


def make_tables(folder: Path) -> list[Table]:
    """Return the tables of a results folder (`results/<study>/<node>`), by app, size and threads.

    Raises UserError when the folder holds no readable results.
    """
    runs = read_runs(folder)
    return tables_of(runs.frame, folder_remarks(runs, folder))


def tables_of(frame: pd.DataFrame, remarks: Sequence[str] = ()) -> list[Table]:
    """Return the tables of a frame of runs; `remarks` are put under each of them."""
    cases = summarise(frame)
    groups = cases.groupby(list(TABLE_KEYS), sort=False, dropna=False)
    return [_table(rows, remarks) for _, rows in groups]


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the tables as Markdown, CSV and LaTeX into a folder; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    return [_write(folder / name, render(tables, style)) for style, name in FILES.items()]


def _write(path: Path, text: str) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}); the records are safe, make "
            f"room or a writable folder and run `pinstudy tables {path.parent}`"
        ) from error
    return path


def _table(rows: pd.DataFrame, remarks: Sequence[str]) -> Table:
    notes = Notes()
    cases: list[dict[str, Any]] = [
        {str(key): value for key, value in case.items()} for case in rows.to_dict("records")
    ]
    decimals = time_decimals(case["elapsed_s_mean"] for case in cases)
    cells = tuple(_cells(case, decimals, notes) for case in cases)
    columns: tuple[Column, ...] = COLUMNS
    if any(case["vcpu_mapping"] for case in cases):
        columns, cells = _with_vcpus(cases, cells, notes)
    general = tuple(("", text) for text in (*table_remarks(cases), *remarks))
    return Table(
        caption=_caption(cases[0]),
        columns=columns,
        cells=cells,
        notes=notes.listed() + general,
        exact=tuple(_exact(case) for case in cases),
    )


def _with_vcpus(
    cases: Sequence[Mapping[str, Any]], cells: Sequence[tuple[str, ...]], notes: Notes
) -> tuple[tuple[Column, ...], tuple[tuple[str, ...], ...]]:
    """Return columns and cells with what concerns a guest's CPUs."""
    columns = [*COLUMNS]
    columns[_MAPPING_IN_GUEST[0]] = _MAPPING_IN_GUEST[1]
    rows = [[*row] for row in cells]
    for at, column in (_VCPU_MAPPING, _VCPU_MIGRATIONS):
        columns.insert(at, column)
    for case, row in zip(cases, rows, strict=True):
        row.insert(_VCPU_MAPPING[0], one_line(case["vcpu_mapping"] or NOTHING))
        moved = NOTHING
        if case["left_out"] is None and case["n"]:
            moved = _measured(case, "vcpu_migrations", mean_count, notes)
        row.insert(_VCPU_MIGRATIONS[0], moved)
    return tuple(columns), tuple(tuple(row) for row in rows)


def _caption(case: Mapping[str, Any]) -> str:
    threads = "1 thread" if case["threads"] == 1 else f"{case['threads']} threads"
    return one_line(
        f"{case['app']} ({case['variant']}), size {case['size']}, {threads}, "
        f"schedule {case['schedule']}, wait policy {case['wait_policy']}{_guest(case)}"
    )


def _guest(case: Mapping[str, Any]) -> str:
    if case["vm_cpus"] is None:
        return ""
    return f", in a guest with {case['vm_cpus']} vCPUs and {case['vm_memory_mib']} MiB"


def _cells(case: Mapping[str, Any], decimals: int, notes: Notes) -> tuple[str, ...]:
    head = (str(case["case_number"]), one_line(case["mapping"]), _governor(case))
    if case["left_out"] is not None:
        marker = notes.marker(f"left out: {case['left_out']}")
        return (*head, NOTHING, f"left out ({marker})", *[NOTHING] * 6)
    if case["n"] == 0:
        return (*head, "0", f"{NOT_AVAILABLE} ({notes.marker(_why_none(case))})", *[NOTHING] * 6)
    as_time = partial(fixed, decimals=decimals)
    formats: dict[str, Callable[[float], str]] = {
        "freq_mean_ghz": partial(fixed, decimals=FREQUENCY_DECIMALS),
        "migrations": mean_count,
        "context_switches": mean_count,
        "cache_misses": mean_count,
        "energy_pkg_j": partial(fixed, decimals=ENERGY_DECIMALS),
    }
    return (
        *head,
        str(case["n"]),
        _measured(case, "elapsed_s", as_time, notes),
        _deviation(case, as_time, notes),
        *(_measured(case, name, write, notes) for name, write in formats.items()),
    )


def _governor(case: Mapping[str, Any]) -> str:
    """Return the governor with its driver: `powersave` of one is not that of another."""
    if case["n"] == 0:
        return one_line(case["governor"])
    return one_line(f"{case['governor']} ({joined(case['drivers']) or NOT_AVAILABLE})")


def _measured(
    case: Mapping[str, Any], name: str, write: Callable[[float], str], notes: Notes
) -> str:
    reasons = joined(case["reasons"].get(name, ())) or "not recorded, and no reason given"
    measured = case[f"{name}_n"]
    if measured == 0:
        return f"{NOT_AVAILABLE} ({notes.marker(reasons)})"
    text = write(case[f"{name}_mean"])
    if measured == case["n"]:
        return text
    marker = notes.marker(f"mean of {measured} of {case['n']} runs; the others: {reasons}")
    return f"{text} ({marker})"


def _deviation(case: Mapping[str, Any], write: Callable[[float], str], notes: Notes) -> str:
    if case["elapsed_s_n"] < 2:
        return f"{NOT_AVAILABLE} ({notes.marker('one run has no standard deviation')})"
    return write(case["elapsed_s_sd"])


def _why_none(case: Mapping[str, Any]) -> str:
    return "no run that could be averaged" if case["excluded"] else "only warm-up runs so far"


def _exact(case: Mapping[str, Any]) -> dict[str, object]:
    """Return a case's numbers by name, unrounded; what is not there is None."""
    identity = ("study", "node_id", *TABLE_KEYS, "case_number", "mapping", "governor", *ROW_FACTS)
    exact: dict[str, object] = {name: case[name] for name in (*identity, "case_id")}
    exact["status"] = LEFT_OUT if case["left_out"] is not None else "measured"
    exact["n"] = case["n"]
    exact["driver"] = joined(case["drivers"])
    exact["governor_read"] = joined(case["governors_read"])
    for name in (*MEASURES, *MORE_MEASURES):
        for statistic in ("mean", "sd"):
            value = case[f"{name}_{statistic}"]
            exact[_with_unit_last(name, statistic)] = None if pd.isna(value) else float(value)
    for kind, value in case["residency"].items():
        exact[f"residency_{kind}"] = value
    for kind, value in case["freq_ghz"].items():
        exact[f"freq_{kind}_mean_ghz"] = value
    exact["excluded"] = joined(f"{status}: {count}" for status, count in case["excluded"].items())
    exact["reasons"] = case["left_out"] or joined(
        f"{name}: {joined(reasons)}" for name, reasons in case["reasons"].items()
    )
    # CSV is printed on terminals too.
    return {
        name: harmless(value) if isinstance(value, str) else value for name, value in exact.items()
    }


def _with_unit_last(measure: str, statistic: str) -> str:
    """Return `elapsed_sd_s` for the sd of `elapsed_s`, `freq_sd_ghz` for that of a mean's."""
    stem, _, unit = measure.rpartition("_") if measure.endswith(_UNITS) else (measure, "", "")
    return "_".join(filter(None, (stem.removesuffix("_mean"), statistic, unit)))
