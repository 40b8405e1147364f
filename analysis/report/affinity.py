"""The report's section on the affinity experiments: what each came to, what was not possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.affinity.experiments import APPS, CONTENTION, PINGPONG, SMT, THREADMAP, cases_of
from analysis.affinity.found import Affinity
from analysis.affinity.tell_contention import tell_contention
from analysis.affinity.tell_pingpong import tell_pingpong
from analysis.affinity.tell_smt import tell_smt
from analysis.affinity.tell_team import tell_team
from analysis.affinity.told import Told, lacking, title_of
from analysis.figures.affinity import affinity_figures
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import RunsByCase
from analysis.findings import Findings
from analysis.report.html_table import HtmlTable, html_table

TITLES = {
    CONTENTION: "Contention: threads that share a cache line",
    SMT: "SMT sharing: a thread beside another one",
    PINGPONG: "Ping-pong: a cache line from one thread to another",
    THREADMAP: "Thread map: who ran where",
}
INTRODUCTIONS = {
    CONTENTION: (
        "Pairs of threads add to one number a pair, again and again. Where the two of a pair are "
        "decides what the cache line between them costs."
    ),
    SMT: (
        "A thread works through an array of its own, alone or beside another one. Nothing is "
        "shared but what the core, the cache or the CPU is made of."
    ),
    PINGPONG: "Two threads hand one cache line back and forth, as fast as they can.",
    THREADMAP: (
        "A team of threads that does nothing but to look where it is, as the mapping bound it. The "
        "kernel's own masks and CPUs were read while it ran."
    ),
}


@dataclass(frozen=True)
class Part:
    """Cases that share all but their placement, in sentences and mostly in a table."""

    title: str
    sentences: tuple[str, ...]
    table: HtmlTable | None = None
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One experiment as the page shows it; `anchor` is its place on it."""

    anchor: str
    title: str
    introduction: str
    parts: tuple[Part, ...]
    drawn: tuple[Drawing | NotDrawn, ...]
    lacking: tuple[str, ...]


def experiments(found: Affinity, findings: Findings, runs: RunsByCase) -> list[Experiment]:
    """Return the experiments in the order of APPS; figures are drawn here."""
    drawn: dict[str, list[Drawing | NotDrawn]] = {}
    for app, figure in affinity_figures(found, runs):
        drawn.setdefault(app, []).append(figure)
    parts = _parts(found, findings)
    return [
        Experiment(
            f"affinity-{app}",
            TITLES[app],
            INTRODUCTIONS[app],
            tuple(parts[app]),
            tuple(drawn.get(app, ())),
            tuple(lacking(cases_of(findings, app))),
        )
        for app in APPS
        if app in found.apps
    ]


def _parts(found: Affinity, findings: Findings) -> Mapping[str, list[Part]]:
    margin = findings.margin
    told = {
        CONTENTION: [tell_contention(one, margin) for one in found.contention],
        SMT: [tell_smt(one, margin) for one in found.sharing],
        PINGPONG: [tell_pingpong(one) for one in found.exchanges],
    }
    parts = {app: list(_told(app, of_app)) for app, of_app in told.items()}
    return parts | {
        THREADMAP: [
            Part(title_of(teams[0].case), tuple(map(tell_team, teams))) for teams in found.teams
        ]
    }


def _told(app: str, told: Sequence[Told]) -> Iterator[Part]:
    for number, one in enumerate(told, 1):
        name = f"affinity-{app}-{number}"
        table = html_table(name, f"{one.title}: {one.table.caption}", one.table)
        yield Part(one.title, one.sentences, table, one.table.notes)
