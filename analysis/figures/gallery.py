"""All figures of results: those of each table, those of the whole study, and their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.figures.drawing import FORMATS, Drawing, NotDrawn, write_drawing
from analysis.figures.drift import draw_drift
from analysis.figures.kinds import draw_kinds
from analysis.figures.migrations import draw_migrations
from analysis.figures.plane import draw_plane
from analysis.figures.rows import RunsByCase, good_runs
from analysis.figures.style import in_style
from analysis.figures.time_and_energy import draw_time_and_energy
from analysis.find import find
from analysis.findings import Findings
from analysis.sources import Results, open_results
from configs.errors import UserError

FOLDER = "figures"


def table_figures(results: Results, findings: Findings) -> Iterator[tuple[int, Drawing | NotDrawn]]:
    """Yield the figures of each table with the table's place, drawn one at a time."""
    runs: RunsByCase = good_runs(results.runs.frame) if results.runs is not None else {}
    for at, table in enumerate(findings.tables):
        number = at + 1
        yield at, draw_time_and_energy(results, table, runs, f"table-{number}-time-and-energy")
        yield at, draw_plane(results, table, f"table-{number}-time-energy-plane")
        yield at, draw_kinds(results, table, f"table-{number}-kinds")
        yield at, draw_migrations(results, table, runs, f"table-{number}-migrations")


def all_figures(results: Results, findings: Findings) -> Iterator[Drawing | NotDrawn]:
    """Yield every figure that matplotlib draws; lstopo has drawn the node's already."""
    for _, drawn in table_figures(results, findings):
        yield drawn
    yield draw_drift(results, findings)


def write_figures(
    source: str, into: Path | None = None, formats: Sequence[str] = FORMATS
) -> Iterator[str]:
    """Write the figures of a source of results; yield a line for each that was drawn, or not.

    They go into `figures/` of the results' folder unless `into` says another one. Raises UserError
    when the source cannot be read, has no folder, or the folder cannot be written.
    """
    results = open_results(source)
    if into is None and results.folder is None:
        raise UserError(f"{source}: has no folder of its own; name one with --into DIR")
    folder = into or results.folder / FOLDER  # type: ignore[operator]
    with in_style():
        for drawn in all_figures(results, find(results)):
            if isinstance(drawn, NotDrawn):
                yield f"not drawn: {drawn.name} ({drawn.title}): {drawn.reason}"
            else:
                for path in write_drawing(drawn, folder, formats):
                    yield f"written: {path}"
