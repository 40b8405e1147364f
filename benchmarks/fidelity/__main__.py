"""Compares our own Lulesh, LU and Mandelbrot with the originals, for `make fidelity`.

Prints a table a program and runtime: each figure of the original and of ours, their ratio, its
bounds, and whether it holds. Exit status 3 when one does not.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from benchmarks.__main__ import BOUND_NOT_HELD
from benchmarks.fidelity.figures import (
    Figure,
    MissingError,
    Program,
    Row,
    build_counter,
    compare,
    lu,
    lulesh,
    mandelbrot,
)
from benchmarks.lib.tables import table
from pinstudy.base import ROOT
from pinstudy.configs.app import OPENMP_RUNTIMES
from pinstudy.runners.host.software import ORIGINALS, description_of

OWN = ROOT / "build" / "bin"
# Builds of both with instructions that valgrind knows.
PORTABLE = ROOT / "build" / "fidelity" / "bin"

Figures = Callable[[Path, int], Iterator[Figure]]
PAIRS: dict[str, tuple[str, Figures]] = {
    "lulesh": ("lulesh-llnl", lulesh),
    "lu": ("lu-ompscr", lu),
    "mandelbrot": ("mandelbrot-ompscr", mandelbrot),
}


@click.command()
@click.option("--rounds", default=7, show_default=True, help="Times of each program.")
@click.option("--only", multiple=True, type=click.Choice(list(PAIRS)), help="These programs only.")
def main(rounds: int, only: tuple[str, ...]) -> None:
    """Compare the programs, and print which figures hold."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        counter = build_counter(Path(folder))
        for name in only or PAIRS:
            other, figures = PAIRS[name]
            for runtime in OPENMP_RUNTIMES:
                original = Program(
                    ORIGINALS / f"{other}-{runtime}", PORTABLE / f"{other}-{runtime}"
                )
                own = Program(OWN / f"{name}-{runtime}", PORTABLE / f"{name}-{runtime}")
                rows += _section(original, own, figures(counter, rounds), runtime)
    failed = [row for row in rows if row.outcome == "FAIL"]
    bound = [row for row in rows if row.figure.bounds]
    click.echo(f"{len(bound) - len(failed)} of {len(bound)} figures with bounds hold.")
    if failed:
        raise SystemExit(BOUND_NOT_HELD)


def _section(
    original: Program, own: Program, figures: Iterator[Figure], runtime: str
) -> Iterator[Row]:
    description = description_of(original.native)
    title = description[0] if description else original.native.name
    click.echo(f"### {own.native.name} beside {title}, {runtime}\n")
    if not (original.native.exists() and own.native.exists()):
        click.echo(f"n/a, because {original.native.name} or {own.native.name} is not built\n")
        return
    cells = []
    for figure in figures:
        try:
            row = compare(figure, original, own)
        except (MissingError, OSError, subprocess.CalledProcessError) as problem:
            cells.append((figure.name, figure.unit, "n/a", "n/a", "n/a", "", f"n/a: {problem}"))
            continue
        yield row
        bounds = f"{figure.bounds[0]:g} to {figure.bounds[1]:g}" if figure.bounds else ""
        numbers = (_shown(row.original), _shown(row.own), f"{row.ratio:.3f}")
        cells.append((figure.name, figure.unit, *numbers, bounds, row.outcome))
    header = ("figure", "unit", "original", "own", "own / original", "bounds", "")
    click.echo(table(header, cells) + "\n")


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.4g}"


if __name__ == "__main__":
    main()
