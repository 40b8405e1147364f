"""An axis of changes in per cent, on which twice as much and half as much are as far from none.

Where changes are large it is compressed away from 0, so that small ones are seen beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from pinstudy.analysis.figures.style import text_width
from pinstudy.analysis.format.numbers import signed_in_percent, signed_percents
from pinstudy.analysis.words import report as words

MINUS = "\N{MINUS SIGN}"
# Beyond this change, as the logarithm of a ratio, the axis is compressed; and where that begins.
_WIDE, _NEAR = math.log(1.35), 0.1
# The room that is kept free at both ends, as a part of the axis.
_ROOM = 0.04
TICK_SIZE = 7.0
# An interval may reach so many times as far as the farthest mark.
_MOST_REACH = 1.5
# An interval to this logarithm of a ratio is never cut: 10 % are read on any axis.
_ALWAYS_REACH = math.log1p(0.1)
# Changes in per cent that may stand on a wide axis, those to be there first first.
_TICKS = (
    0, 10, -10, 100, -50, 50, -20, 20, -90, 900, 5, -5, 300, -75, 9900, -99, 200, 30, -30, 2, -2,
    400, -80, 1900, -95, 4900, 99900, 1, -1,
)  # fmt: skip


@dataclass(frozen=True)
class Scale:
    """The ends of an axis as logarithms of ratios, and where it begins to be compressed.

    `near` is infinite where it is not compressed at all.
    """

    low: float
    high: float
    near: float = math.inf

    @classmethod
    def between(cls, low: float, high: float) -> Scale:
        """Return the scale from a logarithm to another, compressed where that is wide."""
        scale = cls(low, high)
        return replace(scale, near=_NEAR) if scale.is_wide else scale

    @property
    def is_wide(self) -> bool:
        """Whether even steps in per cent would not do."""
        return max(-self.low, self.high) > _WIDE

    @property
    def is_compressed(self) -> bool:
        """Whether equal steps of the axis are unequal ones of the ratio's logarithm."""
        return self.near < math.inf

    def places(self, percents: ArrayLike) -> NDArray[np.float64]:
        """Return where changes in per cent stand, 0 at 0."""
        shares = np.asarray(percents, dtype=float) / 100
        # Matplotlib asks for places of less than nothing, too.
        logs: NDArray[np.float64] = np.log1p(np.maximum(shares, -1 + 1e-12))
        return np.arcsinh(logs / self.near) if self.is_compressed else logs

    def percents(self, places: ArrayLike) -> NDArray[np.float64]:
        """Return the changes in per cent at places."""
        there = np.asarray(places, dtype=float)
        logs = self.near * np.sinh(there) if self.is_compressed else there
        return np.asarray(100 * np.expm1(logs), dtype=float)

    @property
    def limits(self) -> tuple[float, float]:
        """The changes in per cent at both edges."""
        start, end = self.places([100 * math.expm1(self.low), 100 * math.expm1(self.high)])
        room = _ROOM * (end - start)
        first, last = self.percents([start - room, end + room])
        return float(first), float(last)

    def cuts(self, ends: tuple[float, float]) -> tuple[bool, bool]:
        """Return whether an interval, in per cent, goes on beyond the lower and the upper edge."""
        (low, high), (first, last) = ends, self.limits
        return low < first, high > last

    def inside(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Return the ends of an interval, in per cent, as far as they are inside of the edges."""
        (low, high), (first, last) = ends, self.limits
        return max(low, first), min(high, last)


def axis_range(
    ratios: Iterable[float], ends: Iterable[float], least: float = 0.0
) -> tuple[float, float]:
    """Return where an axis of ratios has to begin and end, as logarithms.

    All `ratios` are seen, and the `ends` of their intervals as far as that allows; `least` is how
    far it goes to both sides at least.
    """
    logs = [_log(ratio) for ratio in ratios]
    farthest = max([least, *(abs(log) for log in logs if math.isfinite(log))])
    most = max(_MOST_REACH * farthest, _ALWAYS_REACH)
    to = [*logs, *map(_log, ends)]
    return max(min(-least, *to), -most), min(max(least, *to), most)


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def put_arrows(
    axes: Axes, scale: Scale, ends: tuple[float, float], y: float, colour: str, size: float
) -> None:
    """Draw an arrow at each edge of the x axis beyond which an interval, in per cent, goes on."""
    for is_cut, edge, arrow in zip(scale.cuts(ends), scale.limits, "<>", strict=True):
        if is_cut:
            axes.plot(
                [edge], [y], marker=arrow, color=colour, markersize=size, clip_on=False, zorder=3
            )


def put_scale(axes: Axes, across: bool, scale: Scale, inches: float) -> None:
    """Give the x axis (`across`), or the y axis, of that many inches its scale, limits and ticks.

    Its numbers are changes in per cent.
    """
    first, last = scale.limits
    functions = scale.places, scale.percents
    if across:
        axes.set_xscale("function", functions=functions)
        axes.set_xlim(first, last)
    else:
        axes.set_yscale("function", functions=functions)
        axes.set_ylim(first, last)
    even = MaxNLocator(max(3, int(inches / 0.5))).tick_values(first, last)
    start, end = scale.places([first, last])
    per_unit = inches / (end - start)
    ticks = [tick for tick in (_TICKS if scale.is_wide else even) if first <= tick <= last]
    room = [text_width(_tick(tick), TICK_SIZE) + 0.08 if across else 0.16 for tick in ticks]
    ticks = _fitting(ticks, [per_unit * place for place in scale.places(ticks)], room)
    axis = axes.xaxis if across else axes.yaxis
    axis.set_ticks(ticks, [_tick(tick) for tick in ticks], fontsize=TICK_SIZE)
    axis.set_ticks([], minor=True)


def change_in_words(share: float, ends: tuple[float, float] | None = None) -> str:
    """Return a change, a share, in per cent, with the ends of its interval where it has one."""
    if ends is None:
        text = words.MARK.format(change=signed_in_percent(share, 3))
    else:
        change, (low, high) = signed_percents(share, *ends)
        text = words.MARK_WITH_INTERVAL.format(change=change, low=low, high=high)
    return text.replace("-", MINUS)


def _tick(percent: float) -> str:
    return f"{'+' if percent > 0 else ''}{percent:g}".replace("-", MINUS)


def _fitting(ticks: Sequence[float], places: Sequence[float], room: Sequence[float]) -> list[float]:
    """Return the ticks whose labels have room beside those before them, all in inches."""
    fitting: list[float] = []
    taken: list[tuple[float, float]] = []
    for tick, place, wide in zip(ticks, places, room, strict=True):
        start, end = place - wide / 2, place + wide / 2
        if all(end <= before or start >= after for before, after in taken):
            taken.append((start, end))
            fitting.append(tick)
    return fitting
