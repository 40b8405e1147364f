"""All runs over time, each relative to its case: whether the node drifted while it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pinstudy.analysis.figures.changes import change_in_words
from pinstudy.analysis.figures.drawing import Drawing, NotDrawn, sentences
from pinstudy.analysis.figures.rows import (
    LEGEND_IN,
    LINE_IN,
    MAX_DOTS,
    MAX_DRAWN_DOTS,
    entry,
    legend_lines,
    put_legend,
    put_title,
    some_runs,
)
from pinstudy.analysis.figures.style import (
    BLACK,
    BLUE,
    GREY,
    SCREEN,
    VERMILION,
    Layout,
    marker_style,
)
from pinstudy.analysis.format.numbers import percent, three_digits
from pinstudy.analysis.records.runs import good_runs, whole_runs
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.drift import Trend
from pinstudy.analysis.statistics.sample import Array
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import report as words
from pinstudy.analysis.words.programs import program_names
from pinstudy.base.text import plural

NAME, TITLE = "runs-over-time", "Runs over time"
# Runs beyond this many times the middle half's width stand at the edge, so that the rest is seen.
_FAR = 6.0
_MIN_REACH = 0.5  # per cent
# Hours up to which time is given in minutes.
_MINUTES_TO = 1.5
_TREND: dict[str, Any] = {"color": BLACK, "linewidth": 1.5, "linestyle": "--"}


@dataclass(frozen=True)
class _Runs:
    """The good runs in the order of their start.

    `hours` of measuring since the first, `away` from the median of the case in per cent, `celsius`
    of the hottest package, `attempt` numbered from 0. The time between attempts is left out.
    `names` are of case and repetition.
    """

    hours: Array
    away: Array
    celsius: Array
    attempt: NDArray[np.intp]
    names: Sequence[str]


def draw_drift(results: Results, findings: Findings, layout: Layout = SCREEN) -> Drawing | NotDrawn:
    """Draw every run's time against its start, with the package's temperature before it."""
    if results.runs is None:
        return NotDrawn(NAME, TITLE, "these results have no runs")
    runs = _runs(results, findings)
    if len(runs.hours) < 2:
        return NotDrawn(NAME, TITLE, "fewer than two runs say when they started")
    warm = bool(np.isfinite(runs.celsius).any())
    step = -(-len(runs.hours) // MAX_DOTS)
    trend = findings.drift.over_time if findings.drift else None
    figure, axes = _frame(warm, trend is not None and trend.found, layout)
    in_minutes = float(np.ptp(runs.hours)) < _MINUTES_TO
    unit = 60.0 if in_minutes else 1.0
    beyond, tooltips = _draw_times(axes[0], runs, unit, step)
    if trend is not None and trend.found:
        _draw_trend(axes[0], runs, trend, unit)
    if warm:
        axes[1].scatter(
            runs.hours[::step] * unit, runs.celsius[::step], s=7, marker="s",
            facecolor="white", edgecolor=VERMILION, linewidth=0.6,
            rasterized=len(runs.hours) > MAX_DRAWN_DOTS, gid="heat",
        )  # fmt: skip
        known = runs.celsius[::step][np.isfinite(runs.celsius[::step])]
        tooltips["heat"] = [f"{three_digits(celsius)} °C" for celsius in known]
        axes[1].set_ylabel("°C before")
    axes[-1].set_xlabel(f"{'minutes' if in_minutes else 'hours'} of measuring")
    caption = sentences(
        "Each dot is a run; 0 % is the median time of its case, so that all cases can be seen "
        "together.",
        f"{plural(beyond, 'run')} further away stand{'s' if beyond == 1 else ''} at the edge."
        if beyond
        else "",
        "A vertical line is where the study was continued." if runs.attempt.any() else "",
        "" if warm else "The package's temperature was not measured.",
        some_runs(step, len(runs.hours)),
    )
    return Drawing(NAME, TITLE, caption, _alt_text(runs, trend, warm), figure, tooltips)


def _frame(is_warm: bool, has_trend: bool, layout: Layout) -> tuple[Figure, list[Axes]]:
    """Return the figure with its legend and empty panels: times, and temperatures where known."""
    entries = [entry("time of a run", marker_style("o", 4, BLUE, BLUE))]
    if has_trend:
        entries.append(entry("trend over time", _TREND))
    if is_warm:
        entries.append(entry("hottest package", marker_style("s", 4, VERMILION, "white")))
    width = layout.wide()
    lines = layout.title_lines("All runs over time", width)
    top = 0.1 + LINE_IN * len(lines) + (0.06 if lines else 0.0)
    bottom = 0.5 + LEGEND_IN * legend_lines(entries, width)
    height = top + bottom + (2.8 if is_warm else 1.9)
    figure = Figure(figsize=(width, height))
    put_title(figure, lines)
    axes = figure.subplots(
        2 if is_warm else 1, sharex=True, squeeze=False,
        gridspec_kw={"height_ratios": [2, 1] if is_warm else [1], "hspace": 0.12,
                     "left": 0.62 / width, "right": 1 - 0.12 / width, "top": 1 - top / height,
                     "bottom": bottom / height},
    )[:, 0]  # fmt: skip
    put_legend(figure, entries)
    return figure, list(axes)


def _runs(results: Results, findings: Findings) -> _Runs:
    assert results.runs is not None
    frame = results.runs.frame
    good = whole_runs(good_runs(frame))
    good = good[np.isfinite(good["started_s"]) & np.isfinite(good["elapsed_s"])]
    good = good.sort_values(["attempt", "started_s"], kind="stable")
    times = good["elapsed_s"]
    medians = times.groupby(good["case_id"], observed=True).transform("median")
    known = (medians > 0).to_numpy(dtype=bool)
    away = (100 * (times / medians - 1)).to_numpy(dtype=float)[known]
    started = good["started_s"].to_numpy(dtype=float)[known]
    celsius = good["temperature_c"].to_numpy(dtype=float)[known]
    _, attempt = np.unique(good["attempt"].to_numpy(dtype=float)[known], return_inverse=True)
    program = program_names([table.key for table in findings.tables])
    labels = {
        case.case_id: f"{program(table.key)} {table.key.threads_label} {case.label}"
        for table in findings.tables
        for case in table.cases
    }
    names = [
        words.RUN.format(case=labels.get(str(case), str(case)), run=int(repetition))
        for case, repetition in zip(good["case_id"][known], good["repetition"][known], strict=True)
    ]
    return _Runs(_without_pauses(started, attempt) / 3600, away, celsius, attempt, names)


def _without_pauses(started: Array, attempt: NDArray[np.intp]) -> Array:
    """Return seconds since the first run, each attempt beginning where the one before ended."""
    seconds, ended = np.zeros(len(started)), 0.0
    for number in range(int(attempt.max(initial=-1)) + 1):
        is_in = attempt == number
        seconds[is_in] = started[is_in] - started[is_in].min() + ended
        ended = float(seconds[is_in].max())
    return seconds


def _draw_times(
    axes: Axes, runs: _Runs, unit: float, step: int
) -> tuple[int, dict[str, Sequence[str]]]:
    """Draw the runs' times; return how many of them stand at the edge, and all tooltips."""
    low, high = np.percentile(runs.away, [25, 75])
    reach = max(_FAR * float(high - low), _MIN_REACH)
    # An edge that nothing is beyond is drawn in to what is there.
    reach = min(reach, max(1.08 * float(np.abs(runs.away).max()), _MIN_REACH))
    is_far = np.abs(runs.away) > reach
    near = np.flatnonzero(~is_far)[::step]
    axes.scatter(
        runs.hours[near] * unit, runs.away[near], s=9, color=BLUE, linewidth=0, alpha=0.6,
        rasterized=len(runs.hours) > MAX_DRAWN_DOTS, gid="near",
    )  # fmt: skip
    tooltips: dict[str, Sequence[str]] = {"near": _said_of(runs, near)}
    for above, gid in ((True, "above"), (False, "below")):
        at = np.flatnonzero(is_far & ((runs.away > 0) == above))
        axes.scatter(
            runs.hours[at] * unit, np.full(len(at), reach if above else -reach), s=22,
            marker="^" if above else "v", facecolor="white", edgecolor=BLACK, linewidth=0.7,
            clip_on=False, zorder=3, gid=gid,
        )  # fmt: skip
        tooltips[gid] = _said_of(runs, at)
    axes.axhline(0, color=BLACK, linewidth=0.6)
    for number in np.unique(runs.attempt)[1:]:
        axes.axvline(runs.hours[runs.attempt == number].min() * unit, color=GREY, linewidth=0.8)
    axes.set_ylim(-reach, reach)
    axes.set_ylabel("time from median (%)")
    return int(is_far.sum()), tooltips


def _said_of(runs: _Runs, which: NDArray[np.intp]) -> list[str]:
    return [f"{runs.names[at]}: {change_in_words(float(runs.away[at]) / 100)}" for at in which]


def _draw_trend(axes: Axes, runs: _Runs, trend: Trend, unit: float) -> None:
    for number in np.unique(runs.attempt):
        is_in = runs.attempt == number
        hours = np.array([runs.hours[is_in].min(), runs.hours[is_in].max()])
        shares = np.expm1(trend.slope * (hours - runs.hours[is_in].mean()))
        away = np.median(runs.away[is_in]) + 100 * shares
        axes.plot(hours * unit, away, zorder=4, **_TREND)


def _alt_text(runs: _Runs, trend: Trend | None, warm: bool) -> str:
    low, high = np.percentile(runs.away, [25, 75])
    hours = float(np.ptp(runs.hours))
    lasted = (
        f"{three_digits(hours * 60)} minutes"
        if hours < _MINUTES_TO
        else f"{three_digits(hours)} hours"
    )
    if trend is None:
        course = "There are too few runs to tell of a trend."
    elif trend.found:
        course = (
            f"Runs became {'slower' if trend.change > 0 else 'faster'} by "
            f"{percent(abs(trend.change))} within an attempt at the study."
        )
    else:
        course = "No trend over time was found."
    heat = ""
    if warm:
        coolest, hottest = np.nanmin(runs.celsius), np.nanmax(runs.celsius)
        heat = f"The hottest package was at {three_digits(coolest)} to {three_digits(hottest)} °C."
    return sentences(
        f"{len(runs.hours)} runs within {lasted}; the middle half of them is between "
        f"{three_digits(low)} % and {three_digits(high)} % from the median of their cases.",
        course,
        heat,
    )
