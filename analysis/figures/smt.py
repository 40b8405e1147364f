"""SMT sharing: how many times its time alone a thread takes beside another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.affinity.smt import Shared, Sharing
from analysis.figures.contention import STAR_UP, mean_entry, put_stars, star_entry
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import Entry, Panel, put_words, row_figure, scale_for, why_empty
from analysis.figures.style import BLACK, GREY, in_style, label_text
from analysis.figures.words import extremes, number, sentences
from analysis.verdict.phrases import WIDEST
from base.text import one_line, plural

TITLE = "A thread beside another one"
# As many workloads fit beside each other.
MAX_PANELS = 3

Rows = Mapping[int, Shared]


def draw_smt(found: Sequence[Sharing], title: str, name: str) -> Drawing | NotDrawn:
    """Draw the workloads of one build and governor beside each other, a row a placement."""
    shown = [sharing for sharing in found if any(not row.alone for row in sharing.rows)]
    if not any(row.against for sharing in shown for row in sharing.rows):
        return NotDrawn(name, TITLE, "no placement of two threads has one thread to compare with")
    left = len(shown) - MAX_PANELS
    shown = shown[:MAX_PANELS]
    first = [row for row in shown[0].rows if not row.alone]
    cases = [row.measured.case for row in first]
    places = {row.measured.case.mapping: at for at, row in enumerate(first)}
    panels = [_in_places(sharing, places) for sharing in shown]
    with in_style():
        titles = [Panel(f"{label_text(_workload(s), 20)} (1: as alone)") for s in shown]
        figure, axes = row_figure(title, cases, titles, _legend(panels))
        for panel, rows in zip(axes, panels, strict=True):
            _draw(panel, rows, len(cases))
    caption = sentences(
        "How many times the time of one thread alone on the same kind of core a thread takes; 1 is "
        "undisturbed, and two threads that take turns on one CPU take twice the time.",
        f"{plural(left, 'more workload')} {'is' if left == 1 else 'are'} not drawn."
        if left > 0
        else "",
    )
    alt = sentences(
        *(
            extremes(
                f"{_workload(sharing)}: the multiple of the time alone",
                "",
                {at: row.against.difference.ratio for at, row in rows.items() if row.against},
                cases,
            )
            for sharing, rows in zip(shown, panels, strict=True)
        ),
        *_published(shown, panels),
    )
    return Drawing(name, TITLE, caption, alt, figure)


def _workload(sharing: Sharing) -> str:
    return one_line(str(sharing.rows[0].measured.case.summary.table.size))


def _in_places(sharing: Sharing, places: Mapping[str, int]) -> Rows:
    """Return the rows of two threads by their place in the figure."""
    return {
        places[row.measured.case.mapping]: row
        for row in sharing.rows
        if not row.alone and row.measured.case.mapping in places
    }


def _draw(axes: Axes, rows: Rows, count: int) -> None:
    known = {at: row.against.difference for at, row in rows.items() if row.against}
    stars = {
        at: row.published.slowdown
        for at, row in rows.items()
        if row.published and row.published.slowdown
    }
    ratios = [difference.ratio for difference in known.values()]
    scale_for(axes, [*ratios, *stars.values()])
    ends = [difference.interval() for difference in known.values()]
    reaches = [
        (ratio - end.low, end.high - ratio) if end.high < WIDEST * end.low else (0.0, 0.0)
        for ratio, end in zip(ratios, ends, strict=True)
    ]
    axes.axvline(1.0, color=GREY, linewidth=0.8)
    if known:
        axes.errorbar(
            ratios, list(known), xerr=np.maximum(np.array(reaches).T, 0.0), fmt="D",
            markersize=4.0, color=BLACK, markerfacecolor="white", markeredgewidth=0.9,
            elinewidth=1.3, capsize=2.5, zorder=4,
        )  # fmt: skip
    put_stars(axes, stars, STAR_UP)
    if axes.get_xscale() == "linear":
        axes.set_xlim(0, max(2.2, axes.get_xlim()[1]))
    for at in range(count):
        if at not in known:
            put_words(axes, at, why_empty(rows[at].measured.case) if at in rows else "n/a")


def _legend(panels: Sequence[Rows]) -> list[Entry]:
    entries: list[Entry] = [mean_entry("ratio, 95 % interval")]
    if any(row.published for rows in panels for row in rows.values()):
        entries.append(star_entry())
    return entries


def _published(shown: Sequence[Sharing], panels: Sequence[Rows]) -> list[str]:
    return [
        f"Published for {_workload(sharing)} on the siblings of a core: "
        f"{number(row.published.slowdown)}."
        for sharing, rows in zip(shown, panels, strict=True)
        for row in rows.values()
        if row.published and row.published.slowdown
    ]
