"""How commands print: aligned columns and wrapped notes on stdout, JSON for programs."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base.text import one_line, printable

if TYPE_CHECKING:
    from rich.text import Text

    from pinstudy.analysis.format.lines import Line, Style

# Blue and orange, which people with any colour vision tell apart, on black and on white.
_STYLES: Mapping[Style, str] = {
    "plain": "",
    "strong": "bold",
    "faint": "dim",
    "better": "bold color(33)",
    "worse": "color(172)",
    "equivalent": "dim",
    "undecided": "italic",
}
# What advice and heat maps need.
ALL_LIBRARIES = "numpy, pandas, scipy and matplotlib"


def say(text: str, err: bool = False) -> None:
    """Print a text of any origin on stdout or stderr; nothing in it can control the terminal."""
    click.echo(printable(text), err=err)


def say_lines(lines: Iterable[Line]) -> None:
    """Print styled lines on stdout, in colours where it is a terminal that has them.

    The variable NO_COLOR takes them away, as https://no-color.org asks.
    """
    if not sys.stdout.isatty():
        say("\n".join("".join(text for text, _ in line).rstrip() for line in lines))
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in lines:
        console.print(styled(line))


def styled(line: Line) -> Text:
    """Return a line as rich shows it; nothing in its texts can control the terminal."""
    from rich.text import Text

    return Text.assemble(*((printable(text), _STYLES[style]) for text, style in line))


def say_files(files: Sequence[Path]) -> None:
    """Print which files were written, the folder they share once."""
    if not files:
        return
    names = "  ".join(path.name for path in files)
    say(wrap(f"{files[0].parent}/  {names}", "Files      "))


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


def without_library(purpose: str, error: ImportError, libraries: str, command: str) -> str:
    """Return why a result is not made, and the command that makes it where its libraries are."""
    return f"no {purpose}: {one_line(str(error))}; where {libraries} are installed: {command}"
