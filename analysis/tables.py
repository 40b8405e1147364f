"""The tables of a study's results, in a layout, with honest footnotes; and as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.caption import caption
from analysis.digits import TIME_DECIMALS, time_decimals
from analysis.exact import exact_row
from analysis.fields import table_of
from analysis.layouts import LAYOUTS, LayoutName, Page, names_as_given
from analysis.remarks import table_remarks
from analysis.render import render
from analysis.sources import open_results
from analysis.table import Table, joined
from analysis.written import again, write_file
from base.errors import UserError
from base.text import as_typed

__all__ = ["make_tables", "render", "tables_of_cases", "write_tables"]

FILES = {"markdown": "tables.md", "csv": "tables.csv", "latex": "tables.tex"}


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

    `cases` has the columns of `analysis.summary.summarise`. Means that come without their runs may
    lack median, minimum and maximum, have a NaN `n`, and have `as_given`: {`M_mean` or `M_sd`: the
    text that was given}, whose digits are kept (`analysis.layouts.names_as_given`).
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
        caption=f"{_number(rows[0])}{caption(rows)}" if name == "published" else caption(rows),
        columns=layout.columns,
        cells=cells,
        notes=page.notes.listed() + tuple(("", text) for text in general),
        exact=tuple(exact_row(case) for case in rows),
    )


def _number(case: Mapping[str, Any]) -> str:
    """Return `Table 3: ` for the third table of a study or publication; empty when not known."""
    number = case["table_number"]
    return "" if pd.isna(number) else f"Table {int(number)}: "
