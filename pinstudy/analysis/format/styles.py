"""Tables in the styles in which they are printed and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pinstudy.analysis.format.latex import latex
from pinstudy.analysis.format.table import Table, csv_text, markdown, text

_STYLES: dict[str, Callable[[Sequence[Table]], str]] = {
    "text": text,
    "markdown": markdown,
    "csv": csv_text,
    "latex": latex,
}


def render(tables: Sequence[Table], style: str) -> str:
    """Return the tables in one of the styles `text`, `markdown`, `csv`, `latex`.

    CSV is one table with a header line: numbers unrounded, units in the header's names, cells empty
    where nothing was measured. LaTeX needs the packages of `pinstudy.analysis.format.latex`.
    """
    return _STYLES[style](tables)
