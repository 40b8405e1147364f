"""The command that makes a folder of results for a reviewer."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.text import as_typed, first_of, plural
from pinstudy.cli.options import JSON, MARGIN, ONE_RESULTS, output_option
from pinstudy.cli.output import print_json, say

_MAX_NAMED = 10


@click.command("artifact")
@ONE_RESULTS
@output_option("The folder, which must be new or empty.", "FOLDER", required=True)
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="'NAME[;ORCID]'",
    help="An author (may be repeated); else to be filled in.",
)
@click.option("--licence", default="", metavar="SPDX", help="Of the records, such as CC-BY-4.0.")
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Of the publication; else that of the last run.",
)
@MARGIN
@click.option("--baseline", metavar="MAPPING", help="That of the verdict, if not unpinned.")
@click.option("--columns", metavar="NAMES", help="Those of the tables, if chosen.")
@JSON
@click.pass_context
def artifact_command(
    context: click.Context,
    results: str,
    output: Path,
    authors: tuple[str, ...],
    licence: str,
    day: object,
    margin: str,
    baseline: str | None,
    columns: str | None,
    as_json: bool,
) -> None:
    """Make a folder of RESULTS for a reviewer, which makes its tables and verdict again.

    Records, tables, verdict, RO-Crate metadata, an appendix for a paper, and reproduce.sh.
    """
    from pinstudy.analysis.artifact.build import Options, write_artifact
    from pinstudy.analysis.artifact.crate import Publication, author_of, licence_of
    from pinstudy.configs.values import share_option

    typed = context.get_parameter_source("margin") is not click.core.ParameterSource.DEFAULT
    options = Options(share_option("--margin", margin), margin if typed else "", baseline, columns)
    people = tuple(map(author_of, authors))
    publication = Publication(str(day or "")[:10], people, licence_of(licence))
    made = write_artifact(results, output, publication, options)
    if as_json:
        print_json(asdict(made) | {"folder": str(made.folder)})
        return
    size = made.size_bytes / 2**20
    say(f"written: {made.folder} ({plural(made.files, 'file')}, {size:.1f} MiB)")
    if made.left_out:
        named = first_of(made.left_out, _MAX_NAMED, ", ")
        say(f"left out, no files of results: {named}", err=True)
    # It calls the one on the PATH unless told another.
    called = "" if PINSTUDY == "pinstudy" else f"PINSTUDY={PINSTUDY} "
    say(f"try it: {called}{as_typed(made.folder / 'reproduce.sh')}", err=True)
    say("it names nodes, paths and other processes: README.md says what", err=True)
