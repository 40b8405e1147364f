"""The command that prints tables of means, and writes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pinstudy.base.errors import UserError
from pinstudy.cli.options import JSON, ONE_RESULTS, STYLE
from pinstudy.cli.output import print_json, say, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinstudy.analysis.format.table import Table


@click.command("tables")
@ONE_RESULTS
@STYLE
@click.option("--columns", metavar="time,sd,energy", help="These numbers (docs/tables.md).")
@click.option("--all", "all_columns", is_flag=True, help="All columns.")
@click.option(
    "--layout",
    type=click.Choice(["short", "published"]),
    default="short",
    show_default=True,
    help="Fitted, or as published.",
)
@click.option(
    "--table", "number", type=click.IntRange(min=1), metavar="N", help="This table alone."
)
@click.option("--caption", help="Its caption.")
@click.option("--label", help="Its label in LaTeX.")
@JSON
@click.option("--no-files", is_flag=True, help="Print only.")
def tables_command(
    results: str,
    style: str,
    columns: str | None,
    all_columns: bool,
    layout: Literal["short", "published"],
    number: int | None,
    caption: str | None,
    label: str | None,
    as_json: bool,
    no_files: bool,
) -> None:
    """Print the tables of RESULTS, and write them there as Markdown, CSV and LaTeX.

    RESULTS: results/quick/mynode, a folder of nodes or cards (one table for all), a card, or
    published:galante-2025.
    """
    from pinstudy.analysis.format.table import render, terminal_text
    from pinstudy.analysis.results.sources import has_folder, open_results, sources_below
    from pinstudy.analysis.tables.means import (
        Choice,
        named_nodes,
        node_of,
        tables_of_nodes,
        write_tables,
    )
    from pinstudy.analysis.tables.short import checked_columns

    sources = sources_below(results)
    several = [open_results(source) for source in sources]
    nodes = named_nodes(several) if len(several) > 1 else [node_of(several[0])]
    names = [] if columns is None else [name.strip() for name in columns.split(",")]
    if names and (all_columns or layout == "published"):
        raise UserError("--columns chooses columns; leave --all and --layout published out")
    if all_columns and layout == "published":
        raise UserError("--all shows all columns; leave --layout published out")
    chosen = checked_columns(names, [case for node in nodes for case in node.cases])
    choice = Choice("full" if all_columns else layout, chosen)
    on_terminal = style == "text" and not as_json
    fitted = replace(choice, width=None if chosen or not on_terminal else terminal_width())
    made = tables_of_nodes(nodes, fitted, share_notes=on_terminal)
    tables = _titled(_only(made, number), caption, label)
    if as_json:
        print_json([row for table in tables for row in table.raw_values])
    elif on_terminal and choice.layout == "short":
        say(terminal_text(tables, terminal_width()))
    else:
        say(render(tables, style))
    if no_files:
        return
    for source, opened in zip(sources, several, strict=True):
        if has_folder(source):
            for path in write_tables(tables_of_nodes([node_of(opened)], choice), Path(source)):
                say(f"written: {path}", err=True)


def _only(tables: Sequence[Table], number: int | None) -> Sequence[Table]:
    from pinstudy.analysis.tables.means import chosen_table

    return tables if number is None else [chosen_table(tables, number)]


def _titled(tables: Sequence[Table], caption: str | None, label: str | None) -> Sequence[Table]:
    """Return tables with what the user calls them; raises UserError where there are several."""
    if caption is None and label is None:
        return tables
    if len(tables) > 1:
        option = "--label" if caption is None else "--caption"
        raise UserError(
            f"{option} is of one table, and these are {len(tables)}; name one: --table N"
        )
    return [
        replace(table, caption=table.caption if caption is None else caption, label=label or "")
        for table in tables
    ]
