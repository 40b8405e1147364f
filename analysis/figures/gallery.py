"""All figures of results: those of tables, of experiments, of the whole study, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

from analysis.affinity.experiments import affinity
from analysis.answer import find
from analysis.figures.affinity import affinity_figures
from analysis.figures.drawing import FORMATS, Drawing, NotDrawn, write_drawing
from analysis.figures.drift import draw_drift
from analysis.figures.kinds import draw_kinds
from analysis.figures.migrations import draw_migrations
from analysis.figures.node import draw_nodes
from analysis.figures.plane import draw_plane
from analysis.figures.rows import RunsByCase, runs_by_case
from analysis.figures.style import in_style
from analysis.figures.time_and_energy import draw_time_and_energy
from analysis.processes import how_many, pool
from analysis.results.sources import Results, open_results
from analysis.verdict.model import Findings
from base.errors import UserError

FOLDER = "figures"
# A process takes a second to start, as long as four tables take to draw.
MIN_TABLES = 4

# The lines to print for each table's figures, by the table's place.
Lines = dict[int, list[str]]


def table_figures(
    results: Results, findings: Findings, tables: Iterable[int] | None = None
) -> Iterator[tuple[int, Drawing | NotDrawn]]:
    """Yield the figures of each table with the table's place, drawn one at a time.

    `tables` are the places that are wanted, all of them if nothing is said.
    """
    runs: RunsByCase = runs_by_case(results.runs.frame) if results.runs is not None else {}
    for at in range(len(findings.tables)) if tables is None else tables:
        table, number = findings.tables[at], at + 1
        yield at, draw_time_and_energy(results, table, runs, f"table-{number}-time-and-energy")
        yield at, draw_plane(results, table, f"table-{number}-time-energy-plane")
        yield at, draw_kinds(results, table, f"table-{number}-kinds")
        yield at, draw_migrations(results, table, runs, f"table-{number}-migrations")


def all_figures(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    """Yield every figure: of the tables, of the affinity experiments, of all runs, of the nodes."""
    for _, drawn in table_figures(results, findings):
        yield drawn
    yield from _of_no_table(results, findings)


def _of_no_table(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    found = affinity(results, findings)
    if found is not None:
        runs = runs_by_case(results.runs.frame) if results.runs is not None else {}
        for _, drawn in affinity_figures(found, runs):
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
    findings = find(results)
    with in_style():
        of_tables = _write_tables(results, findings, into, formats)
        of_all = [
            line
            for drawn in _of_no_table(results, findings)
            for line in _written(drawn, into, formats)
        ]
    return [*(line for at in sorted(of_tables) for line in of_tables[at]), *of_all]


def _write_tables(
    results: Results, findings: Findings, folder: Path, formats: Sequence[str]
) -> Lines:
    """Write the tables' figures; of many tables in as many processes as there are CPUs."""
    places = range(len(findings.tables))
    workers = how_many(len(places) // MIN_TABLES)
    if workers > 1:
        # When a worker is killed, as for lack of memory, this process does the work.
        with suppress(BrokenProcessPool):
            return _write_together(results, findings, folder, formats, workers)
    return _write_some(results, findings, folder, formats, places)


def _write_together(
    results: Results, findings: Findings, folder: Path, formats: Sequence[str], workers: int
) -> Lines:
    places = range(len(findings.tables))
    with pool(workers) as processes:
        jobs = [
            processes.submit(
                _write_some, results, findings, folder, formats, places[first::workers]
            )
            for first in range(workers)
        ]
        return {at: lines for job in jobs for at, lines in job.result().items()}


def _write_some(
    results: Results,
    findings: Findings,
    folder: Path,
    formats: Sequence[str],
    tables: Iterable[int],
) -> Lines:
    lines: Lines = {}
    with in_style():
        for at, drawn in table_figures(results, findings, tables):
            lines.setdefault(at, []).extend(_written(drawn, folder, formats))
    return lines


def _written(drawn: Drawing | NotDrawn, folder: Path, formats: Sequence[str]) -> list[str]:
    if isinstance(drawn, NotDrawn):
        return [f"not drawn: {drawn.name} ({drawn.title}): {drawn.reason}"]
    return [f"written: {path}" for path in write_drawing(drawn, folder, formats)]
