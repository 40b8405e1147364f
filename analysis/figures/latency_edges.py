"""The edges of a heat map of CPUs: their order, their numbers, and the groups the kernel tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from analysis.figures.style import BLACK, GREY, look_of_kind
from analysis.latency.agreement import LEVELS, kernel_groups
from analysis.latency.model import Latency
from runners.node.topology import Topology

# Inches: what numbers take between the map and its layers, and a layer.
_NUMBERS, _LAYER = 0.26, 0.16
# What a letter of a layer's name takes.
_LETTER = 0.055
# More CPUs leave no room for each one's number.
_MAX_NAMED = 32


@dataclass(frozen=True)
class Layer:
    """Groups of CPUs at the map's edges: brackets, or bars of the kinds that `kinds` names."""

    name: str
    groups: tuple[tuple[int, ...], ...]
    kinds: tuple[str, ...] = ()


def shown_order(latency: Latency) -> list[int]:
    """Return the rows of the matrices in the order that they are drawn: neighbours together."""
    topology = latency.topology
    package = {cpu: core.package for core in topology.cores for cpu in core.cpus}
    groups_of = (
        [node.cpus for node in topology.numa],
        [cache.cpus for cache in topology.caches if cache.level == 3],
        [cache.cpus for cache in topology.caches if cache.level == 2],
        [core.cpus for core in topology.cores],
    )
    inner = [{cpu: min(group) for group in level for cpu in group} for level in groups_of]
    # Without a cache a CPU stands where its core does.
    alone = inner[-1]
    key = {
        cpu: (package[cpu], *(first.get(cpu, alone[cpu]) for first in inner), cpu)
        for cpu in latency.cpus
    }
    return sorted(range(len(latency.cpus)), key=lambda row: key[latency.cpus[row]])


def layers_of(topology: Topology, cpus: Sequence[int]) -> list[Layer]:
    """Return what stands at the edges, from the map outwards; kinds only where there are several.

    Levels of the kernel with the same groups share a layer.
    """
    shown = frozenset(cpus)
    kinds = {kind.name: tuple(sorted(shown.intersection(kind.cpus))) for kind in topology.kinds}
    found = kernel_groups(topology, cpus)
    names: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for name in LEVELS:
        of_level = tuple(group.cpus for group in found if name in group.names)
        if of_level:
            names.setdefault(of_level, []).append(name)
    levels = [Layer(", ".join(called), groups) for groups, called in names.items()]
    if not topology.hybrid:
        return levels
    return [Layer("kind", tuple(kinds.values()), tuple(kinds)), *levels]


def room_for(layers: Sequence[Layer]) -> tuple[float, float]:
    """Return the inches that the layers take beside the map, and at its left with their names."""
    edge = _NUMBERS + _LAYER * len(layers)
    return edge, max(edge, _LETTER * max((len(layer.name) for layer in layers), default=0))


def draw_edges(axes: Axes, cpus: Sequence[int], layers: Sequence[Layer], side: float) -> None:
    """Draw CPU numbers and layers at the left and at the top."""
    n = len(cpus)
    step = -(-n // _MAX_NAMED)
    places = list(range(0, n, step))
    digits = len(str(max(cpus)))
    size = min(8.0, max(4.0, 1.3 * 72 * side * step / n / (digits + 0.5)))
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
            for run in runs_of([place[cpu] for cpu in group]):
                _mark(axes, run, away, kind, inch)
        axes.text(
            -0.5 - 0.07 * inch, away, layer.name, ha="right", va="center", fontsize=6.5,
            color=GREY, clip_on=False,
        )  # fmt: skip


def _mark(axes: Axes, run: tuple[int, int], away: float, kind: str, inch: float) -> None:
    """Draw one group at both edges: a bar of the kind's look, or a bracket."""
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
                    corner, wide, high, linewidth=0.6, clip_on=False, **look_of_kind(kind).areas
                )
            )
        return
    along = [first + inset, first + inset, last - inset, last - inset]
    across = [away + thick, away - thick, away - thick, away + thick]
    for x, y in ((along, across), (across, along)):
        axes.add_line(Line2D(x, y, color=BLACK, linewidth=0.8, clip_on=False))


def runs_of(places: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of neighbouring places."""
    runs: list[tuple[int, int]] = []
    for at in sorted(places):
        if runs and runs[-1][1] == at - 1:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return runs
