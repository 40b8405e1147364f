"""What programs that ran beside each other cost each other: both slowdowns of each case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from pinstudy.analysis.figures.drawing import Drawing, extremes
from pinstudy.analysis.figures.layout import SCREEN, Layout
from pinstudy.analysis.figures.rows import entry, label_empty_rows, reach, row_figure, tooltip
from pinstudy.analysis.figures.style import BLACK, BLUE, GREY, VERMILION, marker_style
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings

TITLE = "What programs beside each other cost each other"
_PROGRAM = marker_style("o", 5, BLUE, BLUE)
_CO_RUNNER = marker_style("D", 5, VERMILION, "white")
# Parts of a row's height: the program stands above its middle, the co-runner below.
_APART = 0.16


def draw_slowdowns(table: TableFindings, name: str, layout: Layout = SCREEN) -> Drawing | None:
    """Draw the slowdown of each program and of its co-runner; None where nothing ran beside any."""
    slowdowns = {row: case.slowdown for row, case in enumerate(table.cases) if case.slowdown}
    programs = {row: found.of_program for row, found in slowdowns.items() if found.of_program}
    co_runners = {row: found.of_co_runner for row, found in slowdowns.items() if found.of_co_runner}
    if not (programs or co_runners):
        return None
    entries = [entry("the program", _PROGRAM), entry("its co-runner", _CO_RUNNER)]
    panels = [("time beside the other over that alone", 1.0)]
    figure, (axes,) = row_figure(table.title, table.cases, panels, entries, layout=layout)
    axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    tooltips: dict[str, str] = {}
    for found, style, up, noun in (
        (programs, _PROGRAM, -_APART, "the program"),
        (co_runners, _CO_RUNNER, _APART, "its co-runner"),
    ):
        for row, difference in found.items():
            gid = f"slowdown-{len(tooltips)}"
            _draw_ratio(axes, difference, row + up, style, gid)
            label = f"{table.cases[row].label}, {noun}"
            tooltips[gid] = tooltip(label, difference.ratio, "", difference.known_interval())
    label_empty_rows(axes, table.cases, {*programs, *co_runners})
    caption = "Ratios of typical times with their 95 % intervals, each by itself; 1 is no slowdown."
    return Drawing(name, TITLE, caption, _alt_text(table.cases, programs), figure, tooltips)


def _draw_ratio(
    axes: Axes, difference: Difference, y: float, style: dict[str, Any], gid: str
) -> None:
    interval = difference.known_interval()
    down, up = reach(difference.ratio, interval)
    mark, *_ = axes.errorbar(
        difference.ratio, y, xerr=[[down], [up]], ecolor=BLACK, elinewidth=1.0, capsize=2.0,
        zorder=3, **style,
    )  # fmt: skip
    mark.set_gid(gid)


def _alt_text(cases: Sequence[CaseFinding], programs: dict[int, Difference]) -> str:
    ratios = {row: difference.ratio for row, difference in programs.items()}
    return extremes("The slowdown of the program", "", ratios, cases)
