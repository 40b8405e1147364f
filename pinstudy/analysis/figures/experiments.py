"""Contention and SMT sharing by placement, beside what was published; and who ran where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from pinstudy.analysis.affinity.experiments import Contended, Contention, Sharing
from pinstudy.analysis.affinity.team import MAX_CELLS, Team
from pinstudy.analysis.affinity.timed_cases import CONTENTION, TIMES, ExperimentRow, title_of
from pinstudy.analysis.figures.drawing import (
    Drawing,
    NotDrawn,
    Tooltips,
    extremes,
    not_drawn,
    sentences,
)
from pinstudy.analysis.figures.rows import (
    LINE_IN,
    STAR_UP,
    ByKind,
    Entry,
    RunsByCase,
    case_entries,
    case_label,
    draw_bars,
    draw_by_kind,
    draw_runs,
    draw_stars,
    entry,
    label_empty_rows,
    mean_down,
    mean_entry,
    put_legend,
    put_title,
    row_figure,
    scale_for,
    star_entry,
)
from pinstudy.analysis.figures.style import (
    BLACK,
    BLUE,
    GREY,
    PALE,
    SCREEN,
    Layout,
    cores_of,
    kind_style,
    label_text,
    marker_style,
    shortened,
    text_width,
)
from pinstudy.analysis.format.numbers import percent, three_digits
from pinstudy.analysis.records.metrics import METRIC
from pinstudy.analysis.verdict.model import CaseFinding
from pinstudy.analysis.words import experiments as words
from pinstudy.base.text import one_line, plural

CONTENTION_TITLE = "Contention by placement"
SMT_TITLE = "A thread beside another one"
# As many workloads fit beside each other.
MAX_PANELS = 3


def draw_contention(
    experiment: Contention, runs: RunsByCase, name: str, layout: Layout = SCREEN
) -> Drawing | NotDrawn:
    """Draw the times of one experiment, and its L1 misses where they were counted."""
    rows = experiment.rows
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
    entries = _contention_legend(rows, kinds)
    figure, axes = row_figure(title_of(cases[0]), cases, panels, entries, layout=layout)
    limit, tooltips = _draw_rounds(axes[0], rows, runs)
    if misses:
        tooltips |= _draw_misses(axes[1], rows, misses)
    caption = sentences(
        "In a round each of the threads adds to a number that it shares with another one. Each dot "
        "is a run.",
        limit,
        "" if misses else f"{words.NOT_COUNTED.format(why=experiment.no_l1d)}.",
    )
    return Drawing(name, CONTENTION_TITLE, caption, _contention_alt_text(rows), figure, tooltips)


def _published_ms(rows: Sequence[Contended]) -> dict[int, float]:
    return {
        at: row.published.time_ms
        for at, row in enumerate(rows)
        if row.published and row.published.time_ms
    }


def _draw_rounds(
    axes: Axes, rows: Sequence[Contended], runs: RunsByCase
) -> tuple[str, dict[str, str | Sequence[str]]]:
    """Draw the times of a round; return the caption's sentence on the dots, and tooltips."""
    cases = [row.measured.case for row in rows]
    samples = {at: row.measured.sample for at, row in enumerate(rows) if row.measured.sample}
    means = {at: sample.mean for at, sample in samples.items()}
    stars = _published_ms(rows)
    scale_for(axes, [*means.values(), *stars.values()])
    limit, of_runs = draw_runs(axes, cases, runs, METRIC.format(TIMES[CONTENTION]), "ms")
    intervals = [sample.mean_interval for sample in samples.values()]
    of_means = draw_bars(axes, cases, means, intervals, "ms", mean_down(runs))
    of_stars = draw_stars(axes, stars, "ms")
    if axes.get_xscale() == "linear":
        axes.set_xlim(left=0)
    label_empty_rows(axes, cases, samples)
    return limit, {**of_runs, **of_means, **of_stars}


def _draw_misses(axes: Axes, rows: Sequence[Contended], misses: ByKind) -> Tooltips:
    cases = [row.measured.case for row in rows]
    of_kinds = draw_by_kind(axes, cases, misses, "%")
    stars = {
        at: 100 * row.published.l1d_miss_rate
        for at, row in enumerate(rows)
        if row.published and row.published.l1d_miss_rate
    }
    of_stars = draw_stars(axes, stars, "%", STAR_UP)
    shares = [share for by_row in misses.values() for share in by_row.values()]
    axes.set_xlim(0, 1.08 * max([*shares, *stars.values(), 0.1]))
    counted = {at for by_row in misses.values() for at in by_row}
    label_empty_rows(axes, cases, counted)
    return {**of_kinds, **of_stars}


def _contention_legend(rows: Sequence[Contended], kinds: Iterable[str]) -> list[Entry]:
    return [
        *case_entries(row.measured.case for row in rows if row.measured.sample),
        mean_entry("mean, 95 % interval"),
        *(entry(f"misses on {cores_of(kind)}", kind_style(kind).dots) for kind in kinds),
        *([star_entry()] if any(row.published for row in rows) else []),
    ]


def _contention_alt_text(rows: Sequence[Contended]) -> str:
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


def draw_smt(
    workloads: Sequence[Sharing], name: str, layout: Layout = SCREEN
) -> Drawing | NotDrawn:
    """Draw the workloads of one build and governor beside each other, a row a placement."""
    title = title_of(workloads[0][0].measured.case, ("size", "threads"))
    pairs = [sharing for sharing in workloads if any(_of_two(row) for row in sharing)]
    if not any(row.against for sharing in pairs for row in sharing):
        reason = "no placement of two threads has one thread to compare with"
        return NotDrawn(name, SMT_TITLE, reason)
    shown = pairs[:MAX_PANELS]
    cases = [row.measured.case for row in shown[0] if _of_two(row)]
    rows = [_by_place(sharing, cases) for sharing in shown]
    names = [one_line(str(sharing[0].measured.case.summary.key.table.size)) for sharing in shown]
    panels = [(f"{label_text(workload, 20)} (1: as alone)", 1.0) for workload in names]
    entries = [mean_entry("ratio, 95 % interval")]
    if any(row and row.published for placed in rows for row in placed):
        entries.append(star_entry())
    figure, axes = row_figure(title, cases, panels, entries, layout=layout)
    tooltips: dict[str, str | Sequence[str]] = {}
    for panel, placed in zip(axes, rows, strict=True):
        tooltips |= _draw_ratios(panel, placed, cases)
    caption = sentences(
        "How many times the time of one thread alone on the same kind of core a thread takes.",
        "1 is undisturbed; two threads that take turns on one CPU take twice the time.",
        not_drawn(len(pairs) - len(shown), "more workload"),
    )
    alt = sentences(
        *(
            extremes(f"{workload}: the multiple of the time alone", "", _ratios(placed), cases)
            for workload, placed in zip(names, rows, strict=True)
        ),
        *(
            f"Published for {workload} on the siblings of a core: {three_digits(slowdown)}."
            for workload, placed in zip(names, rows, strict=True)
            for slowdown in _slowdowns(placed).values()
        ),
    )
    return Drawing(name, SMT_TITLE, caption, alt, figure, tooltips)


def _of_two(row: ExperimentRow) -> bool:
    return row.measured.threads > 1


def _by_place(sharing: Sharing, cases: Sequence[CaseFinding]) -> list[ExperimentRow | None]:
    rows = {_place(row.measured.case): row for row in sharing if _of_two(row)}
    return [rows.get(_place(case)) for case in cases]


def _place(case: CaseFinding) -> tuple[str, str | None]:
    return case.mapping, case.summary.key.cpus


def _ratios(rows: Sequence[ExperimentRow | None]) -> dict[int, float]:
    return {at: row.against.difference.ratio for at, row in enumerate(rows) if row and row.against}


def _slowdowns(rows: Sequence[ExperimentRow | None]) -> dict[int, float]:
    return {
        at: row.published.slowdown
        for at, row in enumerate(rows)
        if row and row.published and row.published.slowdown
    }


def _draw_ratios(
    axes: Axes, rows: Sequence[ExperimentRow | None], cases: Sequence[CaseFinding]
) -> Tooltips:
    ratios, stars = _ratios(rows), _slowdowns(rows)
    scale_for(axes, [*ratios.values(), *stars.values()])
    axes.axvline(1.0, color=GREY, linewidth=0.8)
    ends = [row.against.difference.interval() for row in rows if row and row.against]
    known = [None if end.tells_nothing else end for end in ends]
    of_ratios = draw_bars(axes, cases, ratios, known)
    of_stars = draw_stars(axes, stars, up=STAR_UP)
    if axes.get_xscale() == "linear":
        axes.set_xlim(0, max(2.2, axes.get_xlim()[1]))
    label_empty_rows(axes, [row.measured.case if row else None for row in rows], ratios)
    return {**of_ratios, **of_stars}


TEAM_TITLE = "Who ran where"
# Beyond that many threads a row has no label of its own, beyond so many CPUs a cell no number.
MAX_LABELS, MAX_NUMBERED = 40, 20
# More dots would be a grey ground.
MAX_ALLOWED = 20_000
# Panels of one figure: more of them would not fit a page.
MAX_TEAMS = 8
# A column that is narrower has no room for a share's number.
_NUMBERED_IN = 0.2
_ROW_IN, _MIN_IN, _MAX_IN = 0.17, 0.35, 3.2
_HEAD_IN, _FOOT_IN, _LEFT_IN, _RIGHT_IN = 0.42, 0.3, 0.75, 0.12
# White where a thread never was, the darker the more often it was there: in grey as well.
_SHADES = LinearSegmentedColormap.from_list("looks", ["#ffffff", "#9ecae1", BLUE, "#08306b"])

Shares = NDArray[np.float64]


def draw_teams(teams: Sequence[Team], name: str, layout: Layout = SCREEN) -> Drawing | NotDrawn:
    """Draw the teams of one table, one below the other; one team at least."""
    shown = teams[:MAX_TEAMS]
    columns = _columns(shown)
    if max(len(team.threads) for team in shown) * len(columns) > MAX_CELLS:
        return NotDrawn(name, TEAM_TITLE, "so many threads and CPUs cannot be drawn")
    bodies = [min(max(_ROW_IN * len(team.threads), _MIN_IN), _MAX_IN) for team in shown]
    gap = _HEAD_IN + _FOOT_IN
    width = layout.wide()
    lines = layout.title_lines(title_of(teams[0].case), width)
    top = LINE_IN * len(lines)
    height = top + 0.3 + sum(bodies) + len(shown) * gap
    figure = Figure(figsize=(width, height))
    put_title(figure, lines)
    panels = figure.subplots(
        len(shown), squeeze=False, height_ratios=bodies,
        gridspec_kw={"left": _LEFT_IN / width, "right": 1 - _RIGHT_IN / width,
                     "top": 1 - (top + _HEAD_IN) / height, "bottom": (0.3 + _FOOT_IN) / height,
                     "hspace": gap / (sum(bodies) / len(shown))},
    )[:, 0]  # fmt: skip
    for axes, team in zip(panels, shown, strict=True):
        _draw_team(axes, team, columns, layout)
    put_legend(figure, _legend_of_teams())
    caption = sentences(
        "The darker a cell, the larger the share of looks that found the thread on that CPU.",
        "A dot: it was allowed there, and never seen. CPUs are in groups by core kind.",
        "" if all(map(_has_dots, shown)) else "Where dots would be too many there are none.",
        not_drawn(len(teams) - len(shown), "more case", " of this table"),
    )
    return Drawing(name, TEAM_TITLE, caption, sentences(*map(_team_alt_text, shown)), figure)


def _has_dots(team: Team) -> bool:
    return sum(len(thread.allowed) for thread in team.threads) <= MAX_ALLOWED


def _columns(teams: Sequence[Team]) -> list[int]:
    node = teams[0].node
    cpus = {cpu for team in teams for cpu in (*team.seen, *team.allowed, *team.node.kind)}
    rank = {kind: at for at, kind in enumerate(node.order)}
    return sorted(cpus, key=lambda cpu: (rank.get(node.kind.get(cpu, ""), len(rank)), cpu))


def _draw_team(axes: Axes, team: Team, columns: Sequence[int], layout: Layout) -> None:
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
    wide = layout.wide() - _LEFT_IN - _RIGHT_IN
    axes.set_title(shortened(case_label(team.case, layout), wide, 7.5), pad=14, fontsize=7.5)
    _mark_kinds(axes, team, columns)
    cell = wide / len(columns)
    _ticks(axes, team, columns, cell)
    if len(columns) <= MAX_NUMBERED and cell > _NUMBERED_IN:
        _numbers(axes, shares)


def _mark_kinds(axes: Axes, team: Team, columns: Sequence[int]) -> None:
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


def _ticks(axes: Axes, team: Team, columns: Sequence[int], cell: float) -> None:
    """Number CPUs and threads; `cell` is the width of a CPU's column in inches."""
    step = math.ceil(text_width(f" {max(columns)}", 6.5) / cell)
    places = list(range(0, len(columns), step))
    axes.set_xticks(places, [str(columns[place]) for place in places], fontsize=6.5)
    axes.annotate(
        "CPU", (0, 0), (-5, -5), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="top", fontsize=6.5, annotation_clip=False,
    )  # fmt: skip
    count = len(team.threads)
    step = 1 if count <= MAX_LABELS and count * _ROW_IN <= _MAX_IN else -(-count // 16)
    rows = list(range(0, count, step))
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


def _legend_of_teams() -> list[Entry]:
    shades = [
        Patch(facecolor=_SHADES(share), edgecolor=GREY, linewidth=0.5, label=percent(share))
        for share in (0.1, 0.5, 1.0)
    ]
    return [*shades, entry("allowed only", marker_style(".", 3, GREY, GREY))]


def _team_alt_text(team: Team) -> str:
    cpus = sorted(team.seen)
    kinds = ", ".join(f"{percent(share)} on {kind}-cores" for kind, share in team.shares.items())
    note = f" ({one_line(kinds)})" if kinds else ""
    return (
        f"{one_line(team.case.label)}: {plural(len(team.threads), 'thread')}, {team.single} bound "
        f"to one CPU, seen on {plural(len(cpus), 'CPU')}{note}."
    )
