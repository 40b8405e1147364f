"""The course of each case's runs: CPU time by core kind in each quarter of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from analysis.figures.drawing import Drawing, extremes, sentences
from analysis.figures.rows import area_entry, label_empty_rows, row_figure, write_beside
from analysis.figures.style import KNOWN_KINDS, cores_of, kind_style
from analysis.format.numbers import percent
from analysis.verdict.model import TableFindings
from base.text import plural
from runners.records.placed_runs import QUARTERS

TITLE = "Course of a run"
_PANEL = "CPU time of each quarter of the run, as high as its share of the busiest quarter's"
# The part of a row's height that the busiest quarter takes.
_HEIGHT = 0.72
# In per cent of the run.
_QUARTER = 100 / QUARTERS
_Course = Sequence[Mapping[str, float]]


def draw_course(table: TableFindings, name: str) -> Drawing | None:
    """Draw the CPU time of each quarter of the cases' runs, the core kinds stacked.

    None where none was measured: for the reasons that the figure of each thread's CPU time gives.
    """
    cases = table.cases
    courses = {row: case.summary.profiles.get("course", ()) for row, case in enumerate(cases)}
    courses = {row: course for row, course in courses.items() if _busiest_s(course) > 0}
    if not courses:
        return None
    kinds = {kind for course in courses.values() for quarter in course for kind in quarter}
    used = [kind for kind in KNOWN_KINDS if kind in kinds]
    legend = [area_entry(f"CPU time, {cores_of(kind)}", kind) for kind in used]
    figure, (axes,) = row_figure(table.title, cases, [(_PANEL, 1.0)], legend, room=0.5)
    axes.set_xlim(0, 100)
    axes.set_xticks([_QUARTER * end for end in range(QUARTERS + 1)])
    for row, course in courses.items():
        _draw_row(axes, row, course, used)
    last = {row: _cpu_s(course[-1]) / _busiest_s(course) for row, course in courses.items()}
    write_beside(axes, {row: percent(share) for row, share in last.items()})
    label_empty_rows(axes, cases, courses)
    caption = (
        "Means of the runs; from left to right the run's time in per cent. At the right the CPU "
        "time of the last quarter, as a share of the busiest one's: low where threads end early."
    )
    alt = sentences(
        f"Bars of the CPU time in each quarter of the runs of {plural(len(courses), 'case')}.",
        extremes(
            "The last quarter's CPU time, as a share of the busiest one's,", "%",
            {row: 100 * share for row, share in last.items()}, cases,
        ),
    )  # fmt: skip
    return Drawing(name, TITLE, caption, alt, figure)


def _cpu_s(quarter: Mapping[str, float]) -> float:
    return sum(quarter.values())


def _busiest_s(course: _Course) -> float:
    return max(map(_cpu_s, course), default=0.0)


def _draw_row(axes: Axes, row: int, course: _Course, kinds: Sequence[str]) -> None:
    """Draw the quarters of one row; its axis counts downwards."""
    height = _HEIGHT / _busiest_s(course)
    bottoms = [row + _HEIGHT / 2] * len(course)
    lefts = [_QUARTER * number for number in range(len(course))]
    for kind in kinds:
        heights = [height * quarter.get(kind, 0.0) for quarter in course]
        # A bar without height would still have an edge.
        drawn = [number for number, of_kind in enumerate(heights) if of_kind]
        axes.bar(
            [lefts[number] for number in drawn], [-heights[number] for number in drawn],
            bottom=[bottoms[number] for number in drawn], width=_QUARTER, align="edge",
            linewidth=0.4, zorder=2, **kind_style(kind).areas,
        )  # fmt: skip
        bottoms = [bottom - of_kind for bottom, of_kind in zip(bottoms, heights, strict=True)]
