"""A table before it is written: cells as text, notes, raw values; then in every format."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import TextWrapper
from typing import TypeVar

from tabulate import tabulate

from pinstudy.base.text import one_line

Row = TypeVar("Row")
# A marker, empty for what concerns the whole table, and a text.
Note = tuple[str, str]


@dataclass(frozen=True)
class Column:
    """A column: what it holds and its unit, in words that may be broken over two lines.

    `field` is that of records whose means it holds; empty for other columns. `key` is what people
    type to choose the column, `short` its heading with the unit where there is little space.
    """

    name: str
    unit: str = ""
    right: bool = True
    field: str = ""
    key: str = ""
    short: str = ""

    @property
    def title(self) -> str:
        """The heading on one line: `time mean (s)`."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """One table: the rows of a (app, build, size, ranks, threads, schedule, wait policy).

    `cells` are formatted and in the order of `columns`; `notes` are (marker, text), the marker
    empty for what concerns the whole table. `raw_values` are the rows' unrounded values by name
    with unit: None where nothing was measured. `number` is what the source calls it, `facts` is
    what its rows share beyond the caption, `label` that of LaTeX.
    """

    caption: str
    columns: tuple[Column, ...]
    cells: tuple[tuple[str, ...], ...]
    notes: tuple[tuple[str, str], ...] = ()
    raw_values: tuple[Mapping[str, object], ...] = ()
    number: int | None = None
    facts: str = ""
    label: str = ""


# A column, and what writes its cell of a row.
Written = tuple[Column, Callable[[Row], str]]


def table_of(
    caption: str,
    columns: Sequence[Written[Row]],
    rows: Iterable[Row],
    notes: Iterable[str] = (),
) -> Table:
    """Return a table without raw values, from its columns and the objects of its rows."""
    cells = tuple(tuple(write(row) for _, write in columns) for row in rows)
    of_all = tuple(("", note) for note in notes)
    return Table(caption, tuple(column for column, _ in columns), cells, of_all)


@dataclass
class Notes:
    """Collects a table's footnotes: the same text gets the same marker, a, b, … z, aa and so on.

    Tables that stand together may share the markers; each has those that it `used`.
    """

    markers: dict[str, str] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def marker(self, text: str) -> str:
        """Return the marker of a note, a new one when the text is new."""
        text = one_line(text)
        if text not in self.markers:
            self.markers[text] = _letters(len(self.markers))
        self.used[text] = None
        return self.markers[text]

    def listed(self) -> tuple[tuple[str, str], ...]:
        """Return (marker, text) of the table's notes, in the order of their first use."""
        return tuple((self.markers[text], text) for text in self.used)


def _letters(index: int) -> str:
    text = ""
    while index >= 0:
        text = chr(ord("a") + index % 26) + text
        index = index // 26 - 1
    return text


def joined(parts: Iterable[str]) -> str:
    """Return the parts as one text, `; ` between them."""
    return "; ".join(part for part in parts if part)


def text(tables: Sequence[Table]) -> str:
    """Return the tables with their notes; those of all of them stand once, at the end."""
    shared = shared_notes(tables)
    parts = [_text_table(table, shared) for table in tables]
    if shared:
        parts.append("\n".join(["Of these tables", *text_notes(shared), ""]))
    return "\n".join(parts)


def shared_notes(tables: Sequence[Table]) -> dict[Note, None]:
    """Return the notes that stand once for several tables.

    These are what is said of every table, and notes with a marker where the tables share those.
    """
    if len(tables) < 2:
        return {}
    everything = dict.fromkeys(note for table in tables for note in table.notes)
    markers = [marker for marker, _ in everything if marker]
    share_markers = len(set(markers)) == len(markers)
    return {
        note: None
        for note in everything
        if (share_markers if note[0] else all(note in table.notes for table in tables))
    }


def text_notes(notes: Iterable[Note]) -> list[str]:
    """Return notes as lines, those with a marker behind it."""
    return [f"  ({marker}) {text}" if marker else f"  {text}" for marker, text in notes]


def _text_table(table: Table, elsewhere: Collection[Note]) -> str:
    headers = [_two_lines(column) for column in table.columns]
    body = tabulate(
        table.cells,
        headers,
        tablefmt="simple",
        disable_numparse=True,
        colalign=_alignment(table),
    )
    notes = text_notes(note for note in table.notes if note not in elsewhere)
    facts = [table.facts] if table.facts else []
    return "\n".join([table.caption, *facts, "", body, *notes, ""])


def _two_lines(column: Column) -> str:
    unit = f"({column.unit})" if column.unit else ""
    first, _, rest = column.name.replace(" %", "\u00a0%").partition(" ")
    lines = f"{first}\n{' '.join(filter(None, (rest, unit)))}".rstrip()
    return lines.replace("\u00a0", " ")


def _alignment(table: Table) -> list[str]:
    return ["right" if column.right else "left" for column in table.columns]


def wrapped(lines: Sequence[str], width: int, indent: str = "  ") -> list[str]:
    """Return sentences in lines of that many columns, further indented from the second line on."""
    wrap = TextWrapper(width, indent, f"{indent}  ", break_long_words=False, break_on_hyphens=False)
    # A number and its percent sign stay on one line.
    return [wrap.fill(line.replace(" %", "\u00a0%")).replace("\u00a0", " ") for line in lines]


def markdown(tables: Sequence[Table]) -> str:
    """Return the tables as Markdown."""
    return "\n".join(_markdown_table(table) for table in tables)


def _markdown_table(table: Table) -> str:
    body = tabulate(
        [[markdown_text(cell) for cell in row] for row in table.cells],
        [markdown_text(column.title) for column in table.columns],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=_alignment(table),
    )
    texts = ((marker, markdown_text(text)) for marker, text in table.notes)
    notes = [f"- ({marker}) {text}" if marker else f"- {text}" for marker, text in texts]
    facts = [markdown_text(table.facts), ""] if table.facts else []
    parts = [f"## {markdown_text(table.caption)}", "", *facts, body, ""]
    return "\n".join([*parts, *notes, ""] if notes else parts)


def markdown_text(text: str) -> str:
    """Escape what Markdown would take for a cell's end, emphasis, code, a link or HTML."""
    return text.translate(_MARKDOWN)


def markdown_items(lines: Iterable[str]) -> list[str]:
    """Return texts as the items of a Markdown list."""
    return [f"- {markdown_text(line)}" for line in lines]


def csv_text(tables: Sequence[Table]) -> str:
    """Return the tables as one of CSV."""
    rows = [row for table in tables for row in table.raw_values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_value(row.get(name, "")) for name in names] for row in rows)
    return stream.getvalue()


def csv_value(value: object) -> object:
    """Clean a text, since CSV is printed on terminals too, and mark as text what looks a formula.

    A spreadsheet would execute a formula; an apostrophe before it prevents that.
    """
    if not isinstance(value, str):
        return value
    text = one_line(value, None)
    return f"'{text}" if text.startswith(_FORMULA) else text


# With these a formula begins, in one spreadsheet or another.
_FORMULA = ("=", "+", "-", "@")
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*_[]<>&~"})
