"""Figures with a row a case: labels at the left, panels beside each other, a dot a run."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

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
    PALE,
    ROW,
    SELECTION_STYLES,
    WIDTH,
    SelectionStyle,
    kind_style,
    label_text,
    marker_of,
    marker_style,
    selection_style,
)
from analysis.records.runs import good_runs
from analysis.results.sources import Results
from analysis.statistics.sample import Interval
from analysis.verdict.model import CaseFinding

Array = NDArray[np.float64]
# The good runs of each case, by case_id, with the columns of `analysis.records.runs`.
RunsByCase = Mapping[str, pd.DataFrame]
# Values by core kind and row.
ByKind = Mapping[str, Mapping[int, float]]
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
# Above a marker that it would hide otherwise, as a part of a row's height.
STAR_UP = 0.28
# Where values differ more than that, a linear axis would show only the largest.
MAX_RATIO = 30.0
MEAN = marker_style("D", 3.2, BLACK, "white")
_STAR = marker_style("*", 9, BLACK, "white") | {"markeredgewidth": 0.8}

_TITLE_LETTERS = 105
_TITLE_IN, LINE_IN, _PANEL_TITLE_IN, _AXIS_IN, LEGEND_IN = 0.1, 0.16, 0.24, 0.28, 0.18
_GAP_IN, _RIGHT_IN = 0.22, 0.14
# What an entry of the legend takes beside its words, and a letter of these.
_ENTRY_IN, _LEGEND_LETTER = 0.42, 0.06


def runs_by_case(results: Results) -> RunsByCase:
    """Return the runs that are averaged, by case; none of results that have no runs."""
    if results.runs is None:
        return {}
    good = good_runs(results.runs.frame)
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


def row_figure(
    title: str,
    cases: Sequence[CaseFinding],
    panels: Sequence[tuple[str, float]],
    entries: Sequence[Entry],
    room: float = 0.0,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row a case, a legend, and panels, the first of which is labelled.

    Each panel has a title and a share of the width; `room` is kept free at its right, in inches,
    for words.
    """
    lines = title_lines(title)
    labels = [label_text(case.label) for case in cases]
    top = _TITLE_IN + LINE_IN * len(lines) + _PANEL_TITLE_IN
    bottom = _AXIS_IN + LEGEND_IN * legend_lines(entries) + 0.06
    body = ROW * (len(cases) + 0.4)
    height = top + body + bottom
    left = 0.15 + LETTER * max(map(len, labels), default=0)
    right, gap = _RIGHT_IN + room, _GAP_IN + room
    width = (WIDTH - left - right - gap * (len(panels) - 1)) / len(panels)
    figure = Figure(figsize=(WIDTH, height))
    put_title(figure, lines)
    axes = figure.subplots(
        1, len(panels), squeeze=False, width_ratios=[share for _, share in panels],
        gridspec_kw={"left": left / WIDTH, "right": 1 - right / WIDTH, "wspace": gap / width,
                     "bottom": bottom / height, "top": 1 - top / height},
    )[0]  # fmt: skip
    for panel, (name, _) in zip(axes, panels, strict=True):
        _prepare(panel, name, cases)
    for row, label in enumerate(labels):
        axes[0].annotate(label, (0, row), (-5, 0), xycoords=axes[0].get_yaxis_transform(),
                         textcoords="offset points", ha="right", va="center",
                         annotation_clip=False)  # fmt: skip
    put_legend(figure, entries)
    return figure, list(axes)


def title_lines(
    title: str, letters: int = _TITLE_LETTERS, most: int = 3 * _TITLE_LETTERS
) -> list[str]:
    """Return a title from a record in lines of so many letters, of `most` letters in all."""
    return textwrap.wrap(label_text(title, most), letters)


def put_title(figure: Figure, lines: Sequence[str]) -> None:
    """Put a figure's title, in lines, at its top left."""
    width, height = figure.get_size_inches()
    where = 0.1 / width, 1 - _TITLE_IN / height
    figure.text(*where, "\n".join(lines), va="top", ha="left", weight="bold")


def _prepare(axes: Axes, title: str, cases: Sequence[CaseFinding]) -> None:
    axes.set_title(title, pad=5)
    axes.set_ylim(len(cases) - 0.3, -0.7)
    axes.spines["left"].set_visible(False)
    # Ticks would draw the same and take most of a figure's time.
    axes.set_yticks([])
    axes.hlines(
        range(len(cases)), 0, 1, transform=axes.get_yaxis_transform(), color=PALE, linewidth=0.5
    )
    for row in range(1, len(cases)):
        if _settings(cases[row]) != _settings(cases[row - 1]):
            axes.axhline(row - 0.5, color=GREY, linewidth=0.7)


def _settings(case: CaseFinding) -> tuple[str, str, str | None]:
    return case.governor, case.summary.key.setting_words, case.summary.key.co_runner


def label_empty_rows(
    axes: Axes, cases: Sequence[CaseFinding | None], drawn: Collection[int]
) -> None:
    """Write in two words why nothing is drawn into the rows of the other cases."""
    for row, case in enumerate(cases):
        if row in drawn:
            continue
        text = "n/a"
        if case is not None and case.summary.was_skipped:
            text = "left out"
        elif case is not None and not case.summary.has_runs:
            text = "no good run"
        axes.text(
            0.01, row, text, transform=axes.get_yaxis_transform(),
            va="center", ha="left", color=GREY, style="italic", fontsize=7,
        )  # fmt: skip


def draw_runs(axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, column: str) -> str:
    """Draw a dot for each run; return the caption's sentence if not all of them are shown."""
    values_by_case = [values_of(runs, case, column) for case in cases]
    total = sum(len(values) for _, values in values_by_case)
    step = -(-total // MAX_DOTS) or 1
    dots: dict[tuple[SelectionStyle, str], list[tuple[Array, Array]]] = {}
    for row, (case, (repetitions, values)) in enumerate(zip(cases, values_by_case, strict=True)):
        y = row + jitter(repetitions)
        dots.setdefault(look(case), []).append((values[::step], y[::step]))
    for (style, marker), parts in dots.items():
        axes.scatter(
            np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]),
            s=11, marker=marker, facecolor=style.face, edgecolor=style.colour, linewidth=0.6,
            alpha=0.75, zorder=2, rasterized=total > MAX_DRAWN_DOTS,
        )  # fmt: skip
    return some_runs(step, total)


def some_runs(step: int, total: int) -> str:
    """Return that one run in `step` is shown; empty when all are."""
    return f"One run in {step} is shown, {total} were made." if step > 1 else ""


def draw_bars(
    axes: Axes,
    values: Mapping[int, float],
    intervals: Iterable[Interval | None],
    down: float = 0.0,
) -> None:
    """Draw means, by row, with bars to both ends of their intervals.

    They stand so far below the middles of their rows.
    """
    reaches = [reach(*of_row) for of_row in zip(values.values(), intervals, strict=True)]
    axes.errorbar(
        list(values.values()), np.array(list(values)) + down,
        xerr=np.reshape(reaches, (-1, 2)).T, markeredgewidth=0.9, elinewidth=1.3, capsize=2.0,
        zorder=4, **MEAN,
    )  # fmt: skip


def reach(value: float, interval: Interval | None) -> tuple[float, float]:
    """Return how far an interval reaches down and up from a value; 0 where there is none."""
    if interval is None:
        return 0.0, 0.0
    return max(value - interval.low, 0.0), max(interval.high - value, 0.0)


def draw_by_kind(axes: Axes, values: ByKind) -> None:
    """Draw values by core kind and row as dots."""
    for kind, of_kind in values.items():
        axes.plot(list(of_kind.values()), list(of_kind), zorder=3, **kind_style(kind).dots)


def draw_stacked(axes: Axes, values: ByKind, count: int) -> list[float]:
    """Draw values by core kind as bars, one behind the other; return where each row's end."""
    ends = [0.0] * count
    for kind, of_kind in values.items():
        # A bar without width would still have an edge.
        drawn = {row: value for row, value in of_kind.items() if value}
        axes.barh(
            list(drawn), list(drawn.values()), left=[ends[row] for row in drawn], height=0.62,
            linewidth=0.7, zorder=2, **kind_style(kind).areas,
        )  # fmt: skip
        for row, value in drawn.items():
            ends[row] += value
    return ends


def write_beside(axes: Axes, texts: Mapping[int, str]) -> None:
    """Write texts, by row, at the right of the panel."""
    for row, text in texts.items():
        axes.text(
            1.01, row, text, transform=axes.get_yaxis_transform(),
            va="center", ha="left", fontsize=7,
        )  # fmt: skip


def draw_stars(axes: Axes, values: Mapping[int, float], up: float = 0.0) -> None:
    """Draw what was published, by row, as hollow stars; `up` from the rows' middles."""
    axes.plot(list(values.values()), [row - up for row in values], zorder=5, **_STAR)


def scale_for(axes: Axes, values: Iterable[float]) -> None:
    """Make an axis logarithmic where the values need it."""
    positive = [value for value in values if value > 0]
    if positive and max(positive) > MAX_RATIO * min(positive):
        axes.set_xscale("log")


def mean_down(runs: RunsByCase) -> float:
    """Return how far below its row's middle a mean stands: nowhere where no dots are."""
    return MEAN_DOWN if runs else 0.0


def look(case: CaseFinding) -> tuple[SelectionStyle, str]:
    """Return style and marker of a case: of its mapping onto the node's CPUs."""
    placing = case.summary.key.placing
    return selection_style(placing.selection), marker_of(placing.binding)


def case_entries(shown: Iterable[CaseFinding]) -> list[Line2D]:
    """Return the legend's entries for the selections and bindings of cases."""
    placed = [look(case) for case in shown]
    selections, markers = {style for style, _ in placed}, {marker for _, marker in placed}
    return [
        *(entry(style.name, marker_style("o", 5, style.colour, style.face))
          for style in SELECTION_STYLES if style in selections),
        *(entry(BINDING_NAMES[binding], marker_style(marker, 5, BLACK, PALE))
          for binding, marker in BINDINGS.items() if marker in markers),
    ]  # fmt: skip


def entry(label: str, style: Mapping[str, Any]) -> Line2D:
    """Return a legend's entry for markers or lines that look so."""
    return Line2D([], [], label=label, **style)


def area_entry(label: str, kind: str) -> Patch:
    """Return a legend's entry for the bars or patches of a core kind."""
    return Patch(linewidth=0.7, label=label, **kind_style(kind).areas)


def mean_entry(label: str) -> Line2D:
    """Return the legend's entry for means, or other numbers, with their intervals."""
    return entry(label, {**MEAN, "linestyle": "-", "linewidth": 1.4})


def star_entry() -> Line2D:
    """Return the legend's entry for what was published."""
    return entry("published, another machine", _STAR)


def legend_lines(entries: Sequence[Entry], width: float = WIDTH) -> int:
    """Return how many lines a legend takes: its columns are as wide as their longest words."""
    labels = [str(entry.get_label()) for entry in entries]
    for lines in range(1, len(labels)):
        columns = [labels[at : at + lines] for at in range(0, len(labels), lines)]
        wide = sum(_ENTRY_IN + _LEGEND_LETTER * max(map(len, column)) for column in columns)
        if wide <= width:
            return lines
    return len(labels)


def put_legend(figure: Figure, entries: Sequence[Entry]) -> None:
    """Put the legend below all panels, in as many lines as it takes."""
    if not entries:
        return
    columns = -(-len(entries) // legend_lines(entries, figure.get_figwidth()))
    figure.legend(
        handles=list(entries), loc="lower left", bbox_to_anchor=(0.005, 0.0), ncols=columns,
        handletextpad=0.3, columnspacing=1.2, borderpad=0.3, labelspacing=0.35,
    )  # fmt: skip
