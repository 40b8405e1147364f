"""Text for a terminal as lines of pieces, each with a style that whoever prints may colour.

No style says anything that the text does not say.
"""

from __future__ import annotations

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
    # A label that fills the margin pushes its text to the right.
    head = label.ljust(margin) if len(label) < margin else f"{label}  "
    # A number and its percent sign stay on one line.
    parts = wrap(
        text.replace(" %", "\u00a0%"),
        width,
        initial_indent=" " * len(head),
        subsequent_indent=" " * margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    starts = [head, *[" " * margin for _ in parts[1:]]]
    return [
        (Piece(start, "strong"), Piece(part[len(start) :].replace("\u00a0", " ")))
        for start, part in zip(starts, parts, strict=False)
    ]


def length(line: Line) -> int:
    """Return how many columns a line takes."""
    return sum(len(piece.text) for piece in line)


def stripped(line: Line) -> Line:
    """Return a line without blanks at its end."""
    *before, last = line
    return (*before, last._replace(text=last.text.rstrip())) if last.text.strip() else line
