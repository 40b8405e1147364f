"""Contention: the time of a round under each placement, and the L1 loads that missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.affinity.contention import Contended, Contention
from analysis.affinity.measured import CONTENTION, TIMES
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import (
    Entry,
    Panel,
    RunsByCase,
    draw_runs,
    looks_of_cases,
    mean_down,
    put_words,
    reach,
    row_figure,
    scale_for,
    why_empty,
)
from analysis.figures.style import (
    BLACK,
    KIND_COLOURS,
    KIND_FILLS,
    KIND_MARKERS,
    PURPLE,
    in_style,
    label_text,
)
from analysis.figures.words import extremes, named, number, sentences
from analysis.results.fields import METRIC

TITLE = "Contention by placement"
STAR = "published, another machine"
# Above a marker that it would hide otherwise, as a part of a row's height.
STAR_UP = 0.28


def draw_contention(
    found: Contention, runs: RunsByCase, title: str, name: str
) -> Drawing | NotDrawn:
    """Draw the times of one experiment, and its L1 misses where they were counted."""
    rows = found.rows
    cases = [row.measured.case for row in rows]
    if not any(row.measured.sample for row in rows):
        return NotDrawn(name, TITLE, "no run that could be averaged told its time of a round")
    counted = any(row.l1d for row in rows)
    panels = [Panel("time of a round (ms)", 1.5)]
    panels += [Panel("L1 loads that missed (%)")] if counted else []
    with in_style():
        figure, axes = row_figure(title, cases, panels, _legend(rows))
        limit = _times(axes[0], rows, runs)
        if counted:
            _misses(axes[1], rows)
    caption = sentences(
        "In a round each of the threads adds to a number that it shares with another one. Each dot "
        "is a run.",
        f"{limit[0].upper()}{limit[1:]}." if limit else "",
        "" if counted else f"L1 load misses were not counted: {found.no_l1d}.",
    )
    return Drawing(name, TITLE, caption, _seen(rows), figure)


def put_stars(axes: Axes, values: Mapping[int, float], up: float = 0.0) -> None:
    """Draw what was published, by row, as hollow stars; `up` from the rows' middles."""
    axes.plot(
        list(values.values()), [row - up for row in values], linestyle="", marker="*", markersize=9,
        color=BLACK, markerfacecolor="white", markeredgewidth=0.8, zorder=5,
    )  # fmt: skip


def star_entry() -> Line2D:
    """Return the legend's entry for what was published."""
    return Line2D([], [], linestyle="", marker="*", markersize=9, color=BLACK,
                  markerfacecolor="white", markeredgewidth=0.8, label=STAR)  # fmt: skip


def mean_entry(what: str) -> Line2D:
    """Return the legend's entry for a mean, or another number, with its interval."""
    return Line2D([], [], linestyle="-", linewidth=1.4, marker="D", markersize=3.2, color=BLACK,
                  markerfacecolor="white", label=what)  # fmt: skip


def _times(axes: Axes, rows: Sequence[Contended], runs: RunsByCase) -> str:
    samples = {at: row.measured.sample for at, row in enumerate(rows) if row.measured.sample}
    stars = {
        at: row.published.time_ms
        for at, row in enumerate(rows)
        if row.published and row.published.time_ms
    }
    means = [sample.mean for sample in samples.values()]
    scale_for(axes, [*means, *stars.values()])
    column = METRIC.format(TIMES[CONTENTION])
    limit = draw_runs(axes, [row.measured.case for row in rows], runs, column)
    axes.errorbar(
        means, np.array(list(samples)) + mean_down(runs), xerr=reach(list(samples.values())),
        fmt="D", markersize=3.2, color=BLACK, markerfacecolor="white", markeredgewidth=0.9,
        elinewidth=1.3, capsize=2.0, zorder=4,
    )  # fmt: skip
    put_stars(axes, stars)
    if axes.get_xscale() == "linear":
        axes.set_xlim(left=0)
    for at, row in enumerate(rows):
        if at not in samples:
            put_words(axes, at, why_empty(row.measured.case))
    return limit


def _misses(axes: Axes, rows: Sequence[Contended]) -> None:
    kinds = dict.fromkeys(kind for row in rows for kind in row.l1d)
    highest = 0.0
    for kind in kinds:
        shares = {at: 100 * row.l1d[kind] for at, row in enumerate(rows) if kind in row.l1d}
        highest = max(highest, *shares.values())
        axes.plot(
            list(shares.values()), list(shares), linestyle="", zorder=3,
            marker=KIND_MARKERS.get(kind, "X"), markersize=5.5,
            color=KIND_COLOURS.get(kind, PURPLE), markerfacecolor=KIND_FILLS.get(kind, "white"),
        )  # fmt: skip
    stars = {
        at: 100 * row.published.l1d_miss_rate
        for at, row in enumerate(rows)
        if row.published and row.published.l1d_miss_rate
    }
    put_stars(axes, stars, STAR_UP)
    axes.set_xlim(0, 1.08 * max([highest, *stars.values(), 0.1]))
    for at, row in enumerate(rows):
        if not row.l1d:
            put_words(axes, at, why_empty(row.measured.case))


def _legend(rows: Sequence[Contended]) -> list[Entry]:
    shown = [row.measured.case for row in rows if row.measured.sample]
    entries: list[Entry] = [*looks_of_cases(shown), mean_entry("mean, 95 % interval")]
    for kind in dict.fromkeys(kind for row in rows for kind in row.l1d):
        entries.append(
            Line2D([], [], linestyle="", marker=KIND_MARKERS.get(kind, "X"), markersize=5.5,
                   color=KIND_COLOURS.get(kind, PURPLE),
                   markerfacecolor=KIND_FILLS.get(kind, "white"),
                   label=f"misses on {label_text(kind, 12)}-cores")
        )  # fmt: skip
    if any(row.published for row in rows):
        entries.append(star_entry())
    return entries


def _seen(rows: Sequence[Contended]) -> str:
    cases = [row.measured.case for row in rows]
    means = {at: row.measured.sample.mean for at, row in enumerate(rows) if row.measured.sample}
    shares = {at: 100 * max(row.l1d.values()) for at, row in enumerate(rows) if row.l1d}
    stars = [
        f"{number(row.published.time_ms)} ms for {named(row.measured.case)}"
        for row in rows
        if row.published and row.published.time_ms
    ]
    return sentences(
        extremes("The mean time of a round", "ms", means, cases),
        extremes("The share of L1 loads that missed", "%", shares, cases),
        f"Published: {', '.join(stars)}." if stars else "",
    )
