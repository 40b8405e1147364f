"""All cases of a study by time and energy: a panel a program, the settings in the filling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from pinstudy.analysis.figures.changes import (
    MINUS,
    Scale,
    axis_range,
    change_in_words,
    put_arrows,
    put_scale,
)
from pinstudy.analysis.figures.drawing import (
    FIXED_TIME,
    Drawing,
    NotDrawn,
    sentences,
    why_not_measured,
)
from pinstudy.analysis.figures.rows import (
    LEGEND_IN,
    LINE_IN,
    Entry,
    case_label,
    entry,
    legend_lines,
    mapping_entries,
    put_legend,
    put_title,
    shown_mapping,
    shown_settings,
)
from pinstudy.analysis.figures.style import (
    BLACK,
    GREY,
    SCREEN,
    Layout,
    mapping_looks,
    marker_style,
    shortened,
    text_width,
    wrap,
)
from pinstudy.analysis.format.numbers import signed_in_percent
from pinstudy.analysis.measures import fields_of
from pinstudy.analysis.objectives import ENERGY, TIME
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.sample import Interval, t_interval
from pinstudy.analysis.verdict.model import CaseFinding, Findings, TableFindings
from pinstudy.analysis.words import report as words
from pinstudy.analysis.words.programs import program_names
from pinstudy.base.text import plural

NAME, GUESTS = "time-energy", "time-energy-guests"
# A table has a panel of its own up to so many of them; beyond, the tables of a program share one.
_MAX_TABLES = 9
MAX_PANELS = 12
# Inches: the least width of a panel, and the figure's width where it has one panel.
_PANEL, _ALONE = 1.3, 4.6
_MOST_HEIGHT = 3.4
_LEFT, _RIGHT, _GAP = 0.52, 0.1, 0.12
_SIZE, _MARKER, _ARROW = 7.0, 5.0, 4.0
# How the markers of the settings are filled, in the order of the study.
_FILLS = ("full", "none", "left", "right", "top", "bottom")
# Where a label may stand, in points from its marker; the first free place is taken.
_PLACES = ((4, 2), (4, -10), (-4, 2), (-4, -10), (0, 4), (0, -13), (9, -4), (-9, -4), (9, 8),
           (9, -16), (-9, 8), (-9, -16), (0, 12), (0, -21), (18, 3), (-18, 3))  # fmt: skip
_LINE_PT = 8.5


class _Point(NamedTuple):
    """A case as logarithms of its ratios to its panel's reference, and its interval of time."""

    case: CaseFinding
    team: str
    time: float
    energy: float
    interval: Interval | None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval as changes in per cent."""
        if self.interval is None:
            return None
        return 100 * (self.interval.low - 1), 100 * (self.interval.high - 1)


@dataclass(frozen=True)
class _Panel:
    title: str
    points: tuple[_Point, ...]


def draw_overview_plane(
    results: Results, findings: Findings, layout: Layout = SCREEN, guests: bool = False
) -> Drawing | NotDrawn:
    """Draw each case at its time and energy, of `guests` or of the node itself.

    Both are ratios of means to those of one baseline of its table, that under the first setting, so
    that settings are seen beside mappings.
    """
    name, title = (GUESTS, words.PLANE_GUESTS_TITLE) if guests else (NAME, words.PLANE_TITLE)
    tables = [
        table
        for table in findings.tables
        if not table.fixed_time and any(case.summary.key.in_guest == guests for case in table.cases)
    ]
    if not tables:
        return NotDrawn(name, title, FIXED_TIME)
    found = [(table, _points(table)) for table in tables]
    lost = sum(lost for _, (_, lost) in found)
    panels = _panels([(table, points) for table, (points, _) in found if points])
    if not panels:
        return NotDrawn(name, title, _why_no_point(results, tables, lost=lost))
    shown = panels[:MAX_PANELS]
    settings = list(
        dict.fromkeys(_setting(point.case) for panel in shown for point in panel.points)
    )
    points = [point for panel in shown for point in panel.points]
    across = _time_scale(points)
    figure = _drawn(shown, settings, title, across, layout)
    caption = sentences(
        words.PLANE_HOW.format(reference=_reference(tables, settings, layout)),
        words.PLANE_SETTINGS if len(settings) > 1 else "",
        words.PLANE_LABELS,
        words.PLANE_INTERVALS if any(point.interval for point in points) else "",
        words.CUT if any(point.ends and any(across.cuts(point.ends)) for point in points) else "",
        words.PLANE_LOST.format(cases=plural(lost, "case")) if lost else "",
        words.PLANE_MORE.format(programs=plural(len(panels) - len(shown), "program"))
        if len(panels) > len(shown)
        else "",
    )
    alt = words.PLANE_ALT.format(
        cases=plural(len(points), "case"), extremes=" ".join(_extremes_in_words(shown, layout))
    )
    return Drawing(name, title, caption, alt, figure, _tooltips(shown, layout))


def _reference(tables: Sequence[TableFindings], settings: Sequence[str], layout: Layout) -> str:
    baselines = dict.fromkeys(
        case.full_mapping for table in tables for case in table.cases if case.is_baseline
    )
    name = shown_mapping(next(iter(baselines)), layout) if len(baselines) == 1 else "the baseline"
    setting = layout.name(settings[0]) if len(settings) > 1 else ""
    return f"{name} under {setting}" if setting else name


def _setting(case: CaseFinding) -> str:
    return ", ".join(filter(None, (case.summary.key.setting_words, case.governor)))


def _why_no_point(results: Results, tables: Sequence[TableFindings], lost: int) -> str:
    cases = [case for table in tables for case in table.cases]
    if lost:
        return words.PLANE_ALL_LOST
    if any({TIME, ENERGY} <= case.samples.keys() for case in cases):
        return words.PLANE_NO_BASELINE
    return why_not_measured(results, cases, fields_of(ENERGY.field))


def _points(table: TableFindings) -> tuple[list[_Point], int]:
    """Return the cases of a table that can be compared, and how many lost too many runs for it."""
    cases = [
        case
        for case in table.cases
        if {TIME, ENERGY} <= case.samples.keys() and not case.summary.key.co_runner
    ]
    usable = [case for case in cases if case.is_comparable]
    reference = next((case for case in usable if case.is_baseline), None)
    if reference is None:
        return [], len(cases) if any(case.is_baseline for case in cases) else 0
    points = []
    for case in usable:
        time, energy = (case.mean_ratio(reference, objective) for objective in (TIME, ENERGY))
        if not (0 < time < math.inf and 0 < energy < math.inf):
            continue
        sample, against = case.samples[TIME], reference.samples[TIME].mean
        interval = sample.mean_interval or t_interval(sample.n, sample.mean, sample.sd)
        points.append(
            _Point(
                case,
                table.key.threads_label,
                math.log(time),
                math.log(energy),
                interval and Interval(interval.low / against, interval.high / against),
            )
        )
    return points, len(cases) - len(usable)


def _panels(found: Sequence[tuple[TableFindings, Sequence[_Point]]]) -> list[_Panel]:
    program = program_names([table.key for table, _ in found])
    names = list(dict.fromkeys(program(table.key) for table, _ in found))
    found = sorted(
        found, key=lambda pair: (names.index(program(pair[0].key)), pair[0].key.all_threads)
    )
    if len(found) <= _MAX_TABLES:
        return [
            _Panel(f"{program(table.key)} {table.key.threads_label}".rstrip(), tuple(points))
            for table, points in found
        ]
    return [
        _Panel(program(alike[0][0].key), tuple(chain.from_iterable(points for _, points in alike)))
        for alike in grouped(found, lambda pair: program(pair[0].key))
    ]


def _drawn(
    panels: Sequence[_Panel], settings: Sequence[str], title: str, across: Scale, layout: Layout
) -> Figure:
    width = layout.wide(_ALONE)
    if layout.width is None and len(panels) > 1:
        width = layout.wide()
    inside = width - _LEFT - _RIGHT
    columns = max(1, min(len(panels), int((inside + _GAP) / (_PANEL + _GAP))))
    lines = -(-len(panels) // columns)
    # Equal lines: of five panels three and two, not four and one.
    columns = -(-len(panels) // lines)
    wide = (inside - _GAP * (columns - 1)) / columns
    high = min(wide, _MOST_HEIGHT)
    title_lines = layout.title_lines(title, width)
    mappings = dict.fromkeys(point.case.full_mapping for panel in panels for point in panel.points)
    entries = _legend(list(mappings), settings, layout)
    head = LINE_IN + 0.06
    top = 0.06 + LINE_IN * len(title_lines)
    bottom = 0.45 + LEGEND_IN * legend_lines(entries, width)
    height = top + lines * (head + high) + bottom
    figure = Figure(figsize=(width, height))
    put_title(figure, title_lines)
    points = [point for panel in panels for point in panel.points]
    along = Scale(*_limits([point.energy for point in points]))
    for number, panel in enumerate(panels):
        line, column = divmod(number, columns)
        left = _LEFT + column * (wide + _GAP)
        low = height - top - (line + 1) * (head + high)
        axes = figure.add_axes((left / width, low / height, wide / width, high / height))
        name = " ".join(layout.name(part) for part in panel.title.split(" "))
        axes.set_title(shortened(name, wide), pad=3)
        put_scale(axes, True, across, wide)
        put_scale(axes, False, along, high)
        # The panels of a line, and those of a column, share their numbers.
        axes.tick_params(labelleft=column == 0, labelbottom=number + columns >= len(panels))
        _draw_panel(axes, number, panel, mapping_looks(mappings), settings, across, (wide, high))
    foot = (bottom - 0.21) / height
    figure.text(
        (_LEFT + inside / 2) / width, foot, words.PLANE_TIME, ha="center", va="top", fontsize=_SIZE
    )
    words_along = "\n".join(wrap(words.PLANE_ENERGY, lines * (head + high), _SIZE))
    figure.text(
        0.03 / width, (bottom + lines * (head + high) / 2) / height, words_along, rotation=90,
        ha="left", va="center", fontsize=_SIZE,
    )  # fmt: skip
    put_legend(figure, entries)
    return figure


def _time_scale(points: Sequence[_Point]) -> Scale:
    intervals = [point.interval for point in points if point.interval]
    ends = [end for interval in intervals for end in (interval.low, interval.high)]
    return Scale(*_limits(axis_range([math.exp(point.time) for point in points], ends)))


def _limits(logs: Sequence[float]) -> tuple[float, float]:
    low, high = min(0.0, *logs), max(0.0, *logs)
    room = max(0.1 * (high - low), 0.005)
    return low - room, high + room


def _legend(mappings: Sequence[str], settings: Sequence[str], layout: Layout) -> list[Entry]:
    entries = mapping_entries(mappings, layout, 2.4)
    if len(settings) > 1:
        entries += [
            entry(shortened(shown_settings(setting, layout), 2.4, 7.5), _filled("o", GREY, number))
            for number, setting in enumerate(settings)
        ]
    return [*entries, entry(words.EQUAL_PRODUCT, _PRODUCT)]


_PRODUCT: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "linestyle": ":"}


def _filled(marker: str, colour: str, setting: int) -> dict[str, Any]:
    return marker_style(marker, _MARKER, colour, colour) | {
        "fillstyle": _FILLS[min(setting, len(_FILLS) - 1)],
        "markerfacecoloralt": "white",
        "markeredgewidth": 0.9,
    }


def _draw_panel(
    axes: Axes,
    number: int,
    panel: _Panel,
    looks: Mapping[str, tuple[str, str]],
    settings: Sequence[str],
    across: Scale,
    size: tuple[float, float],
) -> None:
    axes.axvline(0, color=BLACK, linewidth=0.6, zorder=1)
    axes.axhline(0, color=BLACK, linewidth=0.6, zorder=1)
    first, last = axes.get_xlim()
    times = np.geomspace(1 + max(first, -99.9) / 100, 1 + last / 100, 50)
    (low, high) = axes.get_ylim()
    axes.plot(100 * (times - 1), 100 * (1 / times - 1), zorder=1, **_PRODUCT)
    axes.set_ylim(low, high)
    for place, point in enumerate(panel.points):
        colour, marker = looks[point.case.full_mapping]
        time, energy = (100 * math.expm1(log) for log in (point.time, point.energy))
        if ends := point.ends:
            axes.plot(across.inside(ends), [energy] * 2, color=colour, linewidth=0.9, zorder=2)
            put_arrows(axes, across, ends, energy, colour, _ARROW)
        look = _filled(marker, colour, settings.index(_setting(point.case)))
        axes.plot([time], [energy], zorder=3, gid=_gid(number, place), **look)
    _label_extremes(axes, panel, size)


def _gid(panel: int, place: int) -> str:
    """Return the id of a case's mark by the numbers of its panel and in it."""
    return f"case-{panel}-{place}"


def _tooltips(panels: Sequence[_Panel], layout: Layout) -> dict[str, str]:
    return {
        _gid(number, place): _tooltip(point, layout)
        for number, panel in enumerate(panels)
        for place, point in enumerate(panel.points)
    }


def _tooltip(point: _Point, layout: Layout) -> str:
    time, energy = (math.expm1(log) for log in (point.time, point.energy))
    interval = point.interval
    ends = (interval.low - 1, interval.high - 1) if interval else None
    change = change_in_words(time, ends)
    text = words.PLANE_MARK.format(time=change, energy=signed_in_percent(energy, 3))
    return f"{case_label(point.case, layout)}: {text.replace('-', MINUS)}"


def _label_extremes(axes: Axes, panel: _Panel, size: tuple[float, float]) -> None:
    """Write what is least at the cases where it is, where no marker and no other label stands."""
    (first, last), (low, high) = axes.get_xlim(), axes.get_ylim()
    bottom, top = (math.log1p(end / 100) for end in (low, high))
    left, right = (math.log1p(end / 100) for end in (first, last))
    wide, tall = (72 * inches for inches in size)

    def place(point: _Point) -> tuple[float, float]:
        return (
            wide * (point.time - left) / (right - left),
            tall * (point.energy - bottom) / (top - bottom),
        )

    inside = Bbox.from_bounds(0, 0, wide, tall)
    taken = [Bbox.from_bounds(x - 2.5, y - 2.5, 5, 5) for x, y in map(place, panel.points)]
    several = len({point.team for point in panel.points}) > 1
    for point, letters in _extremes(panel):
        text = ", ".join(letters)
        label = f"{text} {point.team}" if several and point.team else text
        x, y = place(point)
        boxes = [_box(x + right_by, y + up_by, label, right_by) for right_by, up_by in _PLACES]
        clashes = [box.count_overlaps(taken) + 2 * _sticks_out(box, inside) for box in boxes]
        best = clashes.index(min(clashes))
        right_by, up_by = _PLACES[best]
        axes.annotate(
            label, (100 * math.expm1(point.time), 100 * math.expm1(point.energy)),
            (right_by, up_by), textcoords="offset points", fontsize=_SIZE - 0.5, zorder=5,
            ha="left" if right_by > 0 else "right" if right_by < 0 else "center", va="bottom",
            weight="bold",
        )  # fmt: skip
        taken.append(boxes[best])


def _sticks_out(box: Bbox, inside: Bbox) -> bool:
    wide = box.x0 < inside.x0 or box.x1 > inside.x1
    return bool(wide or box.y0 < inside.y0 or box.y1 > inside.y1)


def _box(x: float, y: float, text: str, right_by: int) -> Bbox:
    """Return what a text takes that begins, ends (`right_by` below 0) or has its middle there."""
    wide = 72 * text_width(text, _SIZE - 0.5, "bold")
    left = x if right_by > 0 else x - wide if right_by < 0 else x - wide / 2
    return Bbox.from_bounds(left, y, wide, _LINE_PT)


def _extremes(panel: _Panel) -> list[tuple[_Point, list[str]]]:
    values: dict[str, Callable[[_Point], float]] = {
        "T": lambda point: point.time,
        "E": lambda point: point.energy,
        "EDP": lambda point: point.time + point.energy,
    }
    least: dict[str, tuple[_Point, list[str]]] = {}
    for letters, value in values.items():
        point = min(panel.points, key=value)
        least.setdefault(point.case.case_id, (point, []))[1].append(letters)
    return list(least.values())


def _extremes_in_words(panels: Sequence[_Panel], layout: Layout) -> Iterator[str]:
    for panel in panels:
        for point, letters in _extremes(panel):
            time, energy = (
                signed_in_percent(math.expm1(log), 2) for log in (point.time, point.energy)
            )
            yield words.PLANE_EXTREME.format(
                panel=panel.title,
                label=" and ".join(words.LEAST[name] for name in letters),
                case=case_label(point.case, layout),
                time=time,
                energy=energy,
            )
