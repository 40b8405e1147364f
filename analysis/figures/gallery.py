"""All figures of results: those of tables, of experiments, of the whole study, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from analysis.affinity.experiments import Affinity, affinity
from analysis.affinity.measured import CONTENTION, LATENCY, SMT, THREADMAP, grouped
from analysis.affinity.smt import Sharing
from analysis.answer import find
from analysis.figures.drawing import FORMATS, Drawing, NotDrawn, write_drawing
from analysis.figures.drift import draw_drift
from analysis.figures.experiments import draw_contention, draw_smt
from analysis.figures.kinds import draw_kinds
from analysis.figures.latency import draw_latency
from analysis.figures.measures import draw_migrations, draw_time_and_energy
from analysis.figures.node import draw_nodes
from analysis.figures.plane import draw_plane
from analysis.figures.rows import runs_by_case
from analysis.figures.team import draw_teams
from analysis.results.sources import Results, open_results
from analysis.verdict.model import Findings
from base.errors import UserError

FOLDER = "figures"


def table_figures(
    results: Results, findings: Findings, tables: Iterable[int] | None = None
) -> Iterator[tuple[int, Drawing | NotDrawn]]:
    """Yield the figures of each table with the table's place, drawn one at a time.

    `tables` are the places that are wanted, all of them if nothing is said.
    """
    runs = runs_by_case(results)
    for at in range(len(findings.tables)) if tables is None else tables:
        table, number = findings.tables[at], at + 1
        yield at, draw_time_and_energy(results, table, runs, f"table-{number}-time-and-energy")
        yield at, draw_plane(results, table, f"table-{number}-time-energy-plane")
        yield at, draw_kinds(results, table, f"table-{number}-kinds")
        yield at, draw_migrations(results, table, runs, f"table-{number}-migrations")


def affinity_figures(results: Results, found: Affinity) -> Iterator[tuple[str, Drawing | NotDrawn]]:
    """Yield the figures of each affinity experiment with the experiment, drawn one at a time."""
    runs = runs_by_case(results)
    for number, experiment in enumerate(found.contention, 1):
        yield CONTENTION, draw_contention(experiment, runs, f"contention-{number}")
    for number, workloads in enumerate(grouped(found.sharing, _build), 1):
        yield SMT, draw_smt(workloads, f"smt-{number}")
    for number, teams in enumerate(found.teams, 1):
        yield THREADMAP, draw_teams(teams, f"threads-{number}")
    if found.latency is not None:
        yield LATENCY, draw_latency(found.latency)
    elif found.why_no_latency:
        yield LATENCY, NotDrawn("latency", "Core-to-core latency", found.why_no_latency)


def _build(sharing: Sharing) -> tuple[str, ...]:
    """Return what workloads share that stand beside each other: build, governor and all else."""
    case = sharing[0].measured.case.summary
    return case.table.variant, case.table.schedule, case.table.wait_policy, case.governor


def all_figures(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    """Yield every figure: of the tables, of the affinity experiments, of all runs, of the nodes."""
    for _, drawn in table_figures(results, findings):
        yield drawn
    found = affinity(results, findings)
    if found is not None:
        for _, drawn in affinity_figures(results, found):
            yield drawn
    yield draw_drift(results, findings)
    yield from draw_nodes(results)


def write_figures(
    source: str, into: Path | None = None, formats: Sequence[str] = FORMATS
) -> list[str]:
    """Write the figures of a source of results; return a line for each that was drawn, or not.

    They go into `figures/` of the results' folder unless `into` says another one. Raises UserError
    when the source cannot be read, has no folder, or the folder cannot be written.
    """
    results = open_results(source)
    if into is None:
        if results.folder is None:
            raise UserError(f"{source}: has no folder of its own; name one with --into DIR")
        into = results.folder / FOLDER
        # The author of the results may have put the link there, to redirect what is written.
        if into.is_symlink():
            raise UserError(f"{into}: is a link; remove it, or name a folder with --into DIR")
    lines = []
    for drawn in all_figures(results, find(results)):
        if isinstance(drawn, NotDrawn):
            lines.append(f"not drawn: {drawn.name} ({drawn.title}): {drawn.reason}")
        else:
            lines += [f"written: {path}" for path in write_drawing(drawn, into, formats)]
    return lines
