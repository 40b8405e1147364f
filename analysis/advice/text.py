"""The advice for a terminal, short, and as a Markdown document with all of it and its tables."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.advice.lines import Line
from analysis.advice.model import Advice, Out, Point
from analysis.advice.tell import behind, extent, headline, outs_in_short, p_meaning, trade_off
from analysis.format.numbers import time_decimals
from analysis.format.render import markdown_text, render, wrapped
from analysis.format.table import Column, Table
from analysis.tables.layouts import NOTHING
from base.text import one_line
from runners.race.state import WHYS

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


def outs_table(advice: Advice) -> Table | None:
    """Return each case that was ruled out, the nearest to the best first; None when none was."""
    if not advice.outs:
        return None
    columns = (
        Column("case", right=False),
        Column("from the best", right=False),
        Column("after block"),
        Column("runs"),
        Column("p, uncorrected"),
        Column("why", right=False),
    )
    return Table("What was ruled out", columns, tuple(map(_out_row, advice.outs)))


def _out_row(out: Out) -> tuple[str, ...]:
    eliminated = out.eliminated
    why = WHYS.get(eliminated.why, eliminated.why)
    return (
        out.candidate.name,
        NOTHING if eliminated.worse_by is None else behind(eliminated.worse_by),
        str(eliminated.block) if eliminated.block else NOTHING,
        str(out.candidate.runs),
        NOTHING if eliminated.p is None else f"{eliminated.p:.1g}",
        one_line(f"{why}: {eliminated.reason}" if eliminated.reason else why),
    )


def points_table(advice: Advice) -> Table | None:
    """Return time against energy of the recommended case, the reference and the Pareto front."""
    shown = [
        point
        for point in advice.points
        if point.on_front or point.candidate in (advice.best, advice.reference)
    ]
    if not shown:
        return None
    columns = (
        Column("case", right=False),
        Column("runs"),
        Column("time mean", "s"),
        Column("energy mean", "J"),
        Column("Pareto front", right=False),
        Column("it is", right=False),
    )
    decimals = time_decimals(point.time_s for point in shown)
    rows = tuple(_point_row(advice, point, decimals) for point in shown)
    return Table("Time against package energy, all good runs of each case", columns, rows)


def _point_row(advice: Advice, point: Point, decimals: int) -> tuple[str, ...]:
    candidate = point.candidate
    roles = {advice.reference.case_id: "doing nothing"}
    if advice.best:
        taken = advice.best is advice.recommended
        roles[advice.best.case_id] = "recommended" if taken else "the best of the others"
    return (
        candidate.name,
        str(candidate.runs),
        f"{point.time_s:.{decimals}f}",
        f"{point.energy_j:.2f}",
        "yes" if point.on_front else NOTHING,
        roles.get(candidate.case_id, NOTHING),
    )
