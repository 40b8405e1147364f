"""Time and energy per case: every run a dot, the mean and its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import (
    Panel,
    RunsByCase,
    draw_runs,
    jitter,
    looks_of,
    mean_down,
    put_words,
    reach,
    row_figure,
    scale_for,
    why_empty,
)
from analysis.figures.style import BLACK, in_style
from analysis.figures.words import extremes, sentences, why_not_measured
from analysis.objectives import OBJECTIVES, Objective
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings
from base.text import plural

SHOWN: dict[Objective, tuple[str, str, str]] = {
    "time": ("time (s)", "Mean time", "s"),
    "energy": ("package energy (J)", "Mean package energy", "J"),
}


def draw_time_and_energy(
    results: Results, table: TableFindings, runs: RunsByCase, name: str
) -> Drawing | NotDrawn:
    """Draw the runs' times, and energies where they were measured."""
    what = "Time and energy per case"
    shown = [o for o in SHOWN if any(o in case.samples for case in table.cases)]
    if not shown:
        fields = [OBJECTIVES[objective] for objective in SHOWN]
        return NotDrawn(name, what, why_not_measured(results, table.cases, fields))
    with in_style():
        panels = [Panel(SHOWN[objective][0]) for objective in shown]
        entries = [*looks_of(table.cases, runs), *_marks(table.cases, runs)]
        figure, axes = row_figure(table.title, table.cases, panels, entries)
        limits = [_panel(a, table.cases, runs, o) for a, o in zip(axes, shown, strict=True)]
    lacking = [
        f"{SHOWN[o][0].partition(' (')[0].capitalize()} not measured: "
        f"{why_not_measured(results, table.cases, [OBJECTIVES[o]])}."
        for o in SHOWN if o not in shown
    ]  # fmt: skip
    caption = sentences(_how_to_read(table.cases, runs, limits), *lacking)
    title = what if len(shown) == len(SHOWN) else "Time per case"
    return Drawing(name, title, caption, _seen(table.cases, shown), figure)


def _panel(axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, objective: Objective) -> str:
    """Draw one objective; return what has to be said of the dots."""
    rows = [row for row, case in enumerate(cases) if objective in case.samples]
    means = np.array([cases[row].samples[objective].mean for row in rows])
    scale_for(axes, means)
    limit = draw_runs(axes, cases, runs, OBJECTIVES[objective])
    ends = reach([cases[row].samples[objective] for row in rows])
    axes.errorbar(
        means, np.array(rows) + mean_down(runs), xerr=ends, fmt="D", markersize=3.2, color=BLACK,
        markerfacecolor="white", markeredgewidth=0.9, elinewidth=1.3, capsize=2.0, zorder=4,
    )  # fmt: skip
    away = [
        (outlier.value, row + float(jitter(np.array([outlier.repetition]))[0]))
        for row, case in enumerate(cases)
        for outlier in case.outliers
        if outlier.objective == objective
    ]
    if away:
        values, heights = zip(*away, strict=True)
        axes.scatter(
            values, heights, s=42, marker="o", facecolor="none", edgecolor=BLACK,
            linewidth=0.8, zorder=3,
        )  # fmt: skip
    for row, case in enumerate(cases):
        if objective not in case.samples:
            put_words(axes, row, why_empty(case))
    return limit


def _marks(cases: Sequence[CaseFinding], runs: RunsByCase) -> list[Line2D]:
    """Return the legend's entries for what is not a run."""
    means = "mean, 95 % interval" if _have_intervals(cases) else "mean"
    entries = [
        Line2D([], [], linestyle="-", linewidth=1.4, marker="D", markersize=3.2, color=BLACK,
               markerfacecolor="white", label=means)
    ]  # fmt: skip
    if runs and any(case.outliers for case in cases):
        entries.append(
            Line2D([], [], linestyle="", marker="o", markersize=6.5, color=BLACK,
                   markerfacecolor="none", label="outlier, kept")
        )  # fmt: skip
    return entries


def _have_intervals(cases: Sequence[CaseFinding]) -> bool:
    return any(sample.mean_interval for case in cases for sample in case.samples.values())


def _how_to_read(cases: Sequence[CaseFinding], runs: RunsByCase, limits: Sequence[str]) -> str:
    dots = "Each dot is a run, set apart in height so that equal ones are seen."
    if not runs:
        dots = "Means only: these results have no runs."
    without = any(
        sample.mean_interval is None for case in cases for sample in case.samples.values()
    )
    return sentences(
        dots,
        "A mean of fewer than five runs has no interval." if without and runs else "",
        *(f"{limit[0].upper()}{limit[1:]}." for limit in dict.fromkeys(limits) if limit),
    )


def _seen(cases: Sequence[CaseFinding], shown: Sequence[Objective]) -> str:
    parts = []
    for objective in shown:
        _, what, unit = SHOWN[objective]
        means = {
            row: case.samples[objective].mean
            for row, case in enumerate(cases)
            if objective in case.samples
        }
        parts.append(extremes(what, unit, means, cases))
        outliers = sum(o.objective == objective for case in cases for o in case.outliers)
        if outliers:
            parts.append(f"{plural(outliers, 'run')} far from the others of the case.")
    return sentences(*parts)
