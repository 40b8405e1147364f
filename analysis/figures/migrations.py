"""Migrations per case, on an axis that shows thousands and zeros alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import (
    Panel,
    RunsByCase,
    draw_runs,
    looks_of,
    mean_down,
    put_words,
    row_figure,
    values_of,
    why_empty,
)
from analysis.figures.style import BLACK, in_style
from analysis.figures.words import extremes, sentences, why_not_measured
from analysis.format.numbers import mean_count
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings

TITLE = "Migrations per case"
_MEASURES = {
    "migrations": ("migrations of the threads", "The mean number of migrations"),
    "vcpu_migrations": ("migrations of the vCPUs", "The mean number of migrations of vCPUs"),
}


def draw_migrations(
    results: Results, table: TableFindings, runs: RunsByCase, name: str
) -> Drawing | NotDrawn:
    """Draw how often the kernel moved threads, and a guest's CPUs, to another CPU."""
    shown = [
        measure
        for measure in _MEASURES
        if any(case.summary.measures[measure].n != 0 for case in table.cases)
    ]
    if not shown:
        return NotDrawn(name, TITLE, why_not_measured(results, table.cases, ["migrations"]))
    with in_style():
        mean = Line2D([], [], linestyle="", marker="D", markersize=3.2, color=BLACK,
                      markerfacecolor="white", label="mean")  # fmt: skip
        panels = [Panel(_MEASURES[measure][0], room=0.5) for measure in shown]
        entries = [*looks_of(table.cases, runs), mean]
        figure, axes = row_figure(table.title, table.cases, panels, entries)
        limits = [_panel(a, table.cases, runs, m) for a, m in zip(axes, shown, strict=True)]
    caption = sentences(
        "Each dot is a run." if runs else "Means only: these results have no runs.",
        "The number beside each row is the mean.",
        "From 1 on the axis is logarithmic; a 0 stands at 0.",
        *(f"{limit[0].upper()}{limit[1:]}." for limit in dict.fromkeys(limits) if limit),
    )
    alt = sentences(
        *(extremes(_MEASURES[m][1], "", _means(table.cases, m), table.cases) for m in shown)
    )
    return Drawing(name, TITLE, caption, alt, figure)


def _means(cases: Sequence[CaseFinding], measure: str) -> dict[int, float]:
    return {
        row: case.summary.measures[measure].mean
        for row, case in enumerate(cases)
        if case.summary.measures[measure].n != 0
    }


def _panel(axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, measure: str) -> str:
    means = _means(cases, measure)
    limit = draw_runs(axes, cases, runs, measure)
    rows, values = list(means), list(means.values())
    axes.plot(
        values, np.array(rows) + mean_down(runs), linestyle="", marker="D", markersize=3.2,
        color=BLACK, markerfacecolor="white", zorder=4,
    )  # fmt: skip
    every = [values_of(runs, case, measure)[1] for case in cases]
    most = max([3.0, *values, *(counts.max() for counts in every if len(counts))])
    axes.set_xscale("symlog", linthresh=1.0, linscale=0.6)
    axes.xaxis.set_major_locator(
        FixedLocator([0.0, *(10.0**e for e in range(int(np.log10(most)) + 1))])
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_tick))
    axes.set_xlim(-0.4, most * 1.5)
    for row, case in enumerate(cases):
        if row in means:
            axes.text(
                1.01, row, mean_count(means[row]), transform=axes.get_yaxis_transform(),
                va="center", ha="left", fontsize=7,
            )  # fmt: skip
        else:
            put_words(axes, row, why_empty(case))
    return limit


def _tick(value: float, _position: int) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.0f}{letter}"
    return f"{value:.0f}"
