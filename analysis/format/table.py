"""A table before it is Markdown, CSV or LaTeX: cells as text, notes, and the exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from base.text import one_line

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column:
    """A column: what it holds and its unit, in words that may be broken over two lines."""

    name: str
    unit: str = ""
    right: bool = True

    @property
    def title(self) -> str:
        """The heading on one line: `time mean (s)`."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """One table: the rows of a (app, variant, size, threads, schedule, wait policy).

    `cells` are formatted and in the order of `columns`; `notes` are (marker, text), the marker
    empty for what concerns the whole table. `exact` are the rows once more, by name with its unit
    and unrounded: None where nothing was measured.
    """

    caption: str
    columns: tuple[Column, ...]
    cells: tuple[tuple[str, ...], ...]
    notes: tuple[tuple[str, str], ...] = ()
    exact: tuple[Mapping[str, object], ...] = ()


# A column, and what writes its cell of a row.
Written = tuple[Column, Callable[[Row], str]]


def table_of(
    caption: str,
    columns: Sequence[Written[Row]],
    rows: Iterable[Row],
    notes: tuple[tuple[str, str], ...] = (),
) -> Table:
    """Return a table without exact rows, from its columns and what its rows are about."""
    cells = tuple(tuple(write(row) for _, write in columns) for row in rows)
    return Table(caption, tuple(column for column, _ in columns), cells, notes)


@dataclass
class Notes:
    """Collects footnotes: the same text gets the same marker, a, b, … z, aa and so on."""

    markers: dict[str, str] = field(default_factory=dict)

    def marker(self, text: str) -> str:
        """Return the marker of a note, a new one when the text is new."""
        text = one_line(text)
        if text not in self.markers:
            self.markers[text] = _letters(len(self.markers))
        return self.markers[text]

    def listed(self) -> tuple[tuple[str, str], ...]:
        """Return (marker, text) of all notes, in the order of their first use."""
        return tuple((marker, text) for text, marker in self.markers.items())


def _letters(index: int) -> str:
    text = ""
    while index >= 0:
        text = chr(ord("a") + index % 26) + text
        index = index // 26 - 1
    return text


def joined(parts: Iterable[str]) -> str:
    """Return the parts as one text, `; ` between them."""
    return "; ".join(part for part in parts if part)
