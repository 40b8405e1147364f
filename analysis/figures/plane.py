"""The plane of time and energy: the Pareto front, and curves of equal energy-delay product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from analysis.figures.drawing import (
    FIXED_TIME,
    Drawing,
    NotDrawn,
    sentences,
    why_not_measured,
)
from analysis.figures.rows import (
    LEGEND_IN,
    LINE_IN,
    case_entries,
    entry,
    legend_lines,
    look,
    put_legend,
    put_title,
    reach,
    title_lines,
)
from analysis.figures.style import BLACK, GREY, WIDTH
from analysis.format.numbers import three_digits
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings

TITLE = "Time and energy together"
HEIGHT = 4.6
# Curves of equal product are drawn at the best one and at such multiples of it as are in sight.
_MULTIPLES = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 50.0, 100.0)
_MAX_CURVES = 5
_CURVE: dict[str, Any] = {"color": GREY, "linewidth": 0.7, "linestyle": ":"}
_FRONT: dict[str, Any] = {"color": BLACK, "linewidth": 1.0}
# More numbers than that cover each other.
_MAX_NUMBERED = 20
_SOME_NUMBERED = "Only baselines and cases on the front have their numbers here."
_NEVER_ON_FRONT = (
    "A case that lost more than a tenth of its runs, or did not make them in turn with its "
    "baseline, is compared with none, and is never on the front."
)
# Where a case's number may stand, in points from its marker; the first free place is taken.
_PLACES = ((6, 4), (6, -10), (-6, 4), (-6, -10), (0, 9), (0, -15), (14, 0), (-14, 0),
           (16, 12), (16, -18), (-16, 12), (-16, -18), (0, 20), (0, -27))  # fmt: skip
_LETTER_PT, _LINE_PT = 5.2, 9.0


@dataclass(frozen=True)
class _Point:
    case: CaseFinding
    time: float
    energy: float


def draw_plane(results: Results, table: TableFindings, name: str) -> Drawing | NotDrawn:
    """Draw each case at its mean time and mean energy; less of both is better."""
    if table.fixed_time:
        return NotDrawn(name, TITLE, FIXED_TIME)
    points = [
        _Point(case, case.samples["time"].mean, case.samples["energy"].mean)
        for case in table.cases
        if "time" in case.samples and "energy" in case.samples
    ]
    if not points:
        fields = ["energy_pkg_j"]
        return NotDrawn(name, TITLE, why_not_measured(results, table.cases, fields))
    figure = Figure(figsize=(WIDTH, HEIGHT))
    lines = title_lines(table.title)
    put_title(figure, lines)
    entries = [
        *case_entries(p.case for p in points),
        entry("Pareto front", _FRONT),
        entry("equal energy-delay product, x the least", _CURVE),
    ]
    bottom = (0.55 + LEGEND_IN * legend_lines(entries)) / HEIGHT
    top = 1 - (0.3 + LINE_IN * len(lines)) / HEIGHT
    axes = figure.add_axes((0.62 / WIDTH, bottom, 1 - 0.85 / WIDTH, top - bottom))
    axes.set_xlabel("mean time (s)")
    axes.set_ylabel("mean package energy (J)")
    _limits(axes, points)
    # A case that is not compared is best in nothing.
    compared = [p for p in points if p.case.is_comparable] or points
    curves = _curves(axes, min(p.time * p.energy for p in compared))
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
        "" if all(p.case.is_comparable for p in points) else _NEVER_ON_FRONT,
        f"Along a dotted curve the energy-delay product is the same: {curves} times the least."
        if curves
        else "",
    )
    alt = f"{len(points)} cases by mean time and mean energy. {_best(compared)}"
    return Drawing(name, TITLE, caption, alt, figure)


def _limits(axes: Axes, points: Sequence[_Point]) -> None:
    for values, set_limits in (
        ([p.time for p in points], axes.set_xlim),
        ([p.energy for p in points], axes.set_ylim),
    ):
        low, high = min(values), max(values)
        room = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
        set_limits(max(low - room, 0.0), high + room)


def _curves(axes: Axes, least: float) -> str:
    """Draw curves of equal energy-delay product; return their multiples of the least one."""
    if least <= 0:
        return ""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    times, energies = np.linspace(left, right, 100), np.linspace(low, high, 100)
    multiples = np.outer(energies, times) / least
    inside = [m for m in _MULTIPLES if multiples.min() < m < multiples.max()]
    inside = inside[:: -(-len(inside) // _MAX_CURVES) or 1]
    if inside:
        curves = axes.contour(
            times, energies, multiples, inside, colors=GREY, linewidths=0.7, linestyles=":",
            zorder=1,
        )  # fmt: skip
        axes.clabel(curves, fmt="%g x", fontsize=7)
    return ", ".join(f"{multiple:g}" for multiple in inside)


def _front(axes: Axes, points: Sequence[_Point]) -> None:
    front = sorted((p.time, p.energy) for p in points if p.case.on_front)
    if not front:
        return
    (_, right), (_, high) = axes.get_xlim(), axes.get_ylim()
    times = [front[0][0], *(time for time, _ in front), right]
    energies = [high, *(energy for _, energy in front), front[-1][1]]
    axes.plot(times, energies, drawstyle="steps-post", zorder=2, **_FRONT)


def _points(axes: Axes, points: Sequence[_Point]) -> None:
    for p in points:
        style, marker = look(p.case)
        across, along = (p.case.samples[objective] for objective in ("time", "energy"))
        axes.errorbar(
            p.time, p.energy, xerr=np.transpose([reach(p.time, across.mean_interval)]),
            yerr=np.transpose([reach(p.energy, along.mean_interval)]),
            fmt=marker, markersize=6.5, color=style.colour,
            markerfacecolor=to_rgba(style.face, 0.4), elinewidth=1.0, zorder=3,
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
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in where]
    for p, (x, y) in zip(points, where, strict=True):
        if p not in numbered:
            continue
        text = f"#{p.case.number}"
        boxes = [_box(x + dx, y + dy, text, dx) for dx, dy in _PLACES]
        clashes = [box.count_overlaps(taken) for box in boxes]
        best = clashes.index(min(clashes))
        dx, dy = _PLACES[best]
        far = abs(dx) > 6 or abs(dy) > 10
        axes.annotate(
            text, (p.time, p.energy), (dx, dy), textcoords="offset points", fontsize=7.5,
            ha="left" if dx > 0 else "right" if dx < 0 else "center", va="bottom", zorder=5,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5} if far else None,
        )  # fmt: skip
        taken.append(boxes[best])


def _box(x: float, y: float, text: str, dx: int) -> Bbox:
    """Return what a text takes that begins, ends (`dx` below 0) or has its middle there."""
    wide = _LETTER_PT * len(text)
    left = x if dx > 0 else x - wide if dx < 0 else x - wide / 2
    return Bbox.from_bounds(left, y, wide, _LINE_PT)


def _best(points: Sequence[_Point]) -> str:
    """Return which cases are on the front, and the best in time, energy and their product."""
    front = [p.case.label for p in sorted(points, key=lambda p: p.time) if p.case.on_front]
    fastest = min(points, key=lambda p: p.time)
    thriftiest = min(points, key=lambda p: p.energy)
    best = min(points, key=lambda p: p.time * p.energy)
    return sentences(
        f"On the Pareto front: {', '.join(front)}." if front else "",
        f"Least time: {fastest.case.label}, {three_digits(fastest.time)} s and "
        f"{three_digits(fastest.energy)} J.",
        f"Least energy: {thriftiest.case.label}, {three_digits(thriftiest.time)} s and "
        f"{three_digits(thriftiest.energy)} J.",
        f"Least energy-delay product: {best.case.label}.",
    )
