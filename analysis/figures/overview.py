"""All cases of a study in one plane: time and energy as ratios to the baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from analysis.figures.drawing import (
    FIXED_TIME,
    Drawing,
    NotDrawn,
    not_drawn,
    sentences,
    why_not_measured,
)
from analysis.figures.rows import LEGEND_IN, case_entries, entry, legend_lines, look, put_legend
from analysis.figures.style import GREY, label_text
from analysis.objectives import ENERGY, TIME
from analysis.results.case import grouped
from analysis.results.sources import Results
from analysis.statistics.decision import pareto_front
from analysis.verdict.model import CaseFinding, Findings, TableFindings
from base.text import plural

TITLE = "Time against energy, all configurations"
NAME = "overview-plane"
# Inches: it stands beside a table.
_WIDTH, _HEIGHT = 4.6, 4.2
_LOST = ", or of its baseline, more than a tenth of the runs were lost, or were not made in turn,"
_EQUAL: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "linestyle": ":"}


class _Point(NamedTuple):
    """A case at its ratios.

    `is_compared`: neither it nor its baseline lost too many runs, and they were made in turn.
    """

    case: CaseFinding
    time: float
    energy: float
    is_compared: bool


def draw_overview_plane(results: Results, findings: Findings) -> Drawing | NotDrawn:
    """Draw each case at its time and energy, as ratios of means to those of its baseline."""
    tables = [table for table in findings.tables if not table.fixed_time]
    if not tables:
        return NotDrawn(NAME, TITLE, FIXED_TIME)
    found = [point for table in tables for point in _points(table.cases)]
    points = [point for point in found if point.is_compared]
    if not points:
        return NotDrawn(NAME, TITLE, _why_no_point(results, tables, is_lost=bool(found)))
    figure = Figure(figsize=(_WIDTH, _HEIGHT))
    entries = [
        *case_entries(point.case for point in points),
        entry("as much as the baseline", _EQUAL),
    ]
    bottom = (0.55 + LEGEND_IN * legend_lines(entries, _WIDTH)) / _HEIGHT
    axes = figure.add_axes((0.62 / _WIDTH, bottom, 1 - 0.8 / _WIDTH, 0.97 - bottom))
    axes.set_xlabel("mean time over that of the baseline")
    axes.set_ylabel("mean package energy over that of the baseline")
    axes.axvline(1.0, **_EQUAL)
    axes.axhline(1.0, **_EQUAL)
    # Together those that look alike: a file has half as much text for each.
    for alike in grouped(points, lambda of: look(of.case)):
        style, marker = look(alike[0].case)
        axes.plot(
            [of.time for of in alike], [of.energy for of in alike], marker,
            markersize=6, linestyle="none", color=style.colour, markerfacecolor=style.face,
            alpha=0.85,
        )  # fmt: skip
    put_legend(figure, entries)
    caption = sentences(
        "A marker is a case, against the baseline of its configuration; nearer to the "
        "lower left corner is better.",
        not_drawn(len(found) - len(points), "case", f" of which{_LOST}"),
    )
    return Drawing(NAME, TITLE, caption, _alt_text(points), figure)


def _why_no_point(results: Results, tables: Sequence[TableFindings], *, is_lost: bool) -> str:
    cases = [case for table in tables for case in table.cases]
    if is_lost:
        return f"of every case{_LOST}".rstrip(",")
    if any({TIME, ENERGY} <= case.samples.keys() for case in cases):
        return "no case of which time and energy are known has a baseline of which they are"
    return why_not_measured(results, cases, ["energy_pkg_j"])


def _points(cases: Sequence[CaseFinding]) -> list[_Point]:
    baselines = {case.summary.key.configuration: case for case in cases if case.is_baseline}
    points = []
    for case in cases:
        baseline = baselines.get(case.summary.key.configuration)
        if baseline is None or case is baseline or case.summary.key.co_runner:
            continue
        if {TIME, ENERGY} <= case.samples.keys() & baseline.samples.keys():
            time, energy = (case.mean_ratio(baseline, objective) for objective in (TIME, ENERGY))
            is_compared = case.is_comparable and baseline.is_comparable
            is_compared = is_compared and math.isfinite(time + energy)
            points.append(_Point(case, time, energy, is_compared))
    return points


def _alt_text(points: Sequence[_Point]) -> str:
    both = sum(point.time < 1 and point.energy < 1 for point in points)
    front = pareto_front({p.case.case_id: (p.time, p.energy) for p in points})
    best = [label_text(p.case.label) for p in points if p.case.case_id in front]
    return sentences(
        f"{plural(len(points), 'case')} by time and energy, each against its baseline.",
        f"Below the baseline in both: {both}.",
        f"No other is better in one without being worse in the other: {', '.join(best[:6])}.",
    )
