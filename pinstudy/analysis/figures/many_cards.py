"""The class in one plot: a dot a card, a panel a mapping, grouped by CPU model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinstudy.analysis.figures.changes import TICK_SIZE, Scale, put_scale
from pinstudy.analysis.figures.drawing import FORMATS, Drawing, not_drawn, sentences
from pinstudy.analysis.figures.rows import (
    LEGEND_IN,
    Entry,
    entry,
    legend_lines,
    put_legend,
    put_title,
    reach,
)
from pinstudy.analysis.figures.style import (
    BLACK,
    BLUE,
    GREY,
    LETTER,
    PALE,
    VERMILION,
    WIDTH,
    label_text,
    marker_style,
    wrap,
)
from pinstudy.analysis.findings.many_cards import ManyCards, MappingChange, NodeChanges
from pinstudy.analysis.format.numbers import signed_percent
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.words import report as words
from pinstudy.base.errors import UserError
from pinstudy.base.text import plural, unknown_word

NAME, TITLE = "many-cards", "The change of time by CPU"
# More panels would leave none of them room for an interval.
MAX_PANELS = 4
# Inches: a row at most and at least, all rows together, a group's heading and the gap above it.
_MOST_ROW, _LEAST_ROW, _ALL_ROWS, _HEAD, _GAP = 0.22, 0.06, 6.0, 0.2, 0.08
# Lower rows have no room for a name.
_NAMED_ROW = 0.115
_TOP, _AXIS, _RIGHT, _BETWEEN = 0.55, 0.42, 0.15, 0.18
_MAX_LEFT, _MAX_NAME = 2.3, 30
# What the axis has on both sides of the dots, as the logarithm of a ratio, where all are alike.
_LEAST = 0.005
# By outcome; markers say the same on paper without colours.
_LOOKS: dict[str, tuple[str, str, str]] = {
    "better": ("o", BLUE, BLUE),
    "worse": ("s", VERMILION, VERMILION),
    "equivalent": ("D", GREY, PALE),
    "undecided": ("o", GREY, "white"),
}
_LABELS = {"equivalent": "alike", "undecided": "not distinguishable"}


@dataclass(frozen=True)
class _Row:
    """Where a card stands, in inches from the top of the panels."""

    node: NodeChanges
    at: float


def write_many_cards(drawing: Drawing, path: Path) -> Path:
    """Write the figure in the format of the file's ending; return the path.

    Raises UserError when it cannot be written.
    """
    hint = "or name a file in a writable folder with --figure"
    return write_file(path, drawing.data(_ending(path)), hint)


def check_figure(path: Path) -> None:
    """Raise UserError unless a file's ending names a format."""
    style = _ending(path)
    if style not in FORMATS:
        raise UserError(f"--figure: {unknown_word('ending', style, FORMATS)}")


def _ending(path: Path) -> str:
    return path.suffix[1:].lower()


def draw_many_cards(found: ManyCards) -> Drawing:
    """Draw the changes of time of all results that have the configuration."""
    shown = found.mappings[:MAX_PANELS]
    baseline = " or ".join(found.baselines)
    nodes = [node for group in found.groups.values() for node in group]
    changes = [node.changes[name] for node in nodes for name in shown if name in node.changes]
    scale = _scale(changes)
    caption = sentences(
        f"A dot is one card: its time against {baseline} on the same node, with a 95 % interval.",
        words.COMPRESSED if scale.is_compressed else "",
        not_drawn(len(found.mappings) - len(shown), "more mapping"),
        f"Without this configuration: {plural(len(found.lacking), 'card')}."
        if found.lacking
        else "",
    )
    alt = sentences(
        f"{plural(found.count, 'card')} of {plural(len(found.groups), 'CPU model')}.",
        *(_alt_text(found, mapping) for mapping in shown),
    )
    return Drawing(
        NAME, TITLE, caption, alt, _figure(found, shown, baseline, scale, _legend(changes))
    )


def _figure(
    found: ManyCards, shown: Sequence[str], baseline: str, scale: Scale, entries: Sequence[Entry]
) -> Figure:
    rows, heads, body = _layout(found)
    row_in = _row_height(found.count)
    is_named = row_in >= _NAMED_ROW
    names = [label_text(row.node.name, _MAX_NAME) for row in rows] if is_named else []
    widest = max(map(len, names), default=0)
    left = 0.15 + min(_MAX_LEFT, max(LETTER * widest, 0.3))
    text = f"{found.configuration}: time against {baseline}"
    title = wrap(text, WIDTH - 2 * _RIGHT, weight="bold")
    top = _TOP + 0.16 * (len(title) - 1)
    bottom = _AXIS + LEGEND_IN * legend_lines(entries)
    height = top + body + bottom
    figure = Figure(figsize=(WIDTH, height))
    put_title(figure, title)
    wide = (WIDTH - left - _RIGHT - _BETWEEN * (len(shown) - 1)) / len(shown)
    for at, mapping in enumerate(shown):
        x = left + at * (wide + _BETWEEN)
        axes = figure.add_axes((x / WIDTH, bottom / height, wide / WIDTH, body / height))
        axes.set_ylim(body, 0)
        axes.set_title(label_text(mapping, int(wide / LETTER)), pad=5)
        _draw_panel(axes, rows, mapping, row_in)
        put_scale(axes, True, scale, wide)
        axes.set_xlabel("change (%)", fontsize=TICK_SIZE)
        if at == 0:
            _write_labels(axes, rows, names, heads, left)
    put_legend(figure, entries)
    return figure


def _row_height(count: int) -> float:
    return min(_MOST_ROW, max(_LEAST_ROW, _ALL_ROWS / count))


def _layout(found: ManyCards) -> tuple[list[_Row], list[tuple[str, float]], float]:
    row_in = _row_height(found.count)
    rows: list[_Row] = []
    heads: list[tuple[str, float]] = []
    at = 0.0
    for model, nodes in found.groups.items():
        at += _GAP
        heads.append((f"{model} ({len(nodes)})", at + _HEAD / 2))
        at += _HEAD
        for node in nodes:
            rows.append(_Row(node, at + row_in / 2))
            at += row_in
    return rows, heads, at + _GAP


def _draw_panel(axes: Axes, rows: Sequence[_Row], mapping: str, row_in: float) -> None:
    size = float(np.clip(row_in * 72 * 0.42, 2.6, 5.5))
    axes.axvline(0, color=BLACK, linewidth=0.8, zorder=1)
    for outcome, look in _LOOKS.items():
        mine = [
            (row.at, change)
            for row in rows
            if (change := row.node.changes.get(mapping)) and change.outcome == outcome
        ]
        if not mine:
            continue
        reaches = [reach(change.ratio, change.interval) for _, change in mine]
        axes.errorbar(
            [100 * (change.ratio - 1) for _, change in mine], [at for at, _ in mine],
            xerr=100 * np.reshape(reaches, (-1, 2)).T, ecolor=look[1], elinewidth=0.8,
            markeredgewidth=0.8, zorder=3, **_marker(outcome, size),
        )  # fmt: skip
    axes.grid(visible=False, axis="y")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _marker(outcome: str, size: float) -> dict[str, Any]:
    marker, colour, fill = _LOOKS[outcome]
    return marker_style(marker, size, colour, fill)


def _write_labels(
    axes: Axes,
    rows: Sequence[_Row],
    names: Sequence[str],
    heads: Iterable[tuple[str, float]],
    left: float,
) -> None:
    where = axes.get_yaxis_transform()
    for row, name in zip(rows, names, strict=False):
        axes.annotate(
            name, (0, row.at), (-5, 0), xycoords=where, textcoords="offset points",
            ha="right", va="center", fontsize=6.5, annotation_clip=False,
        )  # fmt: skip
    for head, at in heads:
        axes.annotate(
            label_text(head, 70), (0, at), (-72 * (left - 0.12), 0), xycoords=where,
            textcoords="offset points", ha="left", va="center", fontsize=7.5, weight="bold",
            annotation_clip=False, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            zorder=6,
        )  # fmt: skip


def _scale(changes: Sequence[MappingChange]) -> Scale:
    """Return the scale of all dots; an interval may reach at most twice as far as they do."""
    ratios = [1.0, *(change.ratio for change in changes)]
    low, high = min(ratios), max(ratios)
    ends = [end for change in changes for end in _ends(change)]
    low, high = max(min([low, *ends]), low / 2), min(max([high, *ends]), high * 2)
    return Scale.between(math.log(low) - _LEAST, math.log(high) + _LEAST)


def _ends(change: MappingChange) -> Iterator[float]:
    if change.interval is not None:
        yield from (end for end in (change.interval.low, change.interval.high) if end > 0)


def _legend(changes: Iterable[MappingChange]) -> list[Entry]:
    outcomes = {change.outcome for change in changes}
    return [
        entry(_LABELS.get(outcome, outcome), _marker(outcome, 5.0))
        for outcome in _LOOKS
        if outcome in outcomes
    ]


def _alt_text(found: ManyCards, mapping: str) -> str:
    changes = [
        node.changes[mapping]
        for nodes in found.groups.values()
        for node in nodes
        if mapping in node.changes
    ]
    ratios = [change.ratio for change in changes]
    ends = " to ".join(dict.fromkeys(signed_percent(end(ratios) - 1) for end in (min, max)))
    better, worse = (
        sum(change.outcome == outcome for change in changes) for outcome in ("better", "worse")
    )
    return f"{mapping}: {ends}, better for {better}, worse for {worse} of {len(changes)}."
