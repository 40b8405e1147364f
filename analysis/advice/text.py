"""The advice for a terminal, short, and as a Markdown document with all of it and its tables."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.advice.lines import Line
from analysis.advice.model import Advice, Candidate, Out, Point
from analysis.advice.tell import behind, extent, headline, outs_in_short, p_meaning, trade_off
from analysis.format.numbers import ENERGY_DECIMALS, fixed, time_decimals
from analysis.format.render import markdown_text, render, wrapped
from analysis.format.table import Column, Table, Written, table_of
from analysis.tables.layouts import NOTHING
from base.text import one_line
from runners.race.state import WHYS, Eliminated

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
    return table_of("What was ruled out", _OUTS, advice.outs) if advice.outs else None


def points_table(advice: Advice) -> Table | None:
    """Return time against energy of the recommended case, the reference and the Pareto front."""
    shown = [
        point
        for point in advice.points
        if point.on_front or point.candidate in (advice.best, advice.reference)
    ]
    if not shown:
        return None
    decimals = time_decimals(point.time_s for point in shown)
    columns: tuple[Written[Point], ...] = (
        (Column("case", right=False), lambda point: point.candidate.name),
        (Column("runs"), lambda point: str(point.candidate.runs)),
        (Column("time mean", "s"), lambda point: fixed(point.time_s, decimals)),
        (Column("energy mean", "J"), lambda point: fixed(point.energy_j, ENERGY_DECIMALS)),
        (Column("Pareto front", right=False), lambda point: "yes" if point.on_front else NOTHING),
        (Column("it is", right=False), lambda point: _role(advice, point.candidate)),
    )
    return table_of("Time against package energy, all good runs of each case", columns, shown)


def _role(advice: Advice, candidate: Candidate) -> str:
    if candidate is advice.best:
        return "recommended" if candidate is advice.recommended else "the best of the others"
    return "doing nothing" if candidate is advice.reference else NOTHING


def _from_the_best(out: Out) -> str:
    by = out.eliminated.worse_by
    return NOTHING if by is None else behind(by)


def _why(eliminated: Eliminated) -> str:
    return one_line(": ".join(filter(None, (WHYS[eliminated.why], eliminated.reason))))


_OUTS: tuple[Written[Out], ...] = (
    (Column("case", right=False), lambda out: out.candidate.name),
    (Column("from the best", right=False), _from_the_best),
    (Column("after block"), lambda out: str(out.eliminated.block or NOTHING)),
    (Column("runs"), lambda out: str(out.candidate.runs)),
    (
        Column("p, uncorrected"),
        lambda out: NOTHING if out.eliminated.p is None else f"{out.eliminated.p:.1g}",
    ),
    (Column("why", right=False), lambda out: _why(out.eliminated)),
)
