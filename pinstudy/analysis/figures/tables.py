"""The figures of a table, a row a case: core kinds, each thread's work, and slowdowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from pinstudy.analysis.figures.drawing import (
    Drawing,
    NotDrawn,
    Tooltips,
    extremes,
    sentences,
    why_not_measured,
)
from pinstudy.analysis.figures.rows import (
    ByKind,
    Entry,
    area_entry,
    draw_by_kind,
    draw_stacked,
    entry,
    label_empty_rows,
    name_bars,
    reach,
    row_figure,
    tooltip,
    write_beside,
)
from pinstudy.analysis.figures.style import (
    ANY_KIND,
    BLACK,
    BLUE,
    GREY,
    KNOWN_KINDS,
    ROW,
    SCREEN,
    VERMILION,
    Layout,
    cores_of,
    kind_style,
    label_text,
    marker_style,
)
from pinstudy.analysis.format.numbers import percent
from pinstudy.analysis.measures import PROFILES
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.analysis.words import experiments
from pinstudy.analysis.words import report as words
from pinstudy.base.text import plural

KINDS_TITLE = "Frequency and residency per core kind"
# The panel of each field of a record, and the panel's share of the width.
_PANELS = {"freq_ghz": ("mean frequency (GHz)", 1.0), "residency": ("share of CPU time (%)", 1.15)}
# Smaller shares are too thin to be seen, and are written beside the bar.
_THIN = 0.1
_THIN_SHARES = f"Shares under {percent(_THIN)} are written beside the bar."


def draw_kinds(
    results: Results, table: TableFindings, name: str, layout: Layout = SCREEN
) -> Drawing | NotDrawn:
    """Draw the mean frequency on each core kind, and the share of CPU time on it."""
    cases = table.cases
    frequencies = _by_kind(cases, _frequencies_of)
    shares = _by_kind(cases, lambda case: case.summary.means_by_kind("residency"))
    fields = {"freq_ghz": (_draw_frequencies, frequencies), "residency": (_draw_shares, shares)}
    shown = [field for field, (_, values) in fields.items() if values]
    if not shown:
        return NotDrawn(
            name, KINDS_TITLE, why_not_measured(results, cases, ["freq_mean_ghz", *fields])
        )
    figure, axes = row_figure(
        table.title,
        cases,
        [_PANELS[field] for field in shown],
        _legend_of_kinds(frequencies, shares),
        layout=layout,
    )
    tooltips: dict[str, str | Sequence[str]] = {}
    for panel, field in zip(axes, shown, strict=True):
        draw, values = fields[field]
        tooltips |= draw(panel, cases, values)
        label_empty_rows(panel, cases, {row for of_kind in values.values() for row in of_kind})
    caption = sentences(
        "Means of the runs. Frequency is cycles per nanosecond on a CPU of the kind.",
        _THIN_SHARES if shares else "",
        *(
            _not_measured(results, cases, field, _PANELS[field][0])
            for field in fields
            if field not in shown
        ),
    )
    alt = _kinds_alt_text(cases, frequencies, shares)
    return Drawing(name, KINDS_TITLE, caption, alt, figure, tooltips)


def _not_measured(results: Results, cases: Sequence[CaseFinding], field: str, panel: str) -> str:
    why = why_not_measured(results, cases, [field])
    return experiments.NOT_MEASURED.format(field=panel.partition(" (")[0], why=why)


def _frequencies_of(case: CaseFinding) -> Mapping[str, float]:
    """Return the mean frequencies by kind, or that over all CPUs where no more is known."""
    overall = case.summary.stats["freq_mean_ghz"]
    by_kind = case.summary.means_by_kind("freq_ghz")
    return by_kind if by_kind or overall.n == 0 else {ANY_KIND: overall.mean}


def _by_kind(
    cases: Sequence[CaseFinding], measure: Callable[[CaseFinding], Mapping[str, float]]
) -> ByKind:
    rows = [measure(case) for case in cases]
    return {
        kind: {at: float(row[kind]) for at, row in enumerate(rows) if kind in row}
        for kind in _in_order({kind for row in rows for kind in row})
    }


def _in_order(kinds: Iterable[str]) -> list[str]:
    names = {*kinds}
    return [*(kind for kind in KNOWN_KINDS if kind in names), *sorted(names - {*KNOWN_KINDS})]


def _draw_frequencies(axes: Axes, cases: Sequence[CaseFinding], frequencies: ByKind) -> Tooltips:
    tooltips = draw_by_kind(axes, cases, frequencies, "GHz")
    # Room for the markers at both ends; margins are of the data's range, which begins above 0.
    highest = max(value for values in frequencies.values() for value in values.values())
    axes.set_xlim(0, 1.06 * highest if highest > 0 else 1.0)
    return tooltips


def _draw_shares(axes: Axes, cases: Sequence[CaseFinding], shares: ByKind) -> Tooltips:
    percents = {
        kind: {row: 100 * share for row, share in by_row.items()} for kind, by_row in shares.items()
    }
    tooltips = draw_stacked(axes, cases, percents, "% of CPU time")
    for row in range(len(cases)):
        thin = [
            f"{label_text(kind, 8)} {percent(values[row])}"
            for kind, values in shares.items()
            if 0 < values.get(row, 0.0) < _THIN
        ]
        axes.text(101.5, row, ", ".join(thin), va="center", ha="left", fontsize=7)
    # Room for the words beside the bars, where there are any.
    has_thin = any(0 < share < _THIN for values in shares.values() for share in values.values())
    axes.set_xlim(0, 132 if has_thin else 102)
    axes.set_xticks([0, 25, 50, 75, 100])
    return tooltips


def _legend_of_kinds(frequencies: ByKind, shares: ByKind) -> list[Entry]:
    entries: list[Entry] = []
    for kind in _in_order([*frequencies, *shares]):
        name = cores_of(kind)
        if kind in frequencies:
            entries.append(entry(f"frequency, {name}", kind_style(kind).dots))
        if any(share > 0 for share in shares.get(kind, {}).values()):
            entries.append(area_entry(f"CPU time, {name}", kind))
    return entries


def _kinds_alt_text(cases: Sequence[CaseFinding], frequencies: ByKind, shares: ByKind) -> str:
    parts = []
    for kind in _in_order([*frequencies, *shares]):
        frequency = f"The mean frequency on {cores_of(kind)}"
        parts.append(extremes(frequency, "GHz", frequencies.get(kind, {}), cases))
        if by_row := shares.get(kind, {}):
            most = max(by_row, key=lambda row: by_row[row])
            used = sum(share > 0 for share in by_row.values())
            parts.append(
                f"{used} of {len(by_row)} cases used {cores_of(kind)}, most of all "
                f"{cases[most].label} with {percent(by_row[most])} of its CPU time."
                if used
                else f"No case used {cores_of(kind)}."
            )
    return sentences(*parts)


IMBALANCE_TITLE = "CPU time of each thread"
# The part of a row's height that the bars of its threads share.
_THREADS_HEIGHT = 0.72
# The part of a bar's height that is kept free.
_THREADS_GAP = 0.2
# Inches: what a thread takes of its row, and a row at most.
_THREAD_IN, _MOST_ROW_IN = 0.055, 0.8
_MAX_THREADS = PROFILES["team_cpu_s"]
_IMBALANCE_FIELDS = ("team_cpu_s", "imbalance")


class _Bar(NamedTuple):
    """The CPU time of a thread on a core kind, in seconds.

    `place` is left and bottom, width and height; in per cent, and in rows.
    """

    place: tuple[float, float, float, float]
    row: int
    thread: int
    seconds: float


def draw_imbalance(
    results: Results, table: TableFindings, name: str, layout: Layout = SCREEN
) -> Iterator[Drawing | NotDrawn]:
    """Draw the CPU time of each thread of the team, as a share of the busiest thread's.

    Yields nothing for results that were not asked for it, imported or published ones, and for
    teams of one thread.
    """
    cases = table.cases
    teams = {row: case.summary.profiles.get("team_cpu_s", ()) for row, case in enumerate(cases)}
    teams = {row: team for row, team in teams.items() if team}
    if not teams:
        if results.why_absent([case.summary for case in cases], _IMBALANCE_FIELDS):
            yield NotDrawn(
                name, IMBALANCE_TITLE, why_not_measured(results, cases, _IMBALANCE_FIELDS)
            )
        return
    # One thread divides its work among none; where it ran, the figure of core kinds tells.
    if all(len(team) == 1 for team in teams.values()):
        return
    panel = "CPU time (% of the busiest thread's)"
    bars = _thread_bars(teams)
    entries = [area_entry(f"CPU time, {cores_of(kind)}", kind) for kind in bars]
    tall = min(max(ROW, _THREAD_IN * max(map(len, teams.values()))), _MOST_ROW_IN)
    figure, axes = row_figure(table.title, cases, [(panel, 1.0)], entries, 0.5, layout, tall)
    tooltips: dict[str, str] = {}
    for kind, parts in bars.items():
        left, bottom, width, height = zip(*(part.place for part in parts), strict=True)
        drawn = axes[0].barh(
            bottom, width, left=left, height=height, align="edge", linewidth=0.4, zorder=2,
            **kind_style(kind).areas,
        )  # fmt: skip
        texts = [_thread_tooltip(cases[part.row], kind, part) for part in parts]
        tooltips |= name_bars(axes[0], drawn, f"bar-{kind}", texts)
    axes[0].set_xlim(0, 100)
    imbalances = {row: cases[row].summary.stats["imbalance"] for row in teams}
    known = {row: stats.mean for row, stats in imbalances.items() if stats.n != 0}
    write_beside(axes[0], {row: percent(known[row]) if row in known else "n/a" for row in teams})
    label_empty_rows(axes[0], cases, teams)
    cut = any(len(team) == _MAX_THREADS for team in teams.values())
    caption = sentences(
        "Means of the runs; in each row a bar a thread, in the order in which they started.",
        "At the right the imbalance, 1 - mean / largest; n/a for one thread, and where threads "
        "that wait may use CPU time.",
        f"Of larger teams {plural(_MAX_THREADS, 'thread')} are shown." if cut else "",
    )
    alt = sentences(
        f"Bars of the threads' CPU time in {plural(len(teams), 'case')}.",
        extremes("The imbalance", "%", {row: 100 * share for row, share in known.items()}, cases),
    )
    yield Drawing(name, IMBALANCE_TITLE, caption, alt, figure, tooltips)


def _thread_tooltip(case: CaseFinding, kind: str, bar: _Bar) -> str:
    label = words.OF_THREAD.format(case=case.label, thread=bar.thread, cores=cores_of(kind))
    return tooltip(label, bar.seconds, "s")


def _thread_bars(teams: Mapping[int, Sequence[Mapping[str, float]]]) -> dict[str, list[_Bar]]:
    bars: dict[str, list[_Bar]] = {kind: [] for kind in KNOWN_KINDS}
    for row, team in teams.items():
        busiest_s = max(sum(thread.values()) for thread in team) or 1.0
        height = _THREADS_HEIGHT / len(team)
        for number, thread in enumerate(team):
            bottom = row - _THREADS_HEIGHT / 2 + (number + _THREADS_GAP / 2) * height
            left = 0.0
            for kind in sorted(thread, key=KNOWN_KINDS.index):
                # A bar without width would still have an edge.
                if width := 100 * thread[kind] / busiest_s:
                    place = (left, bottom, width, (1 - _THREADS_GAP) * height)
                    bars[kind].append(_Bar(place, row, number, thread[kind]))
                    left += width
    return {kind: parts for kind, parts in bars.items() if parts}


SLOWDOWNS_TITLE = "What programs beside each other cost each other"
_PROGRAM = marker_style("o", 5, BLUE, BLUE)
_CO_RUNNER = marker_style("D", 5, VERMILION, "white")
# Parts of a row's height: the program stands above its middle, the co-runner below.
_APART = 0.16


def draw_slowdowns(table: TableFindings, name: str, layout: Layout = SCREEN) -> Drawing | None:
    """Draw the slowdown of each program and of its co-runner; None where nothing ran beside any."""
    slowdowns = {row: case.slowdown for row, case in enumerate(table.cases) if case.slowdown}
    programs = {row: found.of_program for row, found in slowdowns.items() if found.of_program}
    co_runners = {row: found.of_co_runner for row, found in slowdowns.items() if found.of_co_runner}
    if not (programs or co_runners):
        return None
    entries = [entry("the program", _PROGRAM), entry("its co-runner", _CO_RUNNER)]
    panels = [("time beside the other over that alone", 1.0)]
    figure, (axes,) = row_figure(table.title, table.cases, panels, entries, layout=layout)
    axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    tooltips: dict[str, str] = {}
    for found, style, up, noun in (
        (programs, _PROGRAM, -_APART, "the program"),
        (co_runners, _CO_RUNNER, _APART, "its co-runner"),
    ):
        for row, difference in found.items():
            gid = f"slowdown-{len(tooltips)}"
            _draw_ratio(axes, difference, row + up, style, gid)
            label = f"{table.cases[row].label}, {noun}"
            tooltips[gid] = tooltip(label, difference.ratio, "", difference.known_interval())
    label_empty_rows(axes, table.cases, {*programs, *co_runners})
    caption = "Ratios of typical times with their 95 % intervals, each by itself; 1 is no slowdown."
    return Drawing(
        name, SLOWDOWNS_TITLE, caption, _slowdowns_alt_text(table.cases, programs), figure, tooltips
    )


def _draw_ratio(
    axes: Axes, difference: Difference, y: float, style: dict[str, Any], gid: str
) -> None:
    interval = difference.known_interval()
    down, up = reach(difference.ratio, interval)
    mark, *_ = axes.errorbar(
        difference.ratio, y, xerr=[[down], [up]], ecolor=BLACK, elinewidth=1.0, capsize=2.0,
        zorder=3, **style,
    )  # fmt: skip
    mark.set_gid(gid)


def _slowdowns_alt_text(cases: Sequence[CaseFinding], programs: dict[int, Difference]) -> str:
    ratios = {row: difference.ratio for row, difference in programs.items()}
    return extremes("The slowdown of the program", "", ratios, cases)
