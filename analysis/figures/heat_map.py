"""The overview as a figure: every comparison a cell, coloured by its outcome and size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from analysis.figures.drawing import Drawing, sentences
from analysis.figures.rows import LEGEND_IN, LINE_IN, Entry, legend_lines, put_legend, title_lines
from analysis.figures.style import BLACK, GREY, LETTER, label_text
from analysis.objectives import Objective
from analysis.overview.grid import Cell, Overview
from analysis.overview.terminal import grid_caption
from analysis.overview.text import cell_text, signs
from analysis.verdict.model import Findings
from base.text import plural

TITLE = "All comparisons"
_ROW, _COLUMN = 0.24, 1.0
# Inches around the cells, under a title of one line.
_TOP, _BOTTOM = 0.62, 0.16
_TITLE_LETTER = 0.068
# Names of mappings may be as long as a study has them.
_MAX_TITLE = 400
# By the strength of a change; the page's style sheet has the same.
_SHADES = {
    "better": ("#dcecf8", "#aed4f0", "#7fbbe6"),
    "worse": ("#fdebd9", "#fbd0a6", "#f5ab6b"),
}
_EQUIVALENT = "#e6e8eb"


def draw_heat_map(overview: Overview, findings: Findings) -> Drawing:
    """Draw the overview in the objectives that are looked at first."""
    captions = (grid_caption(findings, overview, objective) for objective in overview.leading)
    count = plural(len(overview.lines_of(overview.leading[0])), "configuration")
    alt = sentences(f"{count} by {plural(len(overview.columns), 'mapping')}.", *captions)
    name = "overview-guests" if "/" in overview.columns[0] else "overview"
    how = "Changes in % of the baseline with their 95 % intervals; * is the best of its row."
    return Drawing(name, TITLE, how, alt, heat_map([overview], findings))


def heat_map(overviews: Sequence[Overview], findings: Findings) -> Figure:
    """Return a figure of these overviews, one below the other, with one legend."""
    grids = [(of, objective) for of in overviews for objective in of.leading]
    labels = [
        label_text(line.label)
        for overview, objective in grids
        for line in overview.lines_of(objective)
    ]
    left = 0.15 + LETTER * max(map(len, labels), default=0)
    width = left + _COLUMN * max(len(overview.columns) for overview in overviews) + 0.1
    entries = _legend([cell for overview, of in grids for cell in overview.cells_of(of)])
    bottom = _BOTTOM + LEGEND_IN * legend_lines(entries, width)
    letters = round((width - 0.2) / _TITLE_LETTER)
    titles = [title_lines(grid_caption(findings, *grid), letters, _MAX_TITLE) for grid in grids]
    tops = [_TOP + LINE_IN * (len(title) - 1) for title in titles]
    height = sum(tops) + _ROW * len(labels) + bottom
    figure = Figure(figsize=(width, height))
    top = height
    for (overview, objective), title, above in zip(grids, titles, tops, strict=True):
        text = "\n".join(title)
        figure.text(0.1 / width, (top - 0.08) / height, text, va="top", weight="bold")
        deep = _ROW * len(overview.lines_of(objective))
        top -= above + deep
        wide = _COLUMN * len(overview.columns)
        axes = figure.add_axes((left / width, top / height, wide / width, deep / height))
        _draw_cells(axes, overview, objective)
    put_legend(figure, entries)
    return figure


def _draw_cells(axes: Axes, overview: Overview, objective: Objective) -> None:
    lines = overview.lines_of(objective)
    axes.set_axis_off()
    axes.set_xlim(0, len(overview.columns))
    axes.set_ylim(len(lines), 0)
    for at, column in enumerate(overview.columns):
        # Of guests the mapping of the virtual CPUs and that of the threads, one below the other.
        heading = "/\n".join(label_text(part, 18) for part in column.split("/"))
        axes.text(at + 0.5, -0.25, heading, ha="center", va="bottom")
    for row, line in enumerate(lines):
        axes.text(-0.05, row + 0.5, label_text(line.label), ha="right", va="center")
        for at, column in enumerate(overview.columns):
            if cell := line.cells_of(objective).get(column):
                _draw_cell(axes, at, row, cell, objective)


def _draw_cell(axes: Axes, column: int, row: int, cell: Cell, objective: Objective) -> None:
    axes.add_patch(Rectangle((column, row), 1, 1, **_look(cell), linewidth=0.0))
    axes.text(
        column + 0.5, row + 0.5, cell_text(cell, objective), ha="center", va="center", fontsize=7.5,
        color=BLACK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
        if cell.outcome == "undecided" else None,
    )  # fmt: skip


def _look(cell: Cell) -> dict[str, Any]:
    """Return how a cell's rectangle looks; on paper without colours the signs say the same."""
    if cell.outcome in _SHADES:
        return {"facecolor": _SHADES[cell.outcome][cell.strength], "edgecolor": "white"}
    if cell.outcome == "equivalent":
        return {"facecolor": _EQUIVALENT, "edgecolor": "white"}
    if cell.outcome == "undecided":
        return {"facecolor": "white", "edgecolor": GREY, "hatch": "////"}
    return {"facecolor": "white", "edgecolor": "white"}


def _legend(cells: Sequence[Cell]) -> list[Entry]:
    """Return what colours and signs mean, of those that cells have."""
    words = {cell.outcome for cell in cells}
    coloured = {
        "better": Patch(facecolor=_SHADES["better"][1], label="better"),
        "worse": Patch(facecolor=_SHADES["worse"][1], label="worse"),
        "equivalent": Patch(facecolor=_EQUIVALENT, label="= alike"),
        "undecided": Patch(facecolor="white", edgecolor=GREY, hatch="////", label="? undecided"),
    }
    return [
        *(patch for outcome, patch in coloured.items() if outcome in words),
        *(Patch(facecolor="none", label=f"{sign} {of}") for sign, of in signs(cells).items()),
    ]
