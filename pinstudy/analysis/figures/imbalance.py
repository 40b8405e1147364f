"""How the work of each case was divided: a bar a thread, coloured by core kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pinstudy.analysis.figures.drawing import (
    Drawing,
    NotDrawn,
    extremes,
    sentences,
    why_not_measured,
)
from pinstudy.analysis.figures.layout import SCREEN, Layout
from pinstudy.analysis.figures.rows import (
    area_entry,
    label_empty_rows,
    name_bars,
    row_figure,
    tooltip,
    write_beside,
)
from pinstudy.analysis.figures.style import KNOWN_KINDS, ROW, cores_of, kind_style
from pinstudy.analysis.format.numbers import percent
from pinstudy.analysis.measures import PROFILES
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.analysis.words import report as words
from pinstudy.base.text import plural

TITLE = "CPU time of each thread"
# The part of a row's height that the bars of its threads share.
_HEIGHT = 0.72
# The part of a bar's height that is kept free.
_GAP = 0.2
# Inches: what a thread takes of its row, and a row at most.
_THREAD_IN, _MOST_ROW_IN = 0.055, 0.8
_MAX_THREADS = PROFILES["team_cpu_s"]
_FIELDS = ("team_cpu_s", "imbalance")


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
        if results.why_absent([case.summary for case in cases], _FIELDS):
            yield NotDrawn(name, TITLE, why_not_measured(results, cases, _FIELDS))
        return
    # One thread divides its work among none; where it ran, the figure of core kinds tells.
    if all(len(team) == 1 for team in teams.values()):
        return
    panel = "CPU time (% of the busiest thread's)"
    bars = _bars(teams)
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
        texts = [_tooltip(cases[part.row], kind, part) for part in parts]
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
    yield Drawing(name, TITLE, caption, alt, figure, tooltips)


def _tooltip(case: CaseFinding, kind: str, bar: _Bar) -> str:
    label = words.OF_THREAD.format(case=case.label, thread=bar.thread, cores=cores_of(kind))
    return tooltip(label, bar.seconds, "s")


def _bars(teams: Mapping[int, Sequence[Mapping[str, float]]]) -> dict[str, list[_Bar]]:
    """Return the bars of all rows by core kind, the known kinds first."""
    bars: dict[str, list[_Bar]] = {kind: [] for kind in KNOWN_KINDS}
    for row, team in teams.items():
        busiest_s = max(sum(thread.values()) for thread in team) or 1.0
        height = _HEIGHT / len(team)
        for number, thread in enumerate(team):
            bottom = row - _HEIGHT / 2 + (number + _GAP / 2) * height
            left = 0.0
            for kind in sorted(thread, key=KNOWN_KINDS.index):
                # A bar without width would still have an edge.
                if width := 100 * thread[kind] / busiest_s:
                    place = (left, bottom, width, (1 - _GAP) * height)
                    bars[kind].append(_Bar(place, row, number, thread[kind]))
                    left += width
    return {kind: parts for kind, parts in bars.items() if parts}
