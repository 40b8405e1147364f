"""Figures of made-up results, and what is seen on them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.figures.drawing import Drawing, NotDrawn
from pinstudy.analysis.figures.gallery import FIGURES, Wanted, all_figures, kind_of
from pinstudy.analysis.results.sources import open_results
from tests.support.results import Record, write

Figures = dict[str, Drawing | NotDrawn]
# Wants to be a formula, a program, a terminal's command and a text that runs backwards.
HOSTILE = "$\\frac{1}$ <script>\u202e\x1b[31m\U0001f4a9" + "x" * 500


def figures_of(folder: Path | str, records: Iterable[Record] = (), like: str = "") -> Figures:
    """Return figures of results by name, all or those of the kind of one; of records, if any."""
    if records:
        write(Path(folder), records)
    results = open_results(str(folder))
    wanted = Wanted([kind_of(like)] if like else FIGURES)
    return {drawn.name: drawn for drawn in all_figures(results, analyze(results), wanted)}


def drawing(figures: Figures, name: str) -> Drawing:
    drawn = figures[name]
    assert isinstance(drawn, Drawing)
    return drawn


def dots(figure: Figure, panel: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return x and y of the dots of runs of a panel; outliers' rings, of another size, are none."""
    scattered = [c for c in figure.axes[panel].collections if isinstance(c, PathCollection)]
    runs = [c for c in scattered if c.get_sizes()[0] < 20]
    return np.concatenate([np.asarray(c.get_offsets()) for c in runs])


def texts(figure: Figure) -> list[str]:
    """Return what stands beside and in the panels."""
    return [text.get_text() for axes in figure.axes for text in axes.texts]
