"""Figures with a row a case: labels at the left, panels beside each other, a dot a run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from analysis.figures.style import (
    BINDING_NAMES,
    BINDINGS,
    BLACK,
    GREY,
    LETTER,
    LOOKS,
    PALE,
    ROW,
    WIDTH,
    Look,
    label_text,
    look_of,
    marker_of,
    new_figure,
)
from analysis.results.runs import good_runs
from analysis.statistics.sample import Sample
from analysis.verdict.model import CaseFinding

Array = NDArray[np.float64]
# The good runs of each case, by case_id, with the columns of `analysis.results.runs`.
RunsByCase = Mapping[str, pd.DataFrame]
# What stands in a legend.
Entry = Line2D | Patch

# More dots than that on one panel hide each other: of each case a part is shown, evenly.
MAX_DOTS = 3000
# From so many dots on a bitmap is smaller than vector graphics.
MAX_DRAWN_DOTS = 500
# Parts of a row's height: over which dots are spread, so that equal ones are seen; by which dots
# stand above the row's middle, and the mean below it.
SPREAD = 0.42
DOTS_UP, MEAN_DOWN = 0.13, 0.25
# Steps of the golden section fall evenly however many there are.
_GOLDEN = 0.6180339887498949
# Where values differ more than that, a linear axis would show only the largest.
MAX_RATIO = 30.0

_TITLE_LETTERS = 105
_TITLE_IN, _LINE_IN, _PANEL_TITLE_IN, _AXIS_IN, LEGEND_IN = 0.1, 0.16, 0.24, 0.28, 0.18
_GAP_IN, _RIGHT_IN = 0.22, 0.14
# What an entry of the legend takes beside its words, and a letter of these.
_ENTRY_IN, _LEGEND_LETTER = 0.42, 0.06


def runs_by_case(frame: pd.DataFrame) -> RunsByCase:
    """Return the runs that are averaged, by case."""
    good = good_runs(frame)
    return {str(case): runs for case, runs in good.groupby("case_id", sort=False, observed=True)}


def values_of(runs: RunsByCase, case: CaseFinding, column: str) -> tuple[NDArray[np.int64], Array]:
    """Return repetitions and values of a case's runs that have a value."""
    frame = runs.get(case.case_id)
    if frame is None or column not in frame:
        return np.empty(0, dtype=np.int64), np.empty(0)
    values = frame[column].to_numpy(dtype=float)
    known = np.isfinite(values)
    repetitions = frame["repetition"].to_numpy(dtype=float, na_value=0.0)
    return repetitions[known].astype(np.int64), values[known]


def jitter(repetitions: NDArray[np.int64]) -> Array:
    """Return how far from its row's middle each run stands; the same run always stands there."""
    return np.asarray((repetitions * _GOLDEN % 1.0 - 0.5) * SPREAD - DOTS_UP, dtype=float)


@dataclass(frozen=True)
class Panel:
    """One of the panels beside each other: its title, its share of the width.

    `room` is kept free at its right, in inches, for words.
    """

    title: str
    share: float = 1.0
    room: float = 0.0


def row_figure(
    title: str, cases: Sequence[CaseFinding], panels: Sequence[Panel], entries: Sequence[Entry]
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row a case, its panels and a legend; the first panel is labelled."""
    titles = textwrap.wrap(label_text(title, 3 * _TITLE_LETTERS), _TITLE_LETTERS)
    labels = [label_text(case.label) for case in cases]
    top = _TITLE_IN + _LINE_IN * len(titles) + _PANEL_TITLE_IN
    bottom = _AXIS_IN + LEGEND_IN * legend_lines(entries) + 0.06
    body = ROW * (len(cases) + 0.4)
    height = top + body + bottom
    left = 0.15 + LETTER * max(map(len, labels), default=0)
    width = WIDTH - left - _RIGHT_IN - _GAP_IN * (len(panels) - 1)
    figure = new_figure(height)
    put_title(figure, titles)
    whole, at, axes = sum(panel.share for panel in panels), left, []
    for panel in panels:
        wide = width * panel.share / whole
        box = (at / WIDTH, bottom / height, (wide - panel.room) / WIDTH, body / height)
        axes.append(_axes(figure, box, panel, cases))
        at += wide + _GAP_IN
    for row, label in enumerate(labels):
        axes[0].annotate(label, (0, row), (-5, 0), xycoords=axes[0].get_yaxis_transform(),
                         textcoords="offset points", ha="right", va="center",
                         annotation_clip=False)  # fmt: skip
    put_legend(figure, entries)
    return figure, axes


def put_title(figure: Figure, lines: Sequence[str]) -> None:
    """Put a figure's title, in lines, at its top left."""
    width, height = figure.get_size_inches()
    where = 0.1 / width, 1 - _TITLE_IN / height
    figure.text(*where, "\n".join(lines), va="top", ha="left", weight="bold")


def _axes(
    figure: Figure,
    box: tuple[float, float, float, float],
    panel: Panel,
    cases: Sequence[CaseFinding],
) -> Axes:
    axes = figure.add_axes(box)
    axes.set_title(panel.title, pad=5)
    axes.set_ylim(len(cases) - 0.3, -0.7)
    axes.spines["left"].set_visible(False)
    # Ticks would draw the same and take most of a figure's time.
    axes.set_yticks([])
    axes.hlines(
        range(len(cases)), 0, 1, transform=axes.get_yaxis_transform(), color=PALE, linewidth=0.5
    )
    for row in range(1, len(cases)):
        if cases[row].governor != cases[row - 1].governor:
            axes.axhline(row - 0.5, color=GREY, linewidth=0.7)
    return axes


def put_words(axes: Axes, row: int, words: str) -> None:
    """Write into a row why nothing is drawn there."""
    axes.text(
        0.01, row, words, transform=axes.get_yaxis_transform(),
        va="center", ha="left", color=GREY, style="italic", fontsize=7,
    )  # fmt: skip


def why_empty(case: CaseFinding) -> str:
    """Return in two words why a case has no numbers."""
    if case.summary.left_out is not None:
        return "left out"
    return "n/a" if case.summary.has_runs else "no good run"


def draw_runs(axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, column: str) -> str:
    """Draw a dot for each run; return what has to be said when not all of them are shown."""
    found = [values_of(runs, case, column) for case in cases]
    total = sum(len(values) for _, values in found)
    step = -(-total // MAX_DOTS) or 1
    dots: dict[tuple[Look, str], list[tuple[Array, Array]]] = {}
    for row, (case, (repetitions, values)) in enumerate(zip(cases, found, strict=True)):
        y = row + jitter(repetitions)
        key = look_of(case.summary.selection), marker_of(case.summary.binding)
        dots.setdefault(key, []).append((values[::step], y[::step]))
    for (look, marker), parts in dots.items():
        axes.scatter(
            np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]),
            s=11, marker=marker, facecolor=look.face, edgecolor=look.colour, linewidth=0.6,
            alpha=0.75, zorder=2, rasterized=total > MAX_DRAWN_DOTS,
        )  # fmt: skip
    return f"one run in {step} is shown, {total} were made" if step > 1 else ""


def reach(samples: Sequence[Sample]) -> Array:
    """Return how far the intervals of means reach down and up (two rows); 0 where there is none."""
    ends = [
        (0.0, 0.0)
        if sample.mean_interval is None
        else (
            max(sample.mean - sample.mean_interval.low, 0.0),
            max(sample.mean_interval.high - sample.mean, 0.0),
        )
        for sample in samples
    ]
    return np.array(ends, dtype=float).T


def scale_for(axes: Axes, values: Iterable[float]) -> None:
    """Make an axis logarithmic where the values need it."""
    positive = [value for value in values if value > 0]
    if positive and max(positive) > MAX_RATIO * min(positive):
        axes.set_xscale("log")


def mean_down(runs: RunsByCase) -> float:
    """Return how far below its row's middle a mean stands: nowhere where no dots are."""
    return MEAN_DOWN if runs else 0.0


def looks_of(cases: Sequence[CaseFinding], runs: RunsByCase) -> list[Line2D]:
    """Return the legend's entries for the selections and bindings of the dots."""
    return looks_of_cases([case for case in cases if case.case_id in runs])


def looks_of_cases(shown: Sequence[CaseFinding]) -> list[Line2D]:
    """Return the legend's entries for the selections and bindings of these cases."""
    selections = {look_of(case.summary.selection) for case in shown}
    markers = {marker_of(case.summary.binding) for case in shown}
    entries = [
        Line2D([], [], linestyle="", marker="o", markersize=5, color=look.colour,
               markerfacecolor=look.face, label=look.name)
        for look in LOOKS if look in selections
    ]  # fmt: skip
    return entries + [
        Line2D([], [], linestyle="", marker=marker, markersize=5, color=BLACK,
               markerfacecolor=PALE, label=BINDING_NAMES[binding])
        for binding, marker in BINDINGS.items() if marker in markers
    ]  # fmt: skip


def legend_lines(entries: Sequence[Entry]) -> int:
    """Return how many lines a legend takes: its columns are as wide as their longest words."""
    words = [str(entry.get_label()) for entry in entries]
    for lines in range(1, len(words)):
        columns = [words[at : at + lines] for at in range(0, len(words), lines)]
        wide = sum(_ENTRY_IN + _LEGEND_LETTER * max(map(len, column)) for column in columns)
        if wide <= WIDTH:
            return lines
    return max(len(words), 1)


def put_legend(figure: Figure, entries: Sequence[Entry]) -> None:
    """Put the legend below all panels, in as many lines as it takes."""
    columns = -(-len(entries) // legend_lines(entries))
    figure.legend(
        handles=list(entries), loc="lower left", bbox_to_anchor=(0.005, 0.0), ncols=columns,
        handletextpad=0.3, columnspacing=1.2, borderpad=0.3, labelspacing=0.35,
    )  # fmt: skip
