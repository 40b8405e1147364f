"""Tables for a terminal: a heading in one line, notes within its width."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from pinstudy.analysis.format.table import Column, Note, Table, shared_notes, text_notes, wrapped

_BETWEEN = "  "


def column_width(column: Column, cells: Iterable[str]) -> int:
    """Return how many characters a column takes, with what stands between it and the next."""
    return max(map(len, chain([_heading(column)], cells))) + len(_BETWEEN)


def terminal_text(tables: Sequence[Table], width: int) -> str:
    """Return the tables; notes of all of them stand once, at the end.

    Notes are wrapped at the width. Tables are as wide as they are.
    """
    shared = shared_notes(tables)
    parts = ["\n".join(_lines(table, shared, width)) for table in tables]
    if shared:
        parts.append("\n".join(["Of these tables", *_notes(shared, width)]))
    return "\n\n".join(parts)


def _heading(column: Column) -> str:
    return column.short or column.title


def _lines(table: Table, elsewhere: Collection[Note], width: int) -> list[str]:
    columns = [
        [_heading(column), *(row[at] for row in table.cells)]
        for at, column in enumerate(table.columns)
    ]
    widths = [max(map(len, texts)) for texts in columns]
    rows = [
        _BETWEEN.join(
            text.rjust(places) if column.right else text.ljust(places)
            for text, column, places in zip(row, table.columns, widths, strict=True)
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]
    notes = (note for note in table.notes if note not in elsewhere)
    return [*_title(table, max(map(len, rows)), width), *rows, *_notes(notes, width)]


def _title(table: Table, of_rows: int, width: int) -> list[str]:
    """Return the caption with the facts at the end of its line, or below it."""
    blanks = max(of_rows - len(table.caption) - len(table.facts), len(_BETWEEN))
    if table.facts and len(table.caption) + blanks + len(table.facts) <= width:
        return [table.caption + " " * blanks + table.facts]
    return wrapped([table.caption, *filter(None, [table.facts])], width, "")


def _notes(notes: Iterable[Note], width: int) -> list[str]:
    return wrapped([line.strip() for line in text_notes(notes)], width, "")
