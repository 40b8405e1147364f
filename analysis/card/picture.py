"""A card's picture: every comparison of times as a cell, with its mark, colour and uncertainty."""

from __future__ import annotations

import io
import re

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis.figures.style import BLUE, GREY, PALE, VERMILION, label_text
from analysis.format.table import joined
from analysis.overview.grid import Overview, Word
from analysis.overview.settings import overviews_of
from analysis.overview.text import cell_text
from analysis.results.card_picture import MAX_LETTERS
from analysis.verdict.model import Findings

# More lines than that are no picture for a small file.
_MAX_LINES = 60
_MAX_COLUMNS = 12
# Inches.
_CELL, _LINE, _LABEL, _EDGE = 1.15, 0.26, 2.4, 0.1
_FACES: dict[Word, str] = {
    "better": BLUE, "worse": VERMILION, "equivalent": PALE, "undecided": "white",
    "baseline": "white", "mean": "white", "left out": "white",
}  # fmt: skip
_DARK = ("better", "worse")
# Declarations and metadata, which say nothing of the results.
_NOT_PICTURE = re.compile(r"<\?.*?\?>|<!.*?>|<metadata>.*?</metadata>", re.DOTALL)


def picture_of(findings: Findings) -> str | None:
    """Return the picture as SVG; None where there is too much for one, or nothing."""
    overviews = overviews_of(findings)
    if not overviews or not overviews[0].settings or not overviews[0].columns:
        return None
    overview = overviews[0]
    if len(overview.settings) > _MAX_LINES or len(overview.columns) > _MAX_COLUMNS:
        return None
    svg = _svg(_figure(overview))
    return svg if len(svg) <= MAX_LETTERS else None


def _figure(overview: Overview) -> Figure:
    columns, settings = overview.columns, overview.settings
    width = 2 * _EDGE + _LABEL + _CELL * len(columns)
    height = 2 * _EDGE + _LINE * (len(settings) + 2)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    objective = overview.first
    under = f"governor {overview.governor}" if overview.governor else ""
    text = joined((f"{objective.noun} against the baseline in %, 95 % intervals", under))
    axes.text(_EDGE, _EDGE + _LINE / 2, label_text(text, 110), va="center", color=GREY)
    for at, column in enumerate(columns):
        left = _EDGE + _LABEL + (at + 0.5) * _CELL
        axes.text(left, _EDGE + 1.5 * _LINE, label_text(column, 20), va="center", ha="center")
    for line, setting in enumerate(settings, 2):
        top = _EDGE + line * _LINE
        axes.text(_EDGE, top + _LINE / 2, label_text(setting.label, 38), va="center")
        for at, column in enumerate(columns):
            cell = setting.cells.get(objective, {}).get(column)
            if cell is None:
                continue
            left = _EDGE + _LABEL + at * _CELL
            axes.add_patch(
                Rectangle(
                    (left, top), _CELL, _LINE, facecolor=_FACES[cell.word],
                    edgecolor=PALE if cell.word == "undecided" else "white",
                    hatch="////" if cell.word == "undecided" else "",
                )
            )  # fmt: skip
            colour = "white" if cell.word in _DARK else "black"
            axes.text(
                left + _CELL / 2, top + _LINE / 2, label_text(cell_text(cell, objective), 24),
                va="center", ha="center", color=colour,
            )  # fmt: skip
    return figure


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _NOT_PICTURE.sub("", stream.getvalue()).strip()
