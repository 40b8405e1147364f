"""What a case costs elsewhere: joules of each core kind, and slowdowns of what runs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from analysis.figures.cases import cases_by_kind
from analysis.figures.drawing import Drawing, extremes, sentences
from analysis.figures.rows import (
    area_entry,
    draw_stacked,
    entry,
    label_empty_rows,
    reach,
    row_figure,
)
from analysis.figures.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    cores_of,
    marker_style,
)
from analysis.measures import ENERGY_BY_KIND
from analysis.statistics.difference import Difference
from analysis.verdict.model import CaseFinding, TableFindings

ENERGY_TITLE = "Energy by core kind"
SLOWDOWN_TITLE = "What programs beside each other cost each other"
_PROGRAM = marker_style("o", 5, BLUE, BLUE)
_CO_RUNNER = marker_style("D", 5, VERMILION, "white")
# Parts of a row's height: the program stands above its middle, the co-runner below.
_APART = 0.16


def draw_energy_by_kind(table: TableFindings, name: str) -> Drawing | None:
    """Draw each case's joules, the core kinds stacked; None where none was measured."""
    values = cases_by_kind(table.cases, lambda case: case.summary.means_by_kind(ENERGY_BY_KIND))
    if not values:
        return None
    entries = [area_entry(cores_of(kind), kind) for kind in values]
    figure, (axes,) = row_figure(
        table.title, table.cases, [("energy of the cores (J)", 1)], entries
    )
    most = max(draw_stacked(axes, values, len(table.cases)))
    axes.set_xlim(0, 1.05 * most if most > 0 else 1.0)
    rows = {row for of_kind in values.values() for row in of_kind}
    label_empty_rows(axes, table.cases, rows)
    alt = sentences(
        *(
            extremes(f"The mean energy of {cores_of(kind)}", "J", of_kind, table.cases)
            for kind, of_kind in values.items()
        )
    )
    caption = "Means of the runs, by core kind; idle energy of the cores is in them."
    return Drawing(name, ENERGY_TITLE, caption, alt, figure)


def draw_slowdowns(table: TableFindings, name: str) -> Drawing | None:
    """Draw the slowdown of each program and of its co-runner; None where nothing ran beside any."""
    slowdowns = {row: case.slowdown for row, case in enumerate(table.cases) if case.slowdown}
    programs = {row: of.of_program for row, of in slowdowns.items() if of.of_program}
    co_runners = {row: of.of_co_runner for row, of in slowdowns.items() if of.of_co_runner}
    if not (programs or co_runners):
        return None
    entries = [entry("the program", _PROGRAM), entry("its co-runner", _CO_RUNNER)]
    panels = [("time beside the other over that alone", 1.0)]
    figure, (axes,) = row_figure(table.title, table.cases, panels, entries)
    axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    for found, style, up in ((programs, _PROGRAM, -_APART), (co_runners, _CO_RUNNER, _APART)):
        for row, difference in found.items():
            _draw_ratio(axes, difference, row + up, style)
    label_empty_rows(axes, table.cases, {*programs, *co_runners})
    caption = "Ratios of typical times with their 95 % intervals, each by itself; 1 is no slowdown."
    return Drawing(name, SLOWDOWN_TITLE, caption, _alt_text(table.cases, programs), figure)


def _draw_ratio(axes: Axes, difference: Difference, y: float, style: dict[str, Any]) -> None:
    interval = difference.known_interval()
    down, up = reach(difference.ratio, interval)
    axes.errorbar(
        difference.ratio, y, xerr=[[down], [up]], ecolor=BLACK, elinewidth=1.0, capsize=2.0,
        zorder=3, **style,
    )  # fmt: skip


def _alt_text(cases: Sequence[CaseFinding], programs: dict[int, Difference]) -> str:
    ratios = {row: difference.ratio for row, difference in programs.items()}
    return extremes("The slowdown of the program", "", ratios, cases)
