"""Tables made of records, and what stands in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.format.table import Table
from analysis.tables.means import make_tables
from tests.analysis.records import write


def tables_from(folder: Path, records: list[dict[str, Any]]) -> list[Table]:
    """Return the tables of these records, which are written to a folder first."""
    write(folder, records)
    return make_tables(folder)


def cells_by_title(table: Table, row: int = 0) -> dict[str, str]:
    """Return a row's cells by the titles of their columns."""
    titles = [column.title for column in table.columns]
    return dict(zip(titles, table.cells[row], strict=True))
