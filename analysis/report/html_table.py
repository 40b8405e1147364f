"""Tables as the report's pages have them: cells, and what each is sorted by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.format.table import Table

# A cell's number stands at its beginning; a note's marker or a unit may follow.
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?(?=$|[ (])")


@dataclass(frozen=True)
class HtmlColumn:
    """A column's heading; `numeric` ones stand at the right and are sorted as numbers."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class HtmlCell:
    """A cell's text, and its number where it is sorted by one; `link` is an anchor of the page."""

    text: str
    number: str | None = None
    link: str = ""


@dataclass(frozen=True)
class HtmlTable:
    """A table of the page; column `head` names the row."""

    name: str
    caption: str
    columns: tuple[HtmlColumn, ...]
    rows: tuple[tuple[HtmlCell, ...], ...]
    head: int = 0


def html_table(name: str, caption: str, table: Table) -> HtmlTable:
    """Return one of the results' tables; its rows are named by their mapping."""
    columns = tuple(HtmlColumn(column.title, column.right) for column in table.columns)
    rows = tuple(
        tuple(_cell(text, column) for text, column in zip(row, columns, strict=True))
        for row in table.cells
    )
    head = next((at for at, column in enumerate(columns) if not column.numeric), 0)
    return HtmlTable(name, caption, columns, rows, head)


def plain_table(
    name: str, caption: str, titles: Sequence[str], rows: Iterable[Sequence[str]], head: int = 0
) -> HtmlTable:
    """Return a table of texts; a column of numbers only is a numeric one."""
    texts = [tuple(row) for row in rows]
    columns = tuple(
        HtmlColumn(title, bool(texts) and all(_NUMBER.match(row[at]) for row in texts))
        for at, title in enumerate(titles)
    )
    cells = tuple(
        tuple(_cell(text, column) for text, column in zip(row, columns, strict=True))
        for row in texts
    )
    return HtmlTable(name, caption, columns, cells, head)


def _cell(text: str, column: HtmlColumn) -> HtmlCell:
    found = _NUMBER.match(text) if column.numeric else None
    return HtmlCell(text, found[0] if found else None)
