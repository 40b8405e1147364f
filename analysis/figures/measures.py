"""Time, energy and migrations per case: every run a dot, and the mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
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
    draw_bars,
    draw_runs,
    entry,
    jitter,
    looks_of,
    mean_down,
    mean_entry,
    row_figure,
    say_why_empty,
    scale_for,
)
from analysis.figures.style import BLACK, marker_look
from analysis.format.numbers import mean_count
from analysis.objectives import OBJECTIVES, Objective
from analysis.results.sources import Results
from analysis.statistics.sample import Sample
from analysis.verdict.model import CaseFinding, TableFindings
from analysis.verdict.phrases import sentence
from base.text import plural

SHOWN: dict[Objective, tuple[str, str, str]] = {
    "time": ("time (s)", "Mean time", "s"),
    "energy": ("package energy (J)", "Mean package energy", "J"),
}
MIGRATIONS_TITLE = "Migrations per case"
_MIGRATIONS = {
    "migrations": ("migrations of the threads", "The mean number of migrations"),
    "vcpu_migrations": ("migrations of the vCPUs", "The mean number of migrations of vCPUs"),
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
    figure, axes = row_figure(
        table.title,
        table.cases,
        [(SHOWN[objective][0], 1.0) for objective in shown],
        [*_looks(table.cases, runs), *_marks(table.cases, runs)],
    )
    limits = [_draw_objective(a, table.cases, runs, o) for a, o in zip(axes, shown, strict=True)]
    lacking = [
        f"{sentence(SHOWN[o][0].partition(' (')[0])} not measured: "
        f"{why_not_measured(results, table.cases, [OBJECTIVES[o]])}."
        for o in SHOWN if o not in shown
    ]  # fmt: skip
    caption = sentences(_how_to_read(table.cases, runs), *dict.fromkeys(limits), *lacking)
    title = what if len(shown) == len(SHOWN) else "Time per case"
    return Drawing(name, title, caption, _seen(table.cases, shown), figure)


def _draw_objective(
    axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, objective: Objective
) -> str:
    """Draw one objective; return what has to be said of the dots."""
    samples = _samples(cases, objective)
    means = {row: sample.mean for row, sample in samples.items()}
    scale_for(axes, means.values())
    limit = draw_runs(axes, cases, runs, OBJECTIVES[objective])
    intervals = [sample.mean_interval for sample in samples.values()]
    draw_bars(axes, means, intervals, mean_down(runs))
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
    say_why_empty(axes, cases, samples)
    return limit


def _samples(cases: Sequence[CaseFinding], objective: Objective) -> dict[int, Sample]:
    """Return what the runs say in one objective, by row."""
    return {
        row: case.samples[objective] for row, case in enumerate(cases) if objective in case.samples
    }


def _looks(cases: Sequence[CaseFinding], runs: RunsByCase) -> list[Line2D]:
    """Return the legend's entries for the dots."""
    return looks_of(case for case in cases if case.case_id in runs)


def _marks(cases: Sequence[CaseFinding], runs: RunsByCase) -> list[Line2D]:
    """Return the legend's entries for what is not a run."""
    intervals = any(sample.mean_interval for case in cases for sample in case.samples.values())
    entries = [mean_entry("mean, 95 % interval" if intervals else "mean")]
    if runs and any(case.outliers for case in cases):
        entries.append(entry("outlier, kept", marker_look("o", 6.5, BLACK, "none")))
    return entries


def _how_to_read(cases: Sequence[CaseFinding], runs: RunsByCase) -> str:
    if not runs:
        return "Means only: these results have no runs."
    without = any(
        sample.mean_interval is None for case in cases for sample in case.samples.values()
    )
    return sentences(
        "Each dot is a run, set apart in height so that equal ones are seen.",
        "A mean of fewer than five runs has no interval." if without else "",
    )


def _seen(cases: Sequence[CaseFinding], shown: Sequence[Objective]) -> str:
    parts = []
    for objective in shown:
        _, what, unit = SHOWN[objective]
        means = {row: sample.mean for row, sample in _samples(cases, objective).items()}
        parts.append(extremes(what, unit, means, cases))
        outliers = sum(o.objective == objective for case in cases for o in case.outliers)
        if outliers:
            parts.append(f"{plural(outliers, 'run')} far from the others of the case.")
    return sentences(*parts)


def draw_migrations(
    results: Results, table: TableFindings, runs: RunsByCase, name: str
) -> Drawing | NotDrawn:
    """Draw how often the kernel moved threads, and a guest's CPUs, to another CPU."""
    shown = [
        measure
        for measure in _MIGRATIONS
        if any(case.summary.measures[measure].n != 0 for case in table.cases)
    ]
    if not shown:
        return NotDrawn(
            name, MIGRATIONS_TITLE, why_not_measured(results, table.cases, ["migrations"])
        )
    panels = [(_MIGRATIONS[measure][0], 1.0) for measure in shown]
    entries = [*_looks(table.cases, runs), entry("mean", MEAN)]
    figure, axes = row_figure(table.title, table.cases, panels, entries, room=0.5)
    limits = [_draw_migrations(a, table.cases, runs, m) for a, m in zip(axes, shown, strict=True)]
    caption = sentences(
        "Each dot is a run." if runs else "Means only: these results have no runs.",
        "The number beside each row is the mean.",
        "From 1 on the axis is logarithmic; a 0 stands at 0.",
        *dict.fromkeys(limits),
    )
    alt = sentences(
        *(extremes(_MIGRATIONS[m][1], "", _means(table.cases, m), table.cases) for m in shown)
    )
    return Drawing(name, MIGRATIONS_TITLE, caption, alt, figure)


def _means(cases: Sequence[CaseFinding], measure: str) -> dict[int, float]:
    return {
        row: case.summary.measures[measure].mean
        for row, case in enumerate(cases)
        if case.summary.measures[measure].n != 0
    }


def _draw_migrations(
    axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, measure: str
) -> str:
    means = _means(cases, measure)
    limit = draw_runs(axes, cases, runs, measure)
    rows = np.array(list(means)) + mean_down(runs)
    axes.plot(list(means.values()), rows, zorder=4, **MEAN)
    most = max(3.0, axes.dataLim.x1)
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
