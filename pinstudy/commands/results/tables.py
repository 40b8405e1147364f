"""`pinstudy tables`: the tables of results, on the terminal and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from pinstudy.options import JSON, STYLE, find_results
from pinstudy.output import print_json, say


@click.command("tables")
@click.argument("results", callback=find_results)
@STYLE
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
    results: str,
    style: str,
    layout: Literal["full", "published"],
    as_json: bool,
    no_files: bool,
) -> None:
    """Print the tables of RESULTS, and write them there as Markdown, CSV and LaTeX.

    RESULTS is a folder such as results/quick/mynode, or published:galante-2025, whose tables are
    only printed.
    """
    from analysis.sources import PUBLISHED, sources_below
    from analysis.tables import make_tables, render, write_tables

    rows = []
    for source in sources_below(results):
        tables = make_tables(source, layout)
        rows += [row for table in tables for row in table.exact]
        if not as_json:
            say(render(tables, style))
        if not no_files and not source.startswith(PUBLISHED):
            for path in write_tables(tables, Path(source)):
                say(f"written: {path}", err=True)
    if as_json:
        print_json(rows)
