"""The advice as text for a terminal, short, and as a Markdown document with all of it."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.advice.lines import Line
from analysis.advice.model import Advice
from analysis.advice.tables import outs_table, points_table
from analysis.advice.tell import extent, headline, outs_in_short, p_meaning, trade_off
from analysis.render import markdown_text, render, wrapped
from analysis.table import Table

FILE = "advice.md"
# The lines that a terminal has room for; the file has all.
_ON_TERMINAL = ("environment", "taskset", "likwid-pin", "srun", "governor")
LINES_ARE = (
    "Other tools are told the same placement as the one that was measured; they themselves were "
    "not timed."
)


def advice_text(advice: Advice, width: int) -> str:
    """Return the advice for a terminal of that many columns; lines to paste may be longer."""
    parts = [*wrapped(headline(advice), width, ""), ""]
    for line in advice.lines:
        if line.tool in _ON_TERMINAL and line.text:
            parts += [f"  {line.tool}:", f"    {line.text}"]
    parts += ["", *wrapped([*trade_off(advice)[:1], extent(advice)], width, "")]
    outs = outs_in_short(advice, 3)
    if outs:
        parts += ["", "What was ruled out", *wrapped(outs, width, "  ")]
    if advice.warnings:
        parts += ["", "To be taken with care", *wrapped(advice.warnings, width, "  ")]
    return "\n".join(_without_double_gaps(parts))


def _without_double_gaps(lines: Sequence[str]) -> list[str]:
    return [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]


def advice_markdown(advice: Advice, remarks: Sequence[str] = ()) -> str:
    """Return all of the advice as a Markdown document; `remarks` are of the results."""
    parts = ["# Advice", "", *_items([*headline(advice), extent(advice)])]
    if advice.standing.p is not None:
        parts += _items([p_meaning()])
    if advice.lines:
        parts += ["", "## Ready lines", "", *_line_parts(advice.lines)]
        parts += [LINES_ARE]
    parts += ["", "## Time and energy", "", *_items(trade_off(advice))]
    parts += _table(points_table(advice))
    outs = outs_in_short(advice)
    if outs:
        parts += ["", "## What was ruled out", "", *_items(outs)]
        parts += _table(outs_table(advice))
    if advice.warnings:
        parts += ["", "## To be taken with care", "", *_items(advice.warnings)]
    if remarks:
        parts += ["", "## What to know of these results", "", *_items(remarks)]
    return "\n".join([*parts, ""])


def _items(lines: Sequence[str]) -> list[str]:
    return [f"- {markdown_text(line)}" for line in lines]


def _line_parts(lines: Sequence[Line]) -> list[str]:
    parts: list[str] = []
    for line in lines:
        note = f" ({markdown_text(line.note)})" if line.note else ""
        if line.text:
            parts += [f"{line.tool}{note}:", "", "```sh", line.text, "```", ""]
        else:
            parts += [f"{line.tool}: n/a, because {markdown_text(line.note)}.", ""]
    return parts


def _table(table: Table | None) -> list[str]:
    return [] if table is None else ["", render([table], "markdown").partition("\n\n")[2].rstrip()]
