"""Contention and SMT sharing: times by placement, beside what was published of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes

from analysis.affinity.contention import Contended, Contention
from analysis.affinity.measured import CONTENTION, TIMES, Row
from analysis.affinity.smt import Sharing
from analysis.affinity.told import title_of
from analysis.figures.drawing import Drawing, NotDrawn, extremes, not_drawn, sentences
from analysis.figures.rows import (
    STAR_UP,
    ByKind,
    Entry,
    RunsByCase,
    draw_bars,
    draw_by_kind,
    draw_runs,
    draw_stars,
    entry,
    looks_of,
    mean_down,
    mean_entry,
    row_figure,
    say_why_empty,
    scale_for,
    star_entry,
)
from analysis.figures.style import GREY, cores_of, label_text, look_of_kind
from analysis.format.numbers import three_digits
from analysis.results.fields import METRIC
from analysis.verdict.model import CaseFinding
from analysis.verdict.phrases import WIDEST
from base.text import one_line

CONTENTION_TITLE = "Contention by placement"
SMT_TITLE = "A thread beside another one"
# As many workloads fit beside each other.
MAX_PANELS = 3


def draw_contention(found: Contention, runs: RunsByCase, name: str) -> Drawing | NotDrawn:
    """Draw the times of one experiment, and its L1 misses where they were counted."""
    rows = found.rows
    cases = [row.measured.case for row in rows]
    if not any(row.measured.sample for row in rows):
        reason = "no run that could be averaged told its time of a round"
        return NotDrawn(name, CONTENTION_TITLE, reason)
    kinds = dict.fromkeys(kind for row in rows for kind in row.l1d)
    misses = {
        kind: {at: 100 * row.l1d[kind] for at, row in enumerate(rows) if kind in row.l1d}
        for kind in kinds
    }
    panels = [("time of a round (ms)", 1.5)]
    panels += [("L1 loads that missed (%)", 1.0)] if misses else []
    figure, axes = row_figure(title_of(cases[0]), cases, panels, _contention_legend(rows, kinds))
    limit = _draw_rounds(axes[0], rows, runs)
    if misses:
        _draw_misses(axes[1], rows, misses)
    caption = sentences(
        "In a round each of the threads adds to a number that it shares with another one. Each dot "
        "is a run.",
        limit,
        "" if misses else f"L1 load misses were not counted: {found.no_l1d}.",
    )
    return Drawing(name, CONTENTION_TITLE, caption, _seen_of_contention(rows), figure)


def _published_ms(rows: Sequence[Contended]) -> dict[int, float]:
    """Return the published times of a round by row, where there are any."""
    return {
        at: row.published.time_ms
        for at, row in enumerate(rows)
        if row.published and row.published.time_ms
    }


def _draw_rounds(axes: Axes, rows: Sequence[Contended], runs: RunsByCase) -> str:
    """Draw the times of a round; return what has to be said of the dots."""
    cases = [row.measured.case for row in rows]
    samples = {at: row.measured.sample for at, row in enumerate(rows) if row.measured.sample}
    means = {at: sample.mean for at, sample in samples.items()}
    stars = _published_ms(rows)
    scale_for(axes, [*means.values(), *stars.values()])
    limit = draw_runs(axes, cases, runs, METRIC.format(TIMES[CONTENTION]))
    intervals = [sample.mean_interval for sample in samples.values()]
    draw_bars(axes, means, intervals, mean_down(runs))
    draw_stars(axes, stars)
    if axes.get_xscale() == "linear":
        axes.set_xlim(left=0)
    say_why_empty(axes, cases, samples)
    return limit


def _draw_misses(axes: Axes, rows: Sequence[Contended], misses: ByKind) -> None:
    draw_by_kind(axes, misses)
    stars = {
        at: 100 * row.published.l1d_miss_rate
        for at, row in enumerate(rows)
        if row.published and row.published.l1d_miss_rate
    }
    draw_stars(axes, stars, STAR_UP)
    shares = [share for of_kind in misses.values() for share in of_kind.values()]
    axes.set_xlim(0, 1.08 * max([*shares, *stars.values(), 0.1]))
    counted = {at for of_kind in misses.values() for at in of_kind}
    say_why_empty(axes, [row.measured.case for row in rows], counted)


def _contention_legend(rows: Sequence[Contended], kinds: Iterable[str]) -> list[Entry]:
    return [
        *looks_of(row.measured.case for row in rows if row.measured.sample),
        mean_entry("mean, 95 % interval"),
        *(entry(f"misses on {cores_of(kind)}", look_of_kind(kind).dots) for kind in kinds),
        *([star_entry()] if any(row.published for row in rows) else []),
    ]


def _seen_of_contention(rows: Sequence[Contended]) -> str:
    cases = [row.measured.case for row in rows]
    means = {at: row.measured.sample.mean for at, row in enumerate(rows) if row.measured.sample}
    shares = {at: 100 * max(row.l1d.values()) for at, row in enumerate(rows) if row.l1d}
    stars = [
        f"{three_digits(time_ms)} ms for {cases[at].label}"
        for at, time_ms in _published_ms(rows).items()
    ]
    return sentences(
        extremes("The mean time of a round", "ms", means, cases),
        extremes("The share of L1 loads that missed", "%", shares, cases),
        f"Published: {', '.join(stars)}." if stars else "",
    )


def draw_smt(found: Sequence[Sharing], name: str) -> Drawing | NotDrawn:
    """Draw the workloads of one build and governor beside each other, a row a placement."""
    title = title_of(found[0][0].measured.case, ("size", "threads"))
    every = [sharing for sharing in found if any(_of_two(row) for row in sharing)]
    if not any(row.against for sharing in every for row in sharing):
        reason = "no placement of two threads has one thread to compare with"
        return NotDrawn(name, SMT_TITLE, reason)
    shown = every[:MAX_PANELS]
    cases = [row.measured.case for row in shown[0] if _of_two(row)]
    rows = [_by_place(sharing, cases) for sharing in shown]
    names = [_workload(sharing) for sharing in shown]
    panels = [(f"{label_text(workload, 20)} (1: as alone)", 1.0) for workload in names]
    entries = [mean_entry("ratio, 95 % interval")]
    if any(row and row.published for of_panel in rows for row in of_panel):
        entries.append(star_entry())
    figure, axes = row_figure(title, cases, panels, entries)
    for panel, of_panel in zip(axes, rows, strict=True):
        _draw_ratios(panel, of_panel)
    caption = sentences(
        "How many times the time of one thread alone on the same kind of core a thread takes; 1 is "
        "undisturbed, and two threads that take turns on one CPU take twice the time.",
        not_drawn(len(every) - len(shown), "more workload"),
    )
    alt = sentences(
        *(
            extremes(f"{workload}: the multiple of the time alone", "", _ratios(of_panel), cases)
            for workload, of_panel in zip(names, rows, strict=True)
        ),
        *(
            f"Published for {workload} on the siblings of a core: {three_digits(slowdown)}."
            for workload, of_panel in zip(names, rows, strict=True)
            for slowdown in _slowdowns(of_panel).values()
        ),
    )
    return Drawing(name, SMT_TITLE, caption, alt, figure)


def _of_two(row: Row) -> bool:
    return row.measured.threads > 1


def _workload(sharing: Sharing) -> str:
    return one_line(str(sharing[0].measured.case.summary.table.size))


def _by_place(sharing: Sharing, cases: Sequence[CaseFinding]) -> list[Row | None]:
    """Return the row of two threads at the place of each case; None where there is none."""
    rows = {_place(row.measured.case): row for row in sharing if _of_two(row)}
    return [rows.get(_place(case)) for case in cases]


def _place(case: CaseFinding) -> tuple[str, str | None]:
    return case.mapping, case.summary.cpus


def _ratios(rows: Sequence[Row | None]) -> dict[int, float]:
    return {at: row.against.difference.ratio for at, row in enumerate(rows) if row and row.against}


def _slowdowns(rows: Sequence[Row | None]) -> dict[int, float]:
    """Return the published ratios by row, where there are any."""
    return {
        at: row.published.slowdown
        for at, row in enumerate(rows)
        if row and row.published and row.published.slowdown
    }


def _draw_ratios(axes: Axes, rows: Sequence[Row | None]) -> None:
    ratios, stars = _ratios(rows), _slowdowns(rows)
    scale_for(axes, [*ratios.values(), *stars.values()])
    axes.axvline(1.0, color=GREY, linewidth=0.8)
    ends = [row.against.difference.interval() for row in rows if row and row.against]
    draw_bars(axes, ratios, [end if end.high < WIDEST * end.low else None for end in ends])
    draw_stars(axes, stars, STAR_UP)
    if axes.get_xscale() == "linear":
        axes.set_xlim(0, max(2.2, axes.get_xlim()[1]))
    say_why_empty(axes, [row.measured.case if row else None for row in rows], ratios)
