"""All figures of results: those of tables, of experiments, of the whole study, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from analysis.affinity.experiments import Affinity, affinity
from analysis.affinity.smt import Sharing
from analysis.affinity.timed_cases import CONTENTION, LATENCY, SMT
from analysis.answer import analyze
from analysis.figures.cases import draw_kinds, draw_migrations, draw_time_and_energy
from analysis.figures.costs import draw_energy_by_kind, draw_slowdowns
from analysis.figures.course import draw_course
from analysis.figures.drawing import FORMATS, Drawing, NotDrawn, write_drawing
from analysis.figures.drift import draw_drift
from analysis.figures.experiments import draw_contention, draw_smt, draw_teams
from analysis.figures.heat_map import draw_heat_map
from analysis.figures.imbalance import draw_imbalance
from analysis.figures.latency import draw_latency
from analysis.figures.overview import draw_overview_plane
from analysis.figures.plane import draw_plane
from analysis.figures.rows import runs_by_case
from analysis.overview.configurations import overviews_of
from analysis.processes import how_many, pool
from analysis.records.team_looks import THREADMAP
from analysis.results.case import grouped
from analysis.results.sources import Results, open_results
from analysis.verdict.model import Findings
from base.errors import UserError

FOLDER = "figures"
# A process takes a second to start, as long as four tables take to draw.
MIN_TABLES = 4


def table_figures(
    results: Results, findings: Findings, tables: Iterable[int] | None = None
) -> Iterator[tuple[int, Drawing | NotDrawn]]:
    """Yield the figures of each table with the table's place, drawn one at a time.

    `tables` are the places of the tables to draw, by default all.
    """
    runs = runs_by_case(results)
    for at in range(len(findings.tables)) if tables is None else tables:
        table, number = findings.tables[at], at + 1
        yield at, draw_time_and_energy(results, table, runs, f"table-{number}-time-and-energy")
        yield at, draw_plane(results, table, f"table-{number}-time-energy-plane")
        yield at, draw_kinds(results, table, f"table-{number}-kinds")
        for drawn in draw_imbalance(results, table, f"table-{number}-imbalance"):
            yield at, drawn
        yield at, draw_migrations(results, table, runs, f"table-{number}-migrations")
        for more in (
            draw_course(table, f"table-{number}-course"),
            draw_energy_by_kind(table, f"table-{number}-energy-by-kind"),
            draw_slowdowns(table, f"table-{number}-slowdowns"),
        ):
            if more is not None:
                yield at, more


def affinity_figures(
    results: Results, experiments: Affinity
) -> Iterator[tuple[str, Drawing | NotDrawn]]:
    """Yield the figures of each affinity experiment with the experiment, drawn one at a time."""
    runs = runs_by_case(results)
    for number, experiment in enumerate(experiments.contention, 1):
        yield CONTENTION, draw_contention(experiment, runs, f"contention-{number}")
    for number, workloads in enumerate(grouped(experiments.sharing, _build), 1):
        yield SMT, draw_smt(workloads, f"smt-{number}")
    for number, teams in enumerate(experiments.teams, 1):
        yield THREADMAP, draw_teams(teams, f"threads-{number}")
    if experiments.latency is not None:
        yield LATENCY, draw_latency(experiments.latency)
    elif experiments.why_no_latency:
        yield LATENCY, NotDrawn("latency", "Core-to-core latency", experiments.why_no_latency)


def _build(sharing: Sharing) -> tuple[str, ...]:
    """Return what workloads share that stand beside each other: build, governor and all else."""
    case = sharing[0].measured.case.summary
    of_table = case.key.table.build, case.key.table.schedule, case.key.table.wait_policy
    return *of_table, case.key.setting_words, case.key.governor


def all_figures(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    """Yield every figure: of all configurations, the tables, the affinity experiments, all runs."""
    yield from _overview_figures(results, findings)
    for _, drawn in table_figures(results, findings):
        yield drawn
    yield from _other_figures(results, findings)


def _overview_figures(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    for overview in overviews_of(findings):
        if overview.columns:
            yield draw_heat_map(overview, findings)
    yield draw_overview_plane(results, findings)


def _other_figures(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    experiments = affinity(results, findings)
    if experiments is not None:
        for _, drawn in affinity_figures(results, experiments):
            yield drawn
    yield draw_drift(results, findings)


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
            raise UserError(f"{source}: has no folder of its own; name one with --output DIR")
        into = results.folder / FOLDER
        # The author of the results may have put the link there, to redirect what is written.
        if into.is_symlink():
            raise UserError(f"{into}: is a link; remove it, or name a folder with --output DIR")
    findings = analyze(results)
    of_all = _written(_overview_figures(results, findings), into, formats)
    of_tables = _write_tables(results, findings, into, formats)
    return of_all + of_tables + _written(_other_figures(results, findings), into, formats)


def _write_tables(
    results: Results, findings: Findings, folder: Path, formats: Sequence[str]
) -> list[str]:
    """Write the tables' figures; of many tables in as many processes as there are CPUs."""
    places = range(len(findings.tables))
    workers = how_many(len(places) // MIN_TABLES)
    write = partial(_write_some, results, findings, folder, formats)
    if workers > 1:
        # When a worker is killed, as for lack of memory, this process does the work.
        with suppress(BrokenProcessPool), pool(workers) as processes:
            parts = np.array_split(places, workers)
            return [line for lines in processes.map(write, parts) for line in lines]
    return write(places)


def _write_some(
    results: Results,
    findings: Findings,
    folder: Path,
    formats: Sequence[str],
    tables: Iterable[int],
) -> list[str]:
    drawn = (drawn for _, drawn in table_figures(results, findings, tables))
    return _written(drawn, folder, formats)


def _written(
    figures: Iterable[Drawing | NotDrawn], folder: Path, formats: Sequence[str]
) -> list[str]:
    lines = []
    for drawn in figures:
        if isinstance(drawn, NotDrawn):
            lines.append(f"not drawn: {drawn.name} ({drawn.title}): {drawn.reason}")
        else:
            lines += [f"written: {path}" for path in write_drawing(drawn, folder, formats)]
    return lines
