"""`pinstudy figures`: the figures of results, as files."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.options import INTO, find_results
from pinstudy.output import say


def chosen_formats(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Return the formats of a list such as `svg,pdf`; raises UserError for an unknown one."""
    from analysis.figures.drawing import FORMATS
    from base.errors import UserError
    from base.text import unknown_word

    if value is None:
        return FORMATS
    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in value.split(",")))))
    for name in names:
        if name not in FORMATS:
            raise UserError(f"--format: {unknown_word('format', name, FORMATS)}")
    if not names:
        raise UserError(f"--format: names no format; expected some of {', '.join(FORMATS)}")
    return names


@click.command("figures")
@click.argument("results", callback=find_results)
@INTO
@click.option(
    "--format",
    "formats",
    metavar="svg,pdf,png",
    callback=chosen_formats,
    help="Some of these, joined by commas; without it, all.",
)
def command(results: str, into: Path | None, formats: tuple[str, ...]) -> None:
    """Draw the figures of RESULTS: a folder such as results/quick/mynode, or published:NAME.

    A figure of something that was not measured is not drawn; a line says so.
    """
    from analysis.figures.gallery import write_figures
    from analysis.sources import folders_for

    for source, folder in folders_for(results, into):
        for line in write_figures(source, folder, formats):
            say(line)
