"""The plane of time and energy: the Pareto front, and curves of equal energy-delay product."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D

from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import (
    LEGEND_IN,
    legend_lines,
    looks_of_cases,
    put_legend,
    put_title,
    reach,
)
from analysis.figures.style import (
    BLACK,
    GREY,
    WIDTH,
    in_style,
    label_text,
    look_of,
    marker_of,
    new_figure,
)
from analysis.figures.words import named, number, sentences, why_not_measured
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings

TITLE = "Time and energy together"
HEIGHT = 4.6
# Curves of equal product are drawn at the best one and at such multiples of it as are in sight.
_MULTIPLES = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 50.0, 100.0)
_MAX_CURVES = 5
# More numbers than that cover each other.
_MAX_NUMBERED = 20
_SOME_NUMBERED = "Only baselines and cases on the front have their numbers here."
_NEVER_ON_FRONT = (
    "A case that lost more than a tenth of its runs to placement is compared with none, and is "
    "never on the front."
)
# Where a case's number may stand, in points from its marker; the first free place is taken.
_PLACES = ((6, 4), (6, -10), (-6, 4), (-6, -10), (0, 9), (0, -15), (14, 0), (-14, 0),
           (16, 12), (16, -18), (-16, 12), (-16, -18), (0, 20), (0, -27))  # fmt: skip
_LETTER_PT, _LINE_PT = 5.2, 9.0
# Where a curve's name stands from there: points, alignment, and the share of the edge it takes.
_NAME_AT: dict[str, tuple[tuple[int, int], str, float]] = {
    "top": ((0, 2), "center", 0.07),
    "left": ((3, 1), "left", 0.05),
    "right": ((3, -3), "left", 0.05),
}
_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Point:
    case: CaseFinding
    time: float
    energy: float


def draw_plane(results: Results, table: TableFindings, name: str) -> Drawing | NotDrawn:
    """Draw each case at its mean time and mean energy; less of both is better."""
    points = [
        _Point(case, case.samples["time"].mean, case.samples["energy"].mean)
        for case in table.cases
        if "time" in case.samples and "energy" in case.samples
    ]
    if not points:
        fields = ["energy_pkg_j"]
        return NotDrawn(name, TITLE, why_not_measured(results, table.cases, fields))
    with in_style():
        figure = new_figure(HEIGHT)
        lines = textwrap.wrap(label_text(table.title, 315), 105)
        put_title(figure, lines)
        entries = [*looks_of_cases([p.case for p in points]), *_marks()]
        bottom, top = (
            (0.55 + LEGEND_IN * legend_lines(entries)) / HEIGHT,
            1 - (0.42 + 0.16 * len(lines)) / HEIGHT,
        )
        axes = figure.add_axes((0.62 / WIDTH, bottom, 1 - 1.15 / WIDTH, top - bottom))
        axes.set_xlabel("mean time (s)")
        axes.set_ylabel("mean package energy (J)")
        _limits(axes, points)
        curves = _curves(axes, points)
        _front(axes, points)
        _points(axes, points)
        numbered = _numbered(points)
        _numbers(axes, points, numbered)
        put_legend(figure, entries)
    caption = sentences(
        "A marker is a case with the 95 % intervals of its means, numbered as in the table; "
        "nearer to the lower left corner is better.",
        "" if len(numbered) == len(points) else _SOME_NUMBERED,
        "No other case is better than one on the front in both time and energy.",
        "" if all(p.case.placed.usable for p in points) else _NEVER_ON_FRONT,
        f"Along a dotted curve the energy-delay product is the same: {curves} times the least."
        if curves
        else "",
    )
    return Drawing(name, TITLE, caption, _seen(points), figure)


def _limits(axes: Axes, points: Sequence[_Point]) -> None:
    for values, set_limits in (
        ([p.time for p in points], axes.set_xlim),
        ([p.energy for p in points], axes.set_ylim),
    ):
        low, high = min(values), max(values)
        room = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
        set_limits(max(low - room, 0.0), high + room)


def _curves(axes: Axes, points: Sequence[_Point]) -> str:
    """Draw curves of equal energy-delay product; return their multiples of the least one."""
    least = min(p.time * p.energy for p in points)
    left, right = axes.get_xlim()
    if least <= 0:
        return ""
    x = np.linspace(max(left, right * 1e-3), right, 200)
    shown: dict[float, _Exit] = {}
    for multiple in _MULTIPLES:
        found = _exit(axes, multiple * least)
        if found and len(shown) < _MAX_CURVES and not any(map(found.hides, shown.values())):
            shown[multiple] = found
    for multiple, at in shown.items():
        axes.plot(x, multiple * least / x, color=GREY, linewidth=0.7, linestyle=":", zorder=1)
        axes.annotate(
            f"{multiple:g} x", (at.x, at.y), _NAME_AT[at.edge][0], textcoords="offset points",
            ha=_NAME_AT[at.edge][1], va="bottom", color=GREY, fontsize=7,
        )  # fmt: skip
    return ", ".join(f"{multiple:g}" for multiple in shown)


@dataclass(frozen=True)
class _Exit:
    """Where a curve leaves the axes: at which edge, and how far along it (a share)."""

    edge: str
    x: float
    y: float
    along: float

    def hides(self, other: _Exit) -> bool:
        """Return whether the names of both curves would cover each other."""
        return self.edge == other.edge and abs(self.along - other.along) < _NAME_AT[self.edge][2]


def _exit(axes: Axes, product: float) -> _Exit | None:
    """Return where the curve of an energy-delay product has its name; None when out of sight."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    if not max(left * low, 0.0) < product < right * high:
        return None
    if left < product / high:
        at = product / high
        return _Exit("top", at, high, (at - left) / (right - left))
    edge, x = ("right", right) if low < product / right else ("left", left)
    return _Exit(edge, x, product / x, (product / x - low) / (high - low))


def _front(axes: Axes, points: Sequence[_Point]) -> None:
    front = sorted((p.time, p.energy) for p in points if p.case.on_front)
    if not front:
        return
    (_, right), (_, high) = axes.get_xlim(), axes.get_ylim()
    times = [front[0][0], *(time for time, _ in front), right]
    energies = [high, *(energy for _, energy in front), front[-1][1]]
    axes.plot(times, energies, drawstyle="steps-post", color=BLACK, linewidth=1.0, zorder=2)


def _points(axes: Axes, points: Sequence[_Point]) -> None:
    for p in points:
        look = look_of(p.case.summary.selection)
        axes.errorbar(
            p.time, p.energy, xerr=reach([p.case.samples["time"]]),
            yerr=reach([p.case.samples["energy"]]), fmt=marker_of(p.case.summary.binding),
            markersize=6.5, color=look.colour, markerfacecolor=to_rgba(look.face, 0.4),
            elinewidth=1.0, zorder=3,
        )  # fmt: skip


def _numbered(points: Sequence[_Point]) -> list[_Point]:
    """Return the cases that have a number: of many, the baselines and those on the front."""
    if len(points) <= _MAX_NUMBERED:
        return list(points)
    return [p for p in points if p.case.on_front or p.case.is_baseline]


def _numbers(axes: Axes, points: Sequence[_Point], numbered: Sequence[_Point]) -> None:
    """Put each case's number beside its marker, where no marker and no other number is."""
    scale = 72 / axes.figure.dpi
    where = axes.transData.transform([(p.time, p.energy) for p in points]) * scale
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in where]
    for p, (x, y) in zip(points, where, strict=True):
        if p not in numbered:
            continue
        text = f"#{p.case.number}"
        boxes = [_box(x + dx, y + dy, text, dx) for dx, dy in _PLACES]
        clashes = [sum(_overlap(box, other) for other in taken) for box in boxes]
        best = clashes.index(min(clashes))
        dx, dy = _PLACES[best]
        far = abs(dx) > 6 or abs(dy) > 10
        axes.annotate(
            text, (p.time, p.energy), (dx, dy), textcoords="offset points", fontsize=7.5,
            ha="left" if dx > 0 else "right" if dx < 0 else "center", va="bottom", zorder=5,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5} if far else None,
        )  # fmt: skip
        taken.append(boxes[best])


def _box(x: float, y: float, text: str, dx: int) -> _Box:
    wide = _LETTER_PT * len(text)
    left = x if dx > 0 else x - wide if dx < 0 else x - wide / 2
    return left, y, left + wide, y + _LINE_PT


def _overlap(a: _Box, b: _Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    tall = min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(tall, 0.0)


def _marks() -> list[Line2D]:
    return [
        Line2D([], [], color=BLACK, linewidth=1.0, label="Pareto front"),
        Line2D(
            [],
            [],
            color=GREY,
            linewidth=0.7,
            linestyle=":",
            label="equal energy-delay product, x the least",
        ),
    ]


def _seen(points: Sequence[_Point]) -> str:
    front = [named(p.case) for p in sorted(points, key=lambda p: p.time) if p.case.on_front]
    fastest = min(points, key=lambda p: p.time)
    thriftiest = min(points, key=lambda p: p.energy)
    best = min(points, key=lambda p: p.time * p.energy)
    return sentences(
        f"{len(points)} cases by mean time and mean energy.",
        f"On the Pareto front: {', '.join(front)}." if front else "",
        f"Least time: {named(fastest.case)}, {number(fastest.time)} s and "
        f"{number(fastest.energy)} J.",
        f"Least energy: {named(thriftiest.case)}, {number(thriftiest.time)} s and "
        f"{number(thriftiest.energy)} J.",
        f"Least energy-delay product: {named(best.case)}.",
    )
