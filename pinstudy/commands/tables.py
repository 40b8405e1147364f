"""`pinstudy tables`: the tables of results, on the terminal and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from pinstudy.options import JSON
from pinstudy.output import print_json


@click.command("tables")
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "markdown", "csv", "latex"]),
    default="text",
    show_default=True,
    help="How they are printed.",
)
@click.option(
    "--layout",
    type=click.Choice(["full", "published"]),
    default="full",
    show_default=True,
    help="Their columns: ours, or those of the published tables. CSV and JSON have every number.",
)
@JSON
@click.option("--no-files", is_flag=True, help="Print only; leave tables.md, .csv and .tex alone.")
def command(
    results: Path,
    style: str,
    layout: Literal["full", "published"],
    as_json: bool,
    no_files: bool,
) -> None:
    """Print the tables of RESULTS, and write them there as Markdown, CSV and LaTeX.

    RESULTS is a folder such as results/quick/mynode.
    """
    from analysis.tables import make_tables, render, write_tables

    rows = []
    for folder in result_folders(results):
        tables = make_tables(folder, layout)
        rows += [row for table in tables for row in table.exact]
        if not as_json:
            click.echo(render(tables, style))
        if not no_files:
            for path in write_tables(tables, folder):
                click.echo(f"written: {path}", err=True)
    if as_json:
        print_json(rows)


def result_folders(results: Path) -> list[Path]:
    """Return the folders below `results` that hold records, itself first; UserError if none."""
    from configs.errors import UserError

    if (results / "records").is_dir():
        return [results]
    found = sorted(path.parent for path in results.glob("*/records"))
    found = found or sorted(path.parent for path in results.glob("*/*/records"))
    if not found:
        raise UserError(
            f"{results}: no results here (expected a folder with records/*.jsonl, such as "
            "results/quick/mynode); make some with `pinstudy run quick`"
        )
    return found
