"""Text for a terminal as lines of pieces, each with a style that whoever prints may colour.

No style says anything that the text does not say.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Literal, NamedTuple

Style = Literal["plain", "strong", "faint", "better", "worse", "equivalent", "undecided"]


class Piece(NamedTuple):
    """A text with a style."""

    text: str
    style: Style = "plain"


Line = tuple[Piece, ...]


def lines_of(text: str, style: Style = "plain") -> list[Line]:
    """Return a text as lines of one style."""
    return [(Piece(line, style),) for line in text.split("\n")]


def labelled(label: str, text: str, width: int, margin: int) -> list[Line]:
    """Return a text, wrapped, with a label in its margin; both numbers are columns."""
    # A number and its percent sign stay on one line.
    bound = text.replace(" %", "\u00a0%")
    parts = wrap(bound, width - margin, break_long_words=False, break_on_hyphens=False)
    return [
        (
            Piece((label if at == 0 else "").ljust(margin), "strong"),
            Piece(part.replace("\u00a0", " ")),
        )
        for at, part in enumerate(parts)
    ]


def length(line: Line) -> int:
    """Return how many columns a line takes."""
    return sum(len(piece.text) for piece in line)


def stripped(line: Line) -> Line:
    """Return a line without blanks at its end."""
    *others, last = line
    return (*others, last._replace(text=last.text.rstrip())) if last.text.strip() else line


def plain(lines: Iterable[Line]) -> str:
    """Return lines as text without styles."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)
