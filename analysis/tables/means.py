"""The tables of means: each case a row, with footnotes, in a layout; and as files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.format.files import again, write_file
from analysis.format.numbers import TIME_DECIMALS, time_decimals
from analysis.format.render import render
from analysis.format.table import Table, joined
from analysis.results.fields import (
    MEASURES,
    MORE_MEASURES,
    ROW_FACTS,
    TABLE_KEYS,
    table_of,
    with_unit_last,
)
from analysis.results.sources import open_results
from analysis.tables.layouts import LAYOUTS, LayoutName, Page, names_as_given
from analysis.tables.remarks import table_remarks
from base.errors import UserError
from base.text import as_typed, one_line, plural
from runners.records.values import SKIPPED

__all__ = ["make_tables", "render", "tables_of_cases", "write_tables"]

FILES = {"markdown": "tables.md", "csv": "tables.csv", "latex": "tables.tex"}
_IDENTITY = (
    "study", "node_id", *TABLE_KEYS, "case_number", "mapping", "governor", *ROW_FACTS, "case_id",
)  # fmt: skip
_MEANS = tuple(
    (f"{measure}_{statistic}", with_unit_last(measure, statistic))
    for measure in (*MEASURES, *MORE_MEASURES)
    for statistic in ("mean", "sd")
)
# Means from elsewhere come without these.
_OF_TIMES = tuple(
    (f"elapsed_s_{statistic}", with_unit_last("elapsed_s", statistic))
    for statistic in ("median", "min", "max")
)


def make_tables(source: Path | str, layout: LayoutName = "full") -> list[Table]:
    """Return the tables of a results folder (`results/<study>/<node>`), or of `published:NAME`.

    Raises UserError when there are no readable results, or no run among them.
    """
    results = open_results(str(source))
    if results.cases.empty:
        why = f" ({joined(results.remarks)})" if results.remarks else ""
        raise UserError(f"{source}: there is no run in its records{why}")
    return tables_of_cases(results.cases, results.remarks, layout)


def tables_of_cases(
    cases: pd.DataFrame, remarks: Sequence[str] = (), layout: LayoutName = "full"
) -> list[Table]:
    """Return the tables of cases; `remarks` are put under each of them.

    `cases` has the columns of `analysis.results.cases.summarise`. Means that come without their runs may
    lack median, minimum and maximum, have a NaN `n`, and have `as_given`: {`M_mean` or `M_sd`: the
    text that was given}, whose digits are kept (`analysis.tables.layouts.names_as_given`).
    """
    tables: dict[tuple[object, ...], list[Mapping[Any, Any]]] = {}
    for case in cases.to_dict("records"):
        tables.setdefault(table_of(case), []).append(case)
    return [_table(rows, remarks, layout) for rows in tables.values()]


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the tables as Markdown, CSV and LaTeX into a folder; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    advice = again(f"pinstudy tables {as_typed(folder)}")
    return [
        write_file(folder / name, render(tables, style), advice) for style, name in FILES.items()
    ]


def _table(rows: Sequence[Mapping[str, Any]], remarks: Sequence[str], name: LayoutName) -> Table:
    on_node, of_guests = LAYOUTS[name]
    layout = of_guests if any(case["vcpu_mapping"] for case in rows) else on_node
    decimals = time_decimals(case["elapsed_s_mean"] for case in rows)
    page = Page(TIME_DECIMALS if layout.fixed_decimals else decimals, names_as_given(rows))
    cells = tuple(layout.cells(case, page) for case in rows)
    of_columns = [text for say in layout.remarks for text in say(rows)]
    general = (*of_columns, *table_remarks(rows), *remarks)
    return Table(
        caption=f"{_table_number(rows[0])}{caption(rows)}"
        if name == "published"
        else caption(rows),
        columns=layout.columns,
        cells=cells,
        notes=page.notes.listed() + tuple(("", text) for text in general),
        exact=tuple(exact_row(case) for case in rows),
    )


def _table_number(case: Mapping[str, Any]) -> str:
    """Return `Table 3: ` for the third table of a study or publication; empty when not known."""
    number = case["table_number"]
    return "" if pd.isna(number) else f"Table {int(number)}: "


def caption(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return the caption of the table that has these rows of `summarise`."""
    case = cases[0]
    program = f"{_implementation(cases)}{case['app']} ({case['variant']})"
    threads = plural(case["threads"], "thread")
    return one_line(
        f"{program}, size {case['size']}, {threads}, schedule {case['schedule']}, "
        f"wait policy {case['wait_policy']}{_guest(case)}"
    )


def _implementation(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return whose programs were run, where their records tell it."""
    told = dict.fromkeys(name for case in cases for name in case["implementations"])
    return f"{joined(told)}: " if told else ""


def _guest(case: Mapping[str, Any]) -> str:
    if not case["vcpu_mapping"]:
        return ""
    size = [plural(case["vm_cpus"], "vCPU")] if case["vm_cpus"] else []
    size += [f"{case['vm_memory_mib']} MiB"] if case["vm_memory_mib"] else []
    return ", in a guest" + (f" with {' and '.join(size)}" if size else "")


def exact_row(case: Mapping[str, Any]) -> dict[str, object]:
    """Return a case's numbers by name, with the unit last; what is not there is None.

    `elapsed_cv` is the coefficient of variation of the time, sd / mean.
    """
    exact: dict[str, object] = {name: case[name] for name in _IDENTITY}
    exact["status"] = SKIPPED if case["left_out"] is not None else "measured"
    exact["n"] = None if math.isnan(case["n"]) else case["n"]
    exact["unproved"] = case["placed"].unproved
    exact["driver"] = joined(case["drivers"])
    exact["governor_read"] = joined(case["governors_read"])
    exact["implementation"] = joined(case["implementations"])
    for name, title in _MEANS:
        exact[title] = _known(case[name])
    for name, title in _OF_TIMES:
        exact[title] = _known(case.get(name))
    mean, sd = exact["elapsed_mean_s"], exact["elapsed_sd_s"]
    known = isinstance(mean, float) and isinstance(sd, float) and mean > 0
    exact["elapsed_cv"] = case["elapsed_s_sd"] / case["elapsed_s_mean"] if known else None
    for kind, value in case["residency"].items():
        exact[f"residency_{kind}"] = value
    for kind, value in case["freq_ghz"].items():
        exact[f"freq_{kind}_mean_ghz"] = value
    exact["excluded"] = joined(f"{status}: {count}" for status, count in case["excluded"].items())
    exact["reasons"] = case["left_out"] or joined(
        f"{name}: {joined(reasons)}" for name, reasons in case["reasons"].items()
    )
    return exact


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
