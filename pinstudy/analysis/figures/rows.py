"""Figures with a row a case: labels at the left, panels beside each other, a dot a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from pinstudy.analysis.figures.drawing import Tooltips
from pinstudy.analysis.figures.style import (
    BINDING_NAMES,
    BINDINGS,
    BLACK,
    GREY,
    PALE,
    ROW,
    SCREEN,
    SELECTION_STYLES,
    WIDTH,
    Layout,
    SelectionStyle,
    cores_of,
    kind_style,
    mapping_looks,
    marker_of,
    marker_style,
    selection_style,
    shortened,
    text_width,
    wrap,
)
from pinstudy.analysis.format.numbers import three_digits
from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.sample import Array, Interval
from pinstudy.analysis.verdict.model import CaseFinding
from pinstudy.analysis.words import report as words
from pinstudy.base.text import one_line

# The good runs of each case, by case_id, with the columns of `pinstudy.analysis.records.runs`.
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

PUBLISHED = "published, another machine"

_TITLE_IN, LINE_IN, _AXIS_IN, LEGEND_IN = 0.1, 0.16, 0.28, 0.18
# The part of the width that labels may take; in a narrower figure panels stand below each other.
_LABELS, _STACKED = 0.5, 5.0
_GAP_IN, _RIGHT_IN = 0.22, 0.14
# What an entry of the legend takes beside its words, and their size.
ENTRY_IN, _LEGEND_SIZE = 0.44, 7.5


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
    layout: Layout = SCREEN,
    row_height: float = ROW,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row a case, a legend, and labelled panels.

    Each panel has a title and a share of the width; `room` is kept free at its right, in inches,
    for words, and `row_height` is in inches. Panels stand one below the other where they would be
    too narrow.
    """
    width = layout.wide()
    labels = _labels(cases, layout)
    left = 0.15 + max((text_width(label) for label in labels), default=0.0)
    gap = _GAP_IN + room
    is_stacked = len(panels) > 1 and width < _STACKED
    inside = width - left - _RIGHT_IN - room - (0.0 if is_stacked else gap * (len(panels) - 1))
    shares = sum(share for _, share in panels)
    wide = [inside if is_stacked else inside * share / shares for _, share in panels]
    names = [wrap(name, inches) for (name, _), inches in zip(panels, wide, strict=True)]
    title_lines = layout.title_lines(title, width)
    head = _TITLE_IN + LINE_IN * max(map(len, names))
    body = row_height * (len(cases) + 0.4)
    lines = len(panels) if is_stacked else 1
    foot = _AXIS_IN + LEGEND_IN * legend_lines(entries, width) + 0.06
    top = (_TITLE_IN if title_lines else 0.0) + LINE_IN * len(title_lines)
    height = top + lines * (head + body) + (lines - 1) * _AXIS_IN + foot
    figure = Figure(figsize=(width, height))
    put_title(figure, title_lines)
    axes = []
    for number, (name, inches) in enumerate(zip(names, wide, strict=True)):
        line = number if is_stacked else 0
        start = left + (0.0 if is_stacked else sum(wide[:number]) + gap * number)
        low = height - top - (line + 1) * (head + body) - line * _AXIS_IN
        panel = figure.add_axes((start / width, low / height, inches / width, body / height))
        _prepare(panel, "\n".join(name), cases)
        axes.append(panel)
        if is_stacked or number == 0:
            _label_rows(panel, labels)
    put_legend(figure, entries)
    return figure, axes


def _labels(cases: Sequence[CaseFinding], layout: Layout) -> list[str]:
    """Return the rows' labels; what all rows share goes first where there is no room."""
    most = _LABELS * layout.wide()
    labels = [case_label(case, layout) for case in cases]
    if any(text_width(label) > most for label in labels):
        starts, breaks, ends = zip(*(label.rpartition(" (") for label in labels), strict=True)
        if all(breaks) and len(set(ends)) == 1:
            labels = list(starts)
    return [shortened(label, most) for label in labels]


def _label_rows(axes: Axes, labels: Sequence[str]) -> None:
    for row, label in enumerate(labels):
        axes.annotate(label, (0, row), (-5, 0), xycoords=axes.get_yaxis_transform(),
                      textcoords="offset points", ha="right", va="center",
                      annotation_clip=False)  # fmt: skip


def case_label(case: CaseFinding, layout: Layout) -> str:
    """Return a case's label with the layout's names in it."""
    if not layout.names:
        return case.label
    key = case.summary.key
    mapping = layout.name(key.mapping)
    if key.in_guest:
        mapping = f"vCPUs {layout.name(str(key.vcpu_mapping))}, {mapping}"
    beside = f" beside {layout.name(key.co_runner)}" if key.co_runner else ""
    parts = filter(None, (key.setting_words, case.governor))
    under = ", ".join(shown_settings(part, layout) for part in parts)
    return one_line(f"#{case.number} {mapping}{beside} ({under})")


def shown_mapping(mapping: str, layout: Layout) -> str:
    """Return a mapping's name in the figure; of a guest's, those of its two parts."""
    if mapping in layout.names:
        return one_line(layout.name(mapping))
    return one_line("/".join(map(layout.name, mapping.split("/"))))


def shown_settings(settings: str, layout: Layout) -> str:
    """Return the names in the figure of settings that stand behind each other."""
    return one_line(", ".join(map(layout.name, settings.split(", "))))


def put_title(figure: Figure, lines: Sequence[str]) -> None:
    """Put a figure's title, in lines, at its top left."""
    width, height = figure.get_size_inches()
    if lines:
        where = 0.08 / width, 1 - 0.06 / height
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


def gid_of(axes: Axes, name: str) -> str:
    """Return the id of marks that no other panel of the figure has."""
    return f"{name}-{axes.figure.axes.index(axes)}"


def tooltip(label: str, value: float, unit: str = "", interval: Interval | None = None) -> str:
    """Return what a mark says: `#2 pcores-set (performance): 2.5 ms (2.4 to 2.6 ms)`."""
    behind = f" {unit}" if unit else ""
    text = f"{label}: {three_digits(value)}{behind}"
    if interval is None or interval.tells_nothing:
        return text
    return f"{text} ({three_digits(interval.low)} to {three_digits(interval.high)}{behind})"


def draw_runs(
    axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, column: str, unit: str
) -> tuple[str, Tooltips]:
    """Draw a dot for each run.

    Returns the caption's sentence if not all of them are shown, and the dots' tooltips by gid.
    """
    values_by_case = [values_of(runs, case, column) for case in cases]
    total = sum(len(values) for _, values in values_by_case)
    step = -(-total // MAX_DOTS) or 1
    dots: dict[tuple[SelectionStyle, str], list[tuple[Array, Array]]] = {}
    said: dict[tuple[SelectionStyle, str], list[str]] = {}
    for row, (case, (repetitions, values)) in enumerate(zip(cases, values_by_case, strict=True)):
        y = row + jitter(repetitions)
        dots.setdefault(look(case), []).append((values[::step], y[::step]))
        said.setdefault(look(case), []).extend(
            tooltip(words.RUN.format(case=case.label, run=repetition), value, unit)
            for repetition, value in zip(repetitions[::step], values[::step], strict=True)
        )
    for number, ((style, marker), parts) in enumerate(dots.items()):
        axes.scatter(
            np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]),
            s=11, marker=marker, facecolor=style.face, edgecolor=style.colour, linewidth=0.6,
            alpha=0.75, zorder=2, rasterized=total > MAX_DRAWN_DOTS,
            gid=gid_of(axes, f"runs-{number}"),
        )  # fmt: skip
    tooltips = {gid_of(axes, f"runs-{at}"): texts for at, texts in enumerate(said.values())}
    return some_runs(step, total), tooltips


def some_runs(step: int, total: int) -> str:
    """Return that one run in `step` is shown; empty when all are."""
    return f"One run in {step} is shown, {total} were made." if step > 1 else ""


def draw_bars(
    axes: Axes,
    cases: Sequence[CaseFinding],
    values: Mapping[int, float],
    intervals: Sequence[Interval | None],
    unit: str = "",
    down: float = 0.0,
) -> Tooltips:
    """Draw means, by row, with bars to both ends of their intervals; return their tooltips.

    They stand so far below the middles of their rows.
    """
    reaches = [reach(*of_row) for of_row in zip(values.values(), intervals, strict=True)]
    means, *_ = axes.errorbar(
        list(values.values()), np.array(list(values)) + down,
        xerr=np.reshape(reaches, (-1, 2)).T, markeredgewidth=0.9, elinewidth=1.3, capsize=2.0,
        zorder=4, **MEAN,
    )  # fmt: skip
    means.set_gid(gid_of(axes, "means"))
    return {
        gid_of(axes, "means"): [
            tooltip(cases[row].label, value, unit, interval)
            for (row, value), interval in zip(values.items(), intervals, strict=True)
        ]
    }


def reach(value: float, interval: Interval | None) -> tuple[float, float]:
    """Return how far an interval reaches down and up from a value; 0 where there is none."""
    if interval is None:
        return 0.0, 0.0
    return max(value - interval.low, 0.0), max(interval.high - value, 0.0)


def draw_by_kind(axes: Axes, cases: Sequence[CaseFinding], values: ByKind, unit: str) -> Tooltips:
    """Draw values by core kind and row as dots; return their tooltips."""
    for kind, of_kind in values.items():
        axes.plot(
            list(of_kind.values()), list(of_kind), zorder=3, gid=gid_of(axes, f"dots-{kind}"),
            **kind_style(kind).dots,
        )  # fmt: skip
    return {
        gid_of(axes, f"dots-{kind}"): _said_of(cases, kind, of_kind, unit)
        for kind, of_kind in values.items()
    }


def _said_of(
    cases: Sequence[CaseFinding], kind: str, values: Mapping[int, float], unit: str
) -> list[str]:
    return [
        tooltip(words.ON_KIND.format(case=cases[row].label, cores=cores_of(kind)), value, unit)
        for row, value in values.items()
    ]


def draw_stacked(axes: Axes, cases: Sequence[CaseFinding], values: ByKind, unit: str) -> Tooltips:
    """Draw values by core kind as bars, one behind the other; return their tooltips."""
    ends = [0.0] * len(cases)
    tooltips: dict[str, str] = {}
    for kind, of_kind in values.items():
        # A bar without width would still have an edge.
        drawn = {row: value for row, value in of_kind.items() if value}
        bars = axes.barh(
            list(drawn), list(drawn.values()), left=[ends[row] for row in drawn], height=0.62,
            linewidth=0.7, zorder=2, **kind_style(kind).areas,
        )  # fmt: skip
        tooltips |= name_bars(axes, bars, f"bar-{kind}", _said_of(cases, kind, drawn, unit))
        for row, value in drawn.items():
            ends[row] += value
    return tooltips


def name_bars(
    axes: Axes, bars: Iterable[Artist], name: str, texts: Iterable[str]
) -> dict[str, str]:
    """Give bars ids of their own; return their tooltips."""
    tooltips = {}
    for number, (bar, text) in enumerate(zip(bars, texts, strict=True)):
        gid = gid_of(axes, f"{name}-{number}")
        bar.set_gid(gid)
        tooltips[gid] = text
    return tooltips


def write_beside(axes: Axes, texts: Mapping[int, str]) -> None:
    """Write texts, by row, at the right of the panel."""
    for row, text in texts.items():
        axes.text(
            1.01, row, text, transform=axes.get_yaxis_transform(),
            va="center", ha="left", fontsize=7,
        )  # fmt: skip


def draw_stars(
    axes: Axes, values: Mapping[int, float], unit: str = "", up: float = 0.0
) -> Tooltips:
    """Draw what was published, by row, as hollow stars; return their tooltips.

    They stand `up` from the rows' middles.
    """
    gid = gid_of(axes, "stars")
    axes.plot(list(values.values()), [row - up for row in values], zorder=5, gid=gid, **_STAR)
    return {gid: [tooltip(PUBLISHED, value, unit) for value in values.values()]}


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


def mapping_entries(mappings: Iterable[str], layout: Layout, most: float) -> list[Entry]:
    """Return the legend's entries for mappings, whose names take so many inches at most."""
    return [
        entry(
            shortened(shown_mapping(mapping, layout), most, _LEGEND_SIZE),
            marker_style(marker, 5, colour, colour),
        )
        for mapping, (colour, marker) in mapping_looks(mappings).items()
    ]


def area_entry(label: str, kind: str) -> Patch:
    """Return a legend's entry for the bars or patches of a core kind."""
    return Patch(linewidth=0.7, label=label, **kind_style(kind).areas)


def mean_entry(label: str) -> Line2D:
    """Return the legend's entry for means, or other numbers, with their intervals."""
    return entry(label, {**MEAN, "linestyle": "-", "linewidth": 1.4})


def star_entry() -> Line2D:
    """Return the legend's entry for what was published."""
    return entry(PUBLISHED, _STAR)


def legend_lines(entries: Sequence[Entry], width: float = WIDTH) -> int:
    """Return how many lines a legend takes: its columns are as wide as their longest words."""
    wide = [ENTRY_IN + text_width(str(entry.get_label()), _LEGEND_SIZE) for entry in entries]
    for lines in range(1, len(wide)):
        columns = [wide[at : at + lines] for at in range(0, len(wide), lines)]
        if sum(map(max, columns)) <= width - 0.05:
            # In so many columns the legend may need fewer lines.
            return -(-len(wide) // len(columns))
    return len(wide)


def put_legend(figure: Figure, entries: Sequence[Entry]) -> None:
    """Put the legend below all panels, in as many lines as it takes."""
    if not entries:
        return
    columns = -(-len(entries) // legend_lines(entries, figure.get_figwidth()))
    figure.legend(
        handles=list(entries), loc="lower left", bbox_to_anchor=(0.005, 0.0), ncols=columns,
        handletextpad=0.3, columnspacing=1.2, borderpad=0.3, labelspacing=0.35,
    )  # fmt: skip
