"""Who ran where: a row a thread, a column a CPU, and how often the thread was seen there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from analysis.affinity.team import MAX_CELLS, Team
from analysis.affinity.told import title_of
from analysis.figures.drawing import Drawing, NotDrawn, not_drawn, sentences
from analysis.figures.rows import Entry, entry, put_legend, put_title
from analysis.figures.style import BLACK, BLUE, GREY, PALE, WIDTH, cores_of, label_text, marker_look
from analysis.format.numbers import percent
from base.text import one_line, plural

TITLE = "Who ran where"
# Beyond that many threads a row has no label of its own, beyond so many CPUs a cell no number.
MAX_LABELS, MAX_NUMBERED = 40, 20
# More dots would be a grey ground.
MAX_DOTS = 20_000
# Panels of one figure: more of them would not fit a page.
MAX_PANELS = 8
_ROW_IN, _MIN_IN, _MAX_IN = 0.17, 0.35, 3.2
_HEAD_IN, _FOOT_IN, _LEFT_IN, _RIGHT_IN = 0.42, 0.3, 0.75, 0.12
# White where a thread never was, the darker the more often it was there: in grey as well.
_SHADES = LinearSegmentedColormap.from_list("looks", ["#ffffff", "#9ecae1", BLUE, "#08306b"])

Shares = NDArray[np.float64]


def draw_teams(teams: Sequence[Team], name: str) -> Drawing | NotDrawn:
    """Draw the teams of one table, one below the other; one team at least."""
    shown = teams[:MAX_PANELS]
    columns = _columns(shown)
    if max(len(team.threads) for team in shown) * len(columns) > MAX_CELLS:
        return NotDrawn(name, TITLE, "so many threads and CPUs cannot be drawn")
    bodies = [min(max(_ROW_IN * len(team.threads), _MIN_IN), _MAX_IN) for team in shown]
    gap = _HEAD_IN + _FOOT_IN
    height = 0.6 + sum(bodies) + len(shown) * gap
    figure = Figure(figsize=(WIDTH, height))
    put_title(figure, [label_text(title_of(teams[0].case), 105)])
    panels = figure.subplots(
        len(shown), squeeze=False, height_ratios=bodies,
        gridspec_kw={"left": _LEFT_IN / WIDTH, "right": 1 - _RIGHT_IN / WIDTH,
                     "top": 1 - (0.3 + _HEAD_IN) / height, "bottom": (0.3 + _FOOT_IN) / height,
                     "hspace": gap / (sum(bodies) / len(shown))},
    )[:, 0]  # fmt: skip
    for axes, team in zip(panels, shown, strict=True):
        _draw(axes, team, columns)
    put_legend(figure, _legend())
    caption = sentences(
        "The darker a cell, the larger the share of the looks at the thread that found it on that "
        "CPU; a dot: it was allowed there, and never seen. CPUs are in groups by core kind.",
        "" if all(map(_has_dots, shown)) else "Where dots would be too many there are none.",
        not_drawn(len(teams) - len(shown), "more case", " of this table"),
    )
    return Drawing(name, TITLE, caption, sentences(*map(_seen, shown)), figure)


def _has_dots(team: Team) -> bool:
    """Return whether the CPUs that threads were allowed are few enough to be told apart."""
    return sum(len(thread.allowed) for thread in team.threads) <= MAX_DOTS


def _columns(teams: Sequence[Team]) -> list[int]:
    """Return the CPUs in the figure's order: those of the best kind first."""
    node = teams[0].node
    cpus = {cpu for team in teams for cpu in (*team.seen, *team.allowed, *team.node.kind)}
    rank = {kind: at for at, kind in enumerate(node.order)}
    return sorted(cpus, key=lambda cpu: (rank.get(node.kind.get(cpu, ""), len(rank)), cpu))


def _draw(axes: Axes, team: Team, columns: Sequence[int]) -> None:
    at = {cpu: place for place, cpu in enumerate(columns)}
    shares = np.zeros((len(team.threads), len(columns)))
    for row, thread in enumerate(team.threads):
        looks = sum(thread.seen.values())
        for cpu, count in thread.seen.items():
            shares[row, at[cpu]] = count / looks
    axes.imshow(shares, cmap=_SHADES, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    if _has_dots(team):
        allowed = [
            (at[cpu], row)
            for row, thread in enumerate(team.threads)
            for cpu in thread.allowed
            if cpu not in thread.seen
        ]
        dots = np.array(allowed, dtype=float).reshape(-1, 2)
        axes.scatter(
            dots[:, 0], dots[:, 1], s=3, color=GREY, linewidth=0, rasterized=len(allowed) > 500
        )
    axes.grid(visible=False)
    axes.spines[["top", "right"]].set_visible(True)
    axes.set_title(label_text(team.case.label), pad=14, fontsize=7.5)
    _mark_kinds(axes, team, columns)
    _ticks(axes, team, columns)
    if len(columns) <= MAX_NUMBERED:
        _numbers(axes, shares)


def _mark_kinds(axes: Axes, team: Team, columns: Sequence[int]) -> None:
    """Write each group's kind above it, with a line between two of them."""
    start = 0
    for kind, group in groupby(columns, key=lambda cpu: team.node.kind.get(cpu, "")):
        count = len(list(group))
        if kind:
            middle = start + (count - 1) / 2
            axes.annotate(
                cores_of(kind), (middle, 1.0), (0, 2),
                xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                ha="center", va="bottom", fontsize=6.5, color=BLACK, annotation_clip=False,
            )  # fmt: skip
        start += count
        if start < len(columns):
            axes.axvline(start - 0.5, color=BLACK, linewidth=1.0)


def _ticks(axes: Axes, team: Team, columns: Sequence[int]) -> None:
    step = -(-len(columns) // 32)
    places = list(range(0, len(columns), step))
    axes.set_xticks(places, [str(columns[place]) for place in places], fontsize=6.5)
    axes.annotate(
        "CPU", (0, 0), (-5, -5), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="top", fontsize=6.5, annotation_clip=False,
    )  # fmt: skip
    count = len(team.threads)
    every = 1 if count <= MAX_LABELS and count * _ROW_IN <= _MAX_IN else -(-count // 16)
    rows = list(range(0, count, every))
    axes.set_yticks(rows, [f"thread {row}" for row in rows], fontsize=6.5)
    axes.set_xticks(np.arange(-0.5, len(columns)), minor=True)
    axes.set_yticks(np.arange(-0.5, count), minor=True)
    if len(columns) <= 4 * MAX_NUMBERED:
        axes.grid(visible=True, which="minor", color=PALE, linewidth=0.5)
    axes.tick_params(which="minor", length=0)


def _numbers(axes: Axes, shares: Shares) -> None:
    for row, place in zip(*np.nonzero(shares), strict=True):
        share = float(shares[row, place])
        axes.text(
            place, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=6,
            color="white" if share > 0.5 else BLACK,
        )  # fmt: skip


def _legend() -> list[Entry]:
    shades = [
        Patch(facecolor=_SHADES(share), edgecolor=GREY, linewidth=0.5, label=percent(share))
        for share in (0.1, 0.5, 1.0)
    ]
    return [*shades, entry("allowed only", marker_look(".", 3, GREY, GREY))]


def _seen(team: Team) -> str:
    cpus = sorted(team.seen)
    kinds = ", ".join(f"{percent(share)} on {kind}-cores" for kind, share in team.shares.items())
    said = f" ({one_line(kinds)})" if kinds else ""
    return (
        f"{one_line(team.case.label)}: {plural(len(team.threads), 'thread')}, {team.single} bound "
        f"to one CPU, seen on {plural(len(cpus), 'CPU')}{said}."
    )
