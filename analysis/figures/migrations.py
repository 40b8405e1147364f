"""Migrations per case, on an axis that shows thousands and zeros alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from analysis.figures.drawing import (
    Drawing,
    NotDrawn,
    extremes,
    sentences,
    why_not_measured,
)
from analysis.figures.rows import (
    MEAN,
    RunsByCase,
    draw_runs,
    entry,
    looks_of,
    mean_down,
    row_figure,
    say_why_empty,
    values_of,
)
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
    looks = looks_of(case for case in table.cases if case.case_id in runs)
    panels = [(_MEASURES[measure][0], 1.0) for measure in shown]
    entries = [*looks, entry("mean", MEAN)]
    figure, axes = row_figure(table.title, table.cases, panels, entries, room=0.5)
    limits = [_panel(a, table.cases, runs, m) for a, m in zip(axes, shown, strict=True)]
    caption = sentences(
        "Each dot is a run." if runs else "Means only: these results have no runs.",
        "The number beside each row is the mean.",
        "From 1 on the axis is logarithmic; a 0 stands at 0.",
        *dict.fromkeys(limits),
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
    values = list(means.values())
    axes.plot(values, np.array(list(means)) + mean_down(runs), zorder=4, **MEAN)
    every = [values_of(runs, case, measure)[1] for case in cases]
    most = max([3.0, *values, *(counts.max() for counts in every if len(counts))])
    axes.set_xscale("symlog", linthresh=1.0, linscale=0.6)
    axes.set_xticks([0.0, *(10.0**e for e in range(int(np.log10(most)) + 1))])
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(-0.4, most * 1.5)
    for row, mean in means.items():
        axes.text(
            1.01, row, mean_count(mean), transform=axes.get_yaxis_transform(),
            va="center", ha="left", fontsize=7,
        )  # fmt: skip
    say_why_empty(axes, cases, means)
    return limit
