"""A program's cases over the results of a history: medians with intervals, levels and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinstudy.analysis.compare.history import ResultsHistory, Series, labels_in
from pinstudy.analysis.compare.history_tables import changed_lines
from pinstudy.analysis.figures.drawing import Drawing, sentences, slug
from pinstudy.analysis.figures.many_cards import check_figure
from pinstudy.analysis.figures.rows import (
    LEGEND_IN,
    LINE_IN,
    entry,
    gid_of,
    legend_lines,
    put_legend,
    put_title,
    reach,
    tooltip,
)
from pinstudy.analysis.figures.style import (
    BLACK,
    GREY,
    SCREEN,
    Layout,
    mapping_looks,
    marker_style,
    shortened,
)
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.words import report as words
from pinstudy.base.text import plural

TITLE = "Results over time"
# Inches: a panel, its heading, the gap between panels, the axis below, and labels at the left.
_PANEL, _HEAD, _GAP, _AXIS, _LEFT, _RIGHT = 1.9, 0.36, 0.16, 0.4, 0.62, 0.12
# A third line below an axis: the time of results of one day.
_TIME = 0.11
# Cases of one result stand beside each other over this part of the way to the next.
_DODGE = 0.5
_MAX_DAYS = 12
# Per cent.
_LEAST_SPAN = 1.0
_CHANGE_IN = 1.6


def write_history(history: ResultsHistory, path: Path) -> list[Path]:
    """Write a figure a program, in the format of the file's ending; return the paths.

    Of several programs each has its name before the ending. Raises UserError for an ending that
    names no format, and when a file cannot be written.
    """
    check_figure(path)
    programs = grouped(history.series, lambda line: line.app)
    written = []
    for series in programs:
        more = f"-{slug(series[0].app, 'program')}" if len(programs) > 1 else ""
        drawing = draw_history(history, series)
        target = path.with_name(f"{path.stem}{more}{path.suffix}")
        hint = "or name a file in a writable folder with --figure"
        written.append(write_file(target, drawing.data(path.suffix[1:].lower()), hint))
    return written


def draw_history(
    history: ResultsHistory, series: Sequence[Series], layout: Layout = SCREEN
) -> Drawing:
    """Draw the series of a program, a panel a table and objective."""
    panels = grouped(series, lambda line: (line.title, line.objective))
    # The same mapping may be of several tables, in rows of other numbers.
    names = [label.partition(" ")[2] for label in labels_in(series)]
    looks = mapping_looks(names)
    entries = [
        entry(name, marker_style(marker, 4, colour, colour))
        for name, (colour, marker) in looks.items()
    ]
    width = layout.wide()
    lines = layout.title_lines(f"{history.study} on {history.node}", width)
    top = 0.1 + LINE_IN * len(lines)
    times = _TIME * any(" " in day for day in history.days)
    bottom = _AXIS + times + LEGEND_IN * legend_lines(entries, width)
    height = top + bottom + len(panels) * (_HEAD + _PANEL) + (len(panels) - 1) * _GAP
    figure = Figure(figsize=(width, height))
    put_title(figure, lines)
    tooltips: dict[str, list[str]] = {}
    for number, panel in enumerate(panels):
        low = height - top - (number + 1) * (_HEAD + _PANEL) - number * _GAP
        inside = (_LEFT / width, low / height, 1 - (_LEFT + _RIGHT) / width, _PANEL / height)
        axes = figure.add_axes(inside)
        named = {line.label: looks[name] for line, name in zip(series, names, strict=True)}
        tooltips |= _draw_panel(axes, history.days, panel, named)
        table = panel[0].name.removesuffix(panel[0].label).rstrip()
        heading = f"{table}: {panel[0].objective.noun}"
        axes.set_title(shortened(heading, width - _LEFT - _RIGHT), pad=15)
        _label_days(axes, history.days, is_last=number == len(panels) - 1)
    put_legend(figure, entries)
    changes = changed_lines(history)
    alt = sentences(
        f"{plural(len(series), 'case')} over {plural(len(history.entries), 'result')}.",
        f"Change points: {'; '.join(changes)}." if changes else "No change point.",
    )
    return Drawing("history", TITLE, words.HISTORY, alt, figure, tooltips)


def _draw_panel(
    axes: Axes, days: Sequence[str], series: Sequence[Series], looks: Mapping[str, tuple[str, str]]
) -> dict[str, list[str]]:
    tooltips: dict[str, list[str]] = {}
    offsets = (np.arange(len(series)) + 0.5) / len(series) * _DODGE - _DODGE / 2
    places: dict[tuple[int, int], dict[str, None]] = {}
    middles: list[float] = []
    ends: list[float] = []
    for number, (line, offset) in enumerate(zip(series, offsets, strict=True)):
        colour, marker = looks[line.label]
        first = line.levels[0][2]
        x = np.array(line.at) + offset
        y = [100 * (sample.median / first - 1) for sample in line.samples]
        reaches = [
            [100 / first * end for end in reach(sample.median, sample.median_interval)]
            for sample in line.samples
        ]
        middles += y
        ends += [
            end for at, (down, up) in zip(y, reaches, strict=True) for end in (at - down, at + up)
        ]
        marks, *_ = axes.errorbar(
            x, y, yerr=np.transpose(reaches), elinewidth=0.8, zorder=3,
            **marker_style(marker, 3.5, colour, colour),
        )  # fmt: skip
        marks.set_gid(gid_of(axes, f"medians-{number}"))
        tooltips[gid_of(axes, f"medians-{number}")] = [
            tooltip(f"{line.label}, {days[at]}", sample.median,
                    line.objective.unit, sample.median_interval)
            for at, sample in zip(line.at, line.samples, strict=True)
        ]  # fmt: skip
        for begin, end, level in line.levels:
            share = 100 * (level / first - 1)
            axes.hlines(share, x[begin] - 0.2, x[end - 1] + 0.2, color=colour, linewidth=0.9)
        for change in line.changes:
            names = dict.fromkeys(fact.partition(":")[0] for fact in change.facts)
            places.setdefault((change.before, change.after), {}).update(names)
    for (before, after), facts in places.items():
        axes.axvline((before + after) / 2, color=BLACK, linewidth=0.8, linestyle="--", zorder=1)
        text = shortened(", ".join(facts) or words.NO_FACT, _CHANGE_IN, 6.5)
        axes.annotate(text, ((before + after) / 2, 1), (0, 2), textcoords="offset points",
                      xycoords=axes.get_xaxis_transform(), ha="center", fontsize=6.5)  # fmt: skip
    axes.axhline(0, color=GREY, linewidth=0.6)
    axes.set_xlim(-0.6, len(days) - 0.4)
    axes.set_ylim(*_limits(middles, ends))
    axes.set_ylabel("change (%)")
    return tooltips


def _limits(middles: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """Return the limits of the axis; wild intervals go on beyond, so that medians stand apart."""
    span = max(max(middles) - min(middles), _LEAST_SPAN)
    low, high = max(min(ends), min(middles) - span), min(max(ends), max(middles) + span)
    return low - 0.06 * span, high + 0.06 * span


def _label_days(axes: Axes, days: Sequence[str], *, is_last: bool) -> None:
    at = range(0, len(days), -(-len(days) // _MAX_DAYS))
    # A day with its time is too wide for one line.
    lines = [day.replace(" ", "\n") for day in days]
    labels = [f"{position + 1}\n{lines[position]}" if is_last else "" for position in at]
    axes.set_xticks(list(at), labels)
    axes.tick_params(axis="x", labelsize=6.5)
