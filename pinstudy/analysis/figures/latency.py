"""The heat map of a node's core-to-core latencies, with the kernel's topology at its edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator

from pinstudy.analysis.figures.drawing import Drawing, sentences
from pinstudy.analysis.figures.rows import (
    LEGEND_IN,
    LINE_IN,
    Entry,
    area_entry,
    legend_lines,
    put_legend,
    put_title,
)
from pinstudy.analysis.figures.style import (
    BLACK,
    GREY,
    PALE,
    SCREEN,
    VERMILION,
    Layout,
    cores_of,
    kind_style,
)
from pinstudy.analysis.latency.findings import kernel_groups, levels_of, near_order
from pinstudy.analysis.latency.reading import Latency
from pinstudy.analysis.statistics.sample import Array
from pinstudy.analysis.words.experiments import ns
from pinstudy.base.text import plural

TITLE = "Core-to-core latency"

# Inches: the map's side at most, a cell's at most; margins.
_SIDE, _CELL = 4.9, 0.75
_RIGHT, _LEFT, _AXIS = 0.95, 0.12, 0.12
_MIN_WIDTH = 4.8
# The scale's bar: how far from the map, how wide, how high at most.
_BAR_AWAY, _BAR_WIDE, _BAR_HIGH = 0.2, 0.15, 3.2
# Smaller numbers cannot be read in print; in cells that wide, in inches, they have a decimal.
_LEAST_SIZE = 6.0
_WIDE_CELL = 0.28
# Where latencies differ more, equal steps of colour are equal ratios.
_MAX_LINEAR = 3.0
# The scale reaches as far as that from its middle, at least: small differences shall look small.
_MIN_REACH = 0.1
# Perceptually uniform, readable in grey and by any colour vision.
_COLOURS = "viridis"
# From this part of the scale on the colours are so light that black numbers have more contrast.
_LIGHT = 0.44
_CROSS = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class _Map:
    """What is drawn: CPUs in order, medians from row to column, the scale, a cell's inches."""

    cpus: tuple[int, ...]
    values: Array
    low: float
    high: float
    cell: float

    @property
    def norm(self) -> Normalize:
        """The scale: of ratios where latencies differ much."""
        if self.high > _MAX_LINEAR * self.low:
            return LogNorm(self.low, self.high)
        return Normalize(self.low, self.high)

    @property
    def number_size(self) -> float:
        """The size of a cell's number, in points."""
        return min(8.0, 0.36 * 72 * self.cell)

    @property
    def has_numbers(self) -> bool:
        """Whether cells have room for numbers that can be read."""
        return self.number_size >= _LEAST_SIZE

    @property
    def beyond(self) -> bool:
        """Whether some value is off the scale."""
        return bool(np.nanmax(self.values) > self.high)


def draw_latency(latency: Latency, layout: Layout = SCREEN) -> Drawing:
    """Draw the median one-way time from each CPU (row) to each other one (column)."""
    figure = _drawn(latency, layout)
    return Drawing("latency", TITLE, _caption(latency), _alt_text(latency), figure)


def _map(latency: Latency, side: float) -> _Map:
    """Return the map; `side` is its greatest width in inches."""
    cpus = tuple(near_order(latency, latency.cpus))
    order = np.searchsorted(latency.cpus, cpus)
    values = latency.matrix[np.ix_(order, order)]
    calm = values.copy()
    for first, second, _ in latency.disturbed:
        a, b = cpus.index(first), cpus.index(second)
        calm[a, b] = calm[b, a] = np.nan
    low, high = float(np.nanmin(calm)), float(np.nanmax(calm))
    middle = (low + high) / 2
    reach = max(high - middle, _MIN_REACH * middle)
    return _Map(cpus, values, middle - reach, middle + reach, min(side / len(cpus), _CELL))


def _drawn(latency: Latency, layout: Layout) -> Figure:
    layers = _layers(latency, near_order(latency, latency.cpus))
    above, beside = _room_for(layers)
    left = _LEFT + beside
    most = _SIDE if layout.width is None else min(_SIDE, layout.width - left - _RIGHT)
    shown = _map(latency, most)
    side = shown.cell * len(shown.cpus)
    width = layout.wide(max(_MIN_WIDTH, left + side + _RIGHT))
    number = "mean" if latency.imported else "median"
    title = f"{TITLE} of {latency.node_id}: {number} one-way time from row to column"
    title_lines = layout.title_lines(title, width)
    top = 0.1 + LINE_IN * len(title_lines) + above
    entries = _legend(latency, layers, shown)
    bottom = _AXIS + LEGEND_IN * legend_lines(entries, width)
    height = top + side + bottom
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((left / width, bottom / height, side / width, side / height))
    _draw_cells(axes, shown)
    _write_cells(axes, shown)
    _draw_edges(axes, shown.cpus, layers, side)
    at, high = (left + side + _BAR_AWAY) / width, min(side, _BAR_HIGH) / height
    _draw_bar(figure, figure.add_axes((at, bottom / height, _BAR_WIDE / width, high)), shown)
    put_title(figure, title_lines)
    put_legend(figure, entries)
    return figure


def _draw_cells(axes: Axes, shown: _Map) -> None:
    n = len(shown.cpus)
    axes.add_patch(
        Rectangle((-0.5, -0.5), n, n, facecolor="white", edgecolor=GREY, hatch="////", linewidth=0)
    )
    for at in range(n):
        axes.add_patch(Rectangle((at - 0.5, at - 0.5), 1, 1, facecolor=PALE, linewidth=0))
    axes.imshow(
        np.ma.masked_invalid(shown.values), cmap=_colours(), norm=shown.norm,
        interpolation="nearest", aspect="equal", zorder=2,
    )  # fmt: skip
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(n - 0.5, -0.5)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(True)


def _colours() -> Colormap:
    return mpl.colormaps[_COLOURS].with_extremes(over=VERMILION, bad=(0, 0, 0, 0))


def _write_cells(axes: Axes, shown: _Map) -> None:
    """Write the numbers where there is room, and a cross where a value is off the scale."""
    size = max(shown.number_size, _LEAST_SIZE)
    for row, column in np.argwhere(np.isfinite(shown.values)):
        value = float(shown.values[row, column])
        if not shown.has_numbers and value <= shown.high:
            continue
        has_decimal = value < (99.95 if shown.cell > _WIDE_CELL else 9.95)
        number = f"{value:.1f}" if has_decimal else f"{value:.0f}"
        text = number if shown.has_numbers else _CROSS
        axes.text(
            column, row, text, ha="center", va="center", fontsize=size, zorder=3,
            color=BLACK if shown.norm(value) > _LIGHT else "white",
        )  # fmt: skip


def _draw_bar(figure: Figure, axes: Axes, shown: _Map) -> None:
    is_log = isinstance(shown.norm, LogNorm)
    bar = figure.colorbar(
        ScalarMappable(shown.norm, _colours()), cax=axes, format="%g",
        ticks=LogLocator(subs=(1, 2, 3, 5, 7)) if is_log else None,
        extend="max" if shown.beyond else "neither",
    )  # fmt: skip
    bar.minorticks_off()
    bar.set_label("ns")
    axes.grid(visible=False)
    axes.tick_params(length=2.5)


def _legend(latency: Latency, layers: Sequence[_Layer], shown: _Map) -> list[Entry]:
    entries: list[Entry] = [
        area_entry(cores_of(kind), kind) for layer in layers for kind in layer.kinds
    ]
    if _unmeasured(latency):
        entries.append(
            Patch(facecolor="white", edgecolor=GREY, hatch="////", linewidth=0.5,
                  label="not measured")
        )  # fmt: skip
    if latency.disturbed:
        sign = "" if shown.has_numbers else f"{_CROSS} "
        entries.append(
            Patch(facecolor=VERMILION, linewidth=0, label=f"{sign}off the scale, disturbed")
        )
    return entries


def _unmeasured(latency: Latency) -> int:
    n = len(latency.cpus)
    return n * (n - 1) - int(np.isfinite(latency.matrix).sum())


def _caption(latency: Latency) -> str:
    lacking, wrong = _unmeasured(latency), len(latency.disturbed)
    return sentences(
        "Rows are the CPU that begins, columns the one that answers.",
        "A cell is the mean that another tool wrote, of either direction."
        if latency.imported
        else "A cell is the median over all samples of that direction.",
        "Brackets at the edges are what the kernel tells."
        if latency.groups_shown is None
        else "Brackets at the edges are groups that the cells show.",
        f"{plural(lacking, 'ordered pair')} not measured." if lacking else "",
        f"{plural(wrong, 'pair')} off the scale, as if disturbed." if wrong else "",
    )


def _alt_text(latency: Latency) -> str:
    (a, b, least), (c, d, most) = latency.nearest, latency.farthest
    measured = plural(len(latency.pairs), "pair")
    return sentences(
        f"Heat map of {plural(len(latency.cpus), 'CPU')}, {measured} measured.",
        f"The least median is {ns(least)} between CPUs {a} and {b}, the greatest {ns(most)} "
        f"between CPUs {c} and {d}.",
    )


# Inches: what numbers take between the map and its layers, and a layer.
_NUMBERS, _LAYER = 0.26, 0.16
# What a letter of a layer's name takes.
_LETTER = 0.055


@dataclass(frozen=True)
class _Layer:
    """Groups of CPUs at the map's edges: brackets, or bars of the kinds that `kinds` names."""

    name: str
    groups: tuple[tuple[int, ...], ...]
    kinds: tuple[str, ...] = ()


def _layers(latency: Latency, cpus: Sequence[int]) -> list[_Layer]:
    """Return what stands at the edges, from the map outwards; kinds only where there are several.

    Levels of the kernel with the same groups share a layer.
    """
    topology, shown = latency.topology, frozenset(cpus)
    kinds = {kind.name: tuple(sorted(shown.intersection(kind.cpus))) for kind in topology.kinds}
    kernel = [group for group in kernel_groups(latency) if len(group.cpus) < len(cpus)]
    names: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for name in levels_of(latency):
        of_level = tuple(group.cpus for group in kernel if name in group.names)
        if of_level:
            names.setdefault(of_level, []).append(name)
    levels = [_Layer(", ".join(of_groups), groups) for groups, of_groups in names.items()]
    if not topology.hybrid:
        return levels
    return [_Layer("kind", tuple(kinds.values()), tuple(kinds)), *levels]


def _room_for(layers: Sequence[_Layer]) -> tuple[float, float]:
    """Return the inches that the layers take beside the map, and at its left with their names."""
    edge = _NUMBERS + _LAYER * len(layers)
    return edge, max(edge, _LETTER * max((len(layer.name) for layer in layers), default=0))


def _draw_edges(axes: Axes, cpus: Sequence[int], layers: Sequence[_Layer], side: float) -> None:
    n = len(cpus)
    digits = len(str(max(cpus)))
    # As many CPUs have a number as have room for one.
    step = math.ceil(_LEAST_SIZE * (digits + 0.5) * n / (1.3 * 72 * side))
    places = list(range(0, n, step))
    size = min(8.0, 1.3 * 72 * side * step / n / (digits + 0.5))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(places, [str(cpus[at]) for at in places], fontsize=size)
        axis.set_tick_params(length=0, pad=2)
    axes.xaxis.tick_top()
    place = {cpu: at for at, cpu in enumerate(cpus)}
    inch = n / side
    for at, layer in enumerate(layers):
        away = -0.5 - (_NUMBERS + _LAYER * (at + 0.5)) * inch
        kinds = layer.kinds or ("",) * len(layer.groups)
        for kind, group in zip(kinds, layer.groups, strict=True):
            for run in _runs([place[cpu] for cpu in group]):
                _mark(axes, run, away, kind, inch)
        axes.text(
            -0.5 - 0.07 * inch, away, layer.name, ha="right", va="center", fontsize=6.5,
            color=GREY, clip_on=False,
        )  # fmt: skip


def _mark(axes: Axes, run: tuple[int, int], away: float, kind: str, inch: float) -> None:
    first, last = run[0] - 0.5, run[1] + 0.5
    inset = min(0.14, 0.04 * inch)
    thick = 0.05 * inch
    if kind:
        for corner, wide, high in (
            ((first, away - thick), last - first, 2 * thick),
            ((away - thick, first), 2 * thick, last - first),
        ):
            axes.add_patch(
                Rectangle(
                    corner, wide, high, linewidth=0.6, clip_on=False, **kind_style(kind).areas
                )
            )
        return
    along = [first + inset, first + inset, last - inset, last - inset]
    across = [away + thick, away - thick, away - thick, away + thick]
    for x, y in ((along, across), (across, along)):
        axes.add_line(Line2D(x, y, color=BLACK, linewidth=0.8, clip_on=False))


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for at in sorted(places):
        if runs and runs[-1][1] == at - 1:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return runs
