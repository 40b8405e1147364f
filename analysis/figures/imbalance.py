"""How the work of each case was divided: a bar a thread, coloured by core kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.figures.drawing import Drawing, NotDrawn, extremes, sentences, why_not_measured
from analysis.figures.rows import Entry, label_empty_rows, row_figure
from analysis.figures.style import KNOWN_KINDS, cores_of, kind_style
from analysis.format.numbers import percent
from analysis.results.case_summary import MAX_TEAM
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings
from base.text import plural

TITLE = "CPU time of each thread"
# The part of a row's height that the bars of its threads share.
_HEIGHT = 0.72
_FIELDS = ("team_cpu_s", "imbalance")


def draw_imbalance(
    results: Results, table: TableFindings, name: str
) -> Iterator[Drawing | NotDrawn]:
    """Draw the CPU time of each thread of the team, as a share of the busiest thread's.

    Yields nothing for results that were not asked for it: imported or published ones.
    """
    cases = table.cases
    teams = {row: case.summary.team_cpu_s for row, case in enumerate(cases)}
    teams = {row: team for row, team in teams.items() if team}
    if not teams:
        if results.why_absent([case.summary for case in cases], _FIELDS):
            yield NotDrawn(name, TITLE, why_not_measured(results, cases, _FIELDS))
        return
    panel = "CPU time of each thread (% of the busiest thread's), and imbalance"
    figure, axes = row_figure(table.title, cases, [(panel, 1.0)], _legend(teams), room=0.5)
    for row, team in teams.items():
        _draw_team(axes[0], row, team)
    axes[0].set_xlim(0, 100)
    imbalances = {
        row: 100 * of.mean
        for row, case in enumerate(cases)
        if (of := case.summary.measures["imbalance"]).n != 0
    }
    for row in teams:
        text = percent(imbalances[row] / 100) if row in imbalances else "n/a"
        axes[0].text(
            1.01, row, text, transform=axes[0].get_yaxis_transform(),
            va="center", ha="left", fontsize=7,
        )  # fmt: skip
    label_empty_rows(axes[0], cases, teams)
    caption = sentences(
        "Means of the runs; in each row a bar a thread, in the order in which they started.",
        "At the right the imbalance, 1 - mean / largest; n/a where threads that wait may use CPU "
        "time.",
        f"Of larger teams {plural(MAX_TEAM, 'thread')} are shown." if _cut(teams) else "",
    )
    yield Drawing(name, TITLE, caption, _alt_text(cases, imbalances, teams), figure)


def _cut(teams: Mapping[int, Sequence[Mapping[str, float]]]) -> bool:
    return any(len(team) == MAX_TEAM for team in teams.values())


def _draw_team(axes: Axes, row: int, team: Sequence[Mapping[str, float]]) -> None:
    busiest_s = max(sum(of_thread.values()) for of_thread in team) or 1.0
    height = _HEIGHT / len(team)
    for number, of_thread in enumerate(team):
        y = row - _HEIGHT / 2 + (number + 0.5) * height
        left = 0.0
        for kind in sorted(of_thread, key=KNOWN_KINDS.index):
            width = 100 * of_thread[kind] / busiest_s
            axes.barh(
                y, width, left=left, height=0.86 * height, linewidth=0.4, zorder=2,
                **kind_style(kind).areas,
            )  # fmt: skip
            left += width


def _legend(teams: Mapping[int, Sequence[Mapping[str, float]]]) -> list[Entry]:
    kinds = {
        kind
        for team in teams.values()
        for of_thread in team
        for kind, seconds in of_thread.items()
        if seconds
    }
    return [
        Patch(linewidth=0.7, label=f"CPU time, {cores_of(kind)}", **kind_style(kind).areas)
        for kind in sorted(kinds, key=KNOWN_KINDS.index)
    ]


def _alt_text(
    cases: Sequence[CaseFinding],
    imbalances: Mapping[int, float],
    teams: Mapping[int, Sequence[Mapping[str, float]]],
) -> str:
    return sentences(
        f"Bars of the threads' CPU time in {plural(len(teams), 'case')}.",
        extremes("The imbalance", "%", imbalances, cases),
    )
