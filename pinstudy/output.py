"""How commands print: aligned columns and wrapped notes on stdout, JSON for programs."""

from __future__ import annotations

import json
import math
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

from base.text import one_line, printable

# What advice and heat maps need.
ALL_LIBRARIES = "numpy, pandas, scipy and matplotlib"


def say(text: str, err: bool = False) -> None:
    """Print a text of any origin on stdout or stderr; nothing in it can control the terminal."""
    click.echo(printable(text), err=err)


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Print a value as indented JSON; unprintable characters become JSON's escapes.

    JSON has neither NaN nor infinities: such numbers are null.
    """
    text = json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(re.sub(r"[^ -~\n]", _escaped, text))


def _finite(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _escaped(character: re.Match[str]) -> str:
    return character[0] if character[0].isprintable() else json.dumps(character[0])[1:-1]


def print_columns(rows: Iterable[Sequence[object]]) -> None:
    """Print rows with aligned columns; the last column is wrapped to the terminal's width."""
    table = [[str(cell) for cell in row] for row in rows]
    if not table:
        return
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]) - 1)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]  # noqa: B905 - last is apart
        start = "  ".join(["", *cells, ""])
        say(wrap(row[-1], start))


def terminal_width() -> int:
    """Return the terminal's columns, 60 or more; 100 where there is no terminal."""
    return max(60, shutil.get_terminal_size((100, 24)).columns)


def wrap(text: str, start: str) -> str:
    """Return the text after `start`, wrapped at the terminal's width with a hanging indent."""
    lines = textwrap.wrap(
        text,
        terminal_width(),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or start.rstrip()


def without_library(what: str, error: ImportError, libraries: str, command: str) -> str:
    """Return why a result is not made, and the command that makes it where its libraries are."""
    return f"no {what}: {one_line(str(error))}; where {libraries} are installed: {command}"
