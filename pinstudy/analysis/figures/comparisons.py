"""Every comparison of a study: in each configuration's row a mark and an interval for each mapping.

Changes are ratios to the baseline, on an axis of their logarithms: twice the time and half of it
are as far from no change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pinstudy.analysis.figures.changes import (
    Scale,
    axis_range,
    change_in_words,
    put_arrows,
    put_scale,
)
from pinstudy.analysis.figures.drawing import Drawing, NotDrawn, sentences, slug, why_not_measured
from pinstudy.analysis.figures.rows import (
    ENTRY_IN,
    LEGEND_IN,
    LINE_IN,
    Entry,
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
    PALE,
    SCREEN,
    Layout,
    mapping_looks,
    marker_style,
    shortened,
    text_width,
    wrap,
)
from pinstudy.analysis.format.numbers import in_percent, signed_in_percent
from pinstudy.analysis.measures import fields_of
from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.overview.grid import Cell, ConfigurationLine
from pinstudy.analysis.overview.terminal import overviews_of
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import report as words
from pinstudy.analysis.words.mappings import short_baseline
from pinstudy.base.text import plural

NAME = "comparisons"
# Inches: the height of a heading, of the least row, and between rows.
_HEADING, _LEAST_ROW, _ROW_GAP = 0.19, 0.19, 0.05
# That of a mapping's lane, by how many lanes there are in all.
_LANES = ((40, 0.085), (80, 0.065), (math.inf, 0.045))
_SIDE, _GAP = 0.08, 0.06
# The part of the width that labels may take.
_LABELS = 0.42
_RIGHT, _MOST_ENTRY = 0.14, 2.6
_LABEL_SIZE = 7.5
_MARKER = 4.6


class _Mark(NamedTuple):
    """A mark; `lane` is its place in the row's height, a part of it."""

    mapping: str
    cell: Cell
    lane: float


@dataclass(frozen=True)
class _Row:
    """A row, or the heading of those below it, which has no marks; `height` is in inches."""

    label: str
    configuration: str
    marks: tuple[_Mark, ...]
    height: float
    is_heading: bool = False


def draw_comparisons(
    results: Results, answer: Findings, objective: Objective, layout: Layout = SCREEN
) -> Drawing | NotDrawn:
    """Draw how each mapping changes an objective against its baseline, in each configuration."""
    overviews = [
        [line for line in overview.lines if line.cells_of(objective)]
        for overview in overviews_of(answer)
    ]
    lines = list(chain.from_iterable(overviews))
    compared = [line for line in lines if line.is_compared(objective)]
    name = NAME if objective == TIME else f"{NAME}-{slug(objective, 'printed')}"
    title = words.COMPARISONS_TITLE.format(noun=objective.noun)
    if not compared:
        reason = words.NOTHING_COMPARED.format(noun=objective.noun)
        if not lines:
            reason = why_not_measured(results, answer.cases, fields_of(objective.field))
        return NotDrawn(name, title, reason)
    rows = [row for of_overview in overviews for row in _rows(of_overview, objective, layout)]
    cells = [mark.cell for row in rows for mark in row.marks]
    mappings = dict.fromkeys(mark.mapping for row in rows for mark in row.marks)
    scale = _scale_of(cells, answer.margin)
    baseline = _baseline(compared, objective, layout)
    axis = _axis_label(answer, objective, baseline)
    entries = _legend(cells, mappings, layout, answer.margin)
    figure, axes = _frame(rows, axis, layout.title_lines(title, layout.wide()), entries, layout)
    put_scale(axes, True, scale, axes.get_position().width * layout.wide())
    _draw_lines(axes, answer.margin)
    tooltips = _draw(axes, rows, mappings, scale, layout)
    left_out = len(lines) - len(compared)
    caption = sentences(
        words.HOW_TO_READ.format(baseline=baseline, better="right" if objective.higher else "left"),
        words.BAND.format(margin=in_percent(answer.margin, 6)),
        words.HOLLOW if any(cell.outcome == "undecided" for cell in cells) else "",
        words.COMPRESSED if scale.is_compressed else "",
        words.CUT if any(any(scale.cuts(_percents(cell))) for cell in cells) else "",
        words.WITHOUT_INTERVAL if any(math.isnan(cell.low) for cell in cells) else "",
        words.NOTHING_THERE.format(count=plural(left_out, "configuration")) if left_out else "",
    )
    return Drawing(name, title, caption, _alt_text(rows, cells), figure, tooltips)


def _baseline(lines: Sequence[ConfigurationLine], objective: Objective, layout: Layout) -> str:
    names = {
        mapping
        for line in lines
        for mapping, cell in line.cells_of(objective).items()
        if cell.outcome == "baseline"
    }
    return layout.name(short_baseline(names.pop())) if len(names) == 1 else "the baseline"


def _axis_label(answer: Findings, objective: Objective, baseline: str) -> str:
    estimands = {
        case.comparisons[objective].difference.estimand
        for case in answer.cases
        if objective in case.comparisons
    }
    estimand = estimands.pop() if len(estimands) == 1 else "typical"
    change = words.CHANGE_AXIS.format(estimand=estimand, noun=objective.noun, baseline=baseline)
    better = words.MORE_IS_BETTER if objective.higher else words.LESS_IS_BETTER
    return f"{change}; {better}"


def _rows(lines: Sequence[ConfigurationLine], objective: Objective, layout: Layout) -> list[_Row]:
    """Return the rows of what is compared, those of a program below its name.

    One alone has its whole name.
    """
    compared = [line for line in lines if line.is_compared(objective)]
    cells = [
        {name: cell for name, cell in line.cells_of(objective).items() if cell.is_compared}
        for line in compared
    ]
    mappings = list(dict.fromkeys(chain.from_iterable(cells)))
    lane = _lane(sum(map(len, cells)))
    rows: list[_Row] = []
    for alike in grouped(zip(compared, cells, strict=True), lambda pair: pair[0].program):
        program = _program(alike[0][0], layout)
        has_heading = len(alike) > 1
        if has_heading:
            rows.append(_Row(program, program, (), _HEADING, is_heading=True))
        for line, marked in alike:
            short = " ".join(filter(None, (line.team, shown_settings(line.under, layout))))
            whole = f"{program} {short}".rstrip()
            shown = [mapping for mapping in mappings if mapping in marked]
            marks = tuple(
                _Mark(mapping, marked[mapping], (number + 0.5) / len(shown))
                for number, mapping in enumerate(shown)
            )
            height = max(_LEAST_ROW, len(shown) * lane + _ROW_GAP)
            rows.append(_Row(short if has_heading else whole, whole, marks, height))
    return rows


def _lane(lanes: int) -> float:
    """Return the height of a lane, in inches, of so many: many are to fit on a page."""
    return next(height for most, height in _LANES if lanes <= most)


def _program(line: ConfigurationLine, layout: Layout) -> str:
    app, space, rest = line.program.partition(" ")
    return (
        layout.name(line.program)
        if line.program in layout.names
        else (f"{layout.name(app)}{space}{rest}")
    )


def _frame(
    rows: Sequence[_Row],
    axis: str,
    title_lines: Sequence[str],
    entries: Sequence[Entry],
    layout: Layout,
) -> tuple[Figure, Axes]:
    width = layout.wide()
    most = _LABELS * width
    labels = [text_width(row.label, _LABEL_SIZE) for row in rows if not row.is_heading]
    left = _SIDE + _GAP + min(most, max(labels))
    plot = width - left - _RIGHT
    axis_lines = wrap(axis, width - 2 * _SIDE, _LABEL_SIZE)
    body = sum(row.height for row in rows)
    top = 0.06 + LINE_IN * len(title_lines) + (0.06 if title_lines else 0.0)
    bottom = 0.32 + LINE_IN * len(axis_lines) + LEGEND_IN * legend_lines(entries, width)
    height = top + body + bottom
    figure = Figure(figsize=(width, height))
    put_title(figure, title_lines)
    axes = figure.add_axes((left / width, bottom / height, plot / width, body / height))
    axes.set_ylim(body, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    _label_rows(axes, rows, left / plot, width)
    # In the middle of the figure: the words are wider than a narrow panel.
    figure.text(
        0.5, (bottom - 0.25) / height, "\n".join(axis_lines), va="top", ha="center",
        fontsize=_LABEL_SIZE,
    )  # fmt: skip
    put_legend(figure, entries)
    return figure, axes


def _draw_lines(axes: Axes, margin: float) -> None:
    axes.axvspan(100 * (1 / (1 + margin) - 1), 100 * margin, color=PALE, linewidth=0, zorder=0)
    axes.axvline(0, color=BLACK, linewidth=0.8, zorder=1)


def _label_rows(axes: Axes, rows: Sequence[_Row], left: float, width: float) -> None:
    """Write the labels; a heading may go on into the panel, where its row has no marks.

    `left` is the labels' part of the figure, as a multiple of the panel's width.
    """
    edge = _SIDE / width - left
    across = axes.get_yaxis_transform()
    top = 0.0
    for above, row in zip((None, *rows), rows, strict=False):
        # A heading begins a program, and so does a row that has its whole name.
        begins = row.is_heading or row.label == row.configuration
        if above and (begins or not above.is_heading):
            axes.plot(
                [edge if begins else 0, 1], [top, top], transform=across, clip_on=False, zorder=0.5,
                color=GREY if begins else PALE, linewidth=0.5,
            )  # fmt: skip
        y = top + row.height / 2
        if row.is_heading:
            text = shortened(row.label, width - 2 * _SIDE, _LABEL_SIZE, "bold")
            axes.text(
                edge, y, text, transform=across, ha="left", va="center", fontsize=_LABEL_SIZE,
                weight="bold", zorder=5,
            )  # fmt: skip
        else:
            text = shortened(row.label, _LABELS * width, _LABEL_SIZE)
            axes.annotate(
                text, (0, y), (-72 * _GAP, 0), xycoords=across, textcoords="offset points",
                ha="right", va="center", fontsize=_LABEL_SIZE, annotation_clip=False,
            )  # fmt: skip
        top += row.height


def _legend(
    cells: Sequence[Cell], mappings: Iterable[str], layout: Layout, margin: float
) -> list[Entry]:
    # An entry has to fit the narrowest figure as well.
    most = min(_MOST_ENTRY, layout.wide() - ENTRY_IN - _SIDE)
    entries = mapping_entries(mappings, layout, most)
    if any(cell.outcome == "undecided" for cell in cells):
        entries.append(entry("undecided", marker_style("o", 5, GREY, "white")))
    return [*entries, Patch(facecolor=PALE, label=f"within ±{in_percent(margin, 6)} %")]


def _scale_of(cells: Sequence[Cell], margin: float) -> Scale:
    """Return the scale on which all marks are seen, and their intervals as far as that allows."""
    ends = chain.from_iterable(map(_ends, cells))
    return Scale.between(*axis_range([cell.ratio for cell in cells], ends, 2 * math.log1p(margin)))


def _ends(cell: Cell) -> tuple[float, float]:
    """Return the ends of a cell's interval as ratios; the ratio itself where there is none."""
    return (cell.ratio, cell.ratio) if math.isnan(cell.low) else (cell.low, cell.high)


def _percents(cell: Cell) -> tuple[float, float]:
    low, high = _ends(cell)
    return 100 * (low - 1), 100 * (high - 1)


def _draw(
    axes: Axes, rows: Sequence[_Row], mappings: Iterable[str], scale: Scale, layout: Layout
) -> dict[str, str]:
    looks = mapping_looks(mappings)
    tooltips: dict[str, str] = {}
    top = 0.0
    for row in rows:
        for mark in row.marks:
            y = top + _ROW_GAP / 2 + mark.lane * (row.height - _ROW_GAP)
            gid = f"comparison-{len(tooltips) + 1}"
            _draw_mark(axes, mark.cell, y, looks[mark.mapping], scale, gid)
            tooltips[gid] = _tooltip(row, mark, layout)
        top += row.height
    return tooltips


def _draw_mark(
    axes: Axes, cell: Cell, y: float, look: tuple[str, str], scale: Scale, gid: str
) -> None:
    """Draw an interval and its mark as one line, so that one tooltip is of both."""
    colour, marker = look
    ends = _percents(cell)
    low, high = scale.inside(ends)
    axes.plot(
        [low, cell.percent, high], [y] * 3, color=colour, linewidth=1.2,
        marker=marker, markevery=[1], markersize=_MARKER, markeredgewidth=1.0,
        markerfacecolor="white" if cell.outcome == "undecided" else colour, zorder=3, gid=gid,
    )  # fmt: skip
    put_arrows(axes, scale, ends, y, colour, _MARKER)


def _tooltip(row: _Row, mark: _Mark, layout: Layout) -> str:
    cell, mapping = mark.cell, shown_mapping(mark.mapping, layout)
    ends = None if math.isnan(cell.low) else (cell.low - 1, cell.high - 1)
    change = change_in_words(cell.ratio - 1, ends)
    return f"{row.configuration}, {mapping}: {change}, {cell.outcome}"


def _alt_text(rows: Sequence[_Row], cells: Sequence[Cell]) -> str:
    counts = Counter(cell.outcome for cell in cells)
    least, most = (
        signed_in_percent(end(cell.ratio for cell in cells) - 1, 3) for end in (min, max)
    )
    return words.COMPARISONS_ALT.format(
        comparisons=plural(len(cells), "comparison"),
        configurations=plural(sum(not row.is_heading for row in rows), "configuration"),
        outcomes=", ".join(f"{count} {outcome}" for outcome, count in counts.items()),
        low=least,
        high=most,
    )
