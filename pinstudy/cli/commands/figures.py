"""The command that draws the figures of results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinstudy.base.errors import UserError
from pinstudy.base.text import first_of, unknown_word
from pinstudy.cli.options import JSON, ONE_RESULTS, OUTPUT, file_option
from pinstudy.cli.output import print_json, say

if TYPE_CHECKING:
    from pinstudy.analysis.figures.drawing import NotDrawn

# TeX's point: what \the\columnwidth tells.
_PER_INCH = {"mm": 25.4, "cm": 2.54, "in": 1.0, "pt": 72.27}
_WIDTH = re.compile(r"(\d+(?:\.\d+)?) ?(mm|cm|in|pt)")
# Millimetres: narrower figures have no room for labels and a panel, wider ones no page.
_LEAST_MM, _MOST_MM = 60, 600
# Of figures that one reason leaves out, how many are named.
_MOST_NAMES = 3


def chosen_formats(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Return the formats of a list such as `svg,pdf`; raises UserError for an unknown one."""
    from pinstudy.analysis.figures.drawing import FORMATS

    return _chosen("--formats", "format", value, FORMATS)


def chosen_kinds(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Return the kinds of figures of a list; raises UserError for an unknown one."""
    from pinstudy.analysis.figures.gallery import FIGURES

    return _chosen("--only", "kind", value, FIGURES)


def _chosen(option: str, noun: str, value: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if value is None:
        return known
    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in value.split(",")))))
    for name in names:
        if name not in known:
            raise UserError(f"{option}: {unknown_word(noun, name, known)}")
    if not names:
        raise UserError(f"{option}: names no {noun}; expected some of {', '.join(known)}")
    return names


def width_in_inches(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> float | None:
    """Return a width such as `89mm` in inches; raises UserError for another text."""
    if value is None:
        return None
    found = _WIDTH.fullmatch(value.strip())
    inches = float(found[1]) / _PER_INCH[found[2]] if found else 0.0
    if not _LEAST_MM <= round(25.4 * inches, 6) <= _MOST_MM:
        raise UserError(
            f"--width: {value!r} is no width of {_LEAST_MM} to {_MOST_MM} mm; "
            "expected a number and mm, cm, in or pt, such as 89mm"
        )
    return inches


def _not_drawn(alike: Sequence[NotDrawn]) -> str:
    names = first_of([figure.name for figure in alike], _MOST_NAMES, ", ")
    return f"not drawn: {names} ({alike[0].title}): {alike[0].reason}"


@click.command("figures")
@ONE_RESULTS
@OUTPUT
@click.option(
    "--formats",
    metavar="svg,pdf,png",
    callback=chosen_formats,
    help="Some of these, joined by commas; without it, all.",
)
@click.option(
    "--only",
    metavar="KIND,KIND",
    callback=chosen_kinds,
    help="Kinds of docs/report.md, such as comparisons; without it, all.",
)
@click.option(
    "--width",
    metavar="89mm",
    callback=width_in_inches,
    help="Lay the figures out for a column (mm, cm, in or pt); letters stay 6 to 8 points.",
)
@click.option(
    "--title",
    metavar="TEXT",
    help="The title in the figures; without it their own, and none with --width.",
)
@file_option(
    "--labels", meaning="YAML, `name: label` a line: what to call mappings, programs and settings."
)
@JSON
def figures_command(
    results: str,
    output: Path | None,
    formats: tuple[str, ...],
    only: tuple[str, ...],
    width: float | None,
    title: str | None,
    labels: Path | None,
    as_json: bool,
) -> None:
    """Draw the figures of RESULTS: a folder such as results/quick/mynode, or published:NAME.

    A figure of something that was not measured is not drawn. captions.md and captions.tex have the
    captions.
    """
    from pinstudy.analysis.figures.drawing import NotDrawn
    from pinstudy.analysis.figures.gallery import Options, write_figures
    from pinstudy.analysis.results.case import grouped
    from pinstudy.analysis.results.sources import folders_for

    options = Options(formats, only, width, title, labels)
    written = []
    for source, folder in folders_for(results, output):
        found = write_figures(source, folder, options)
        files = [str(path) for path in found.files]
        missing = [figure for figure in found.figures if isinstance(figure, NotDrawn)]
        texts = [_not_drawn([figure]) for figure in missing]
        written.append({"results": source, "files": files, "not_drawn": texts})
        few = map(_not_drawn, grouped(missing, lambda figure: (figure.title, figure.reason)))
        for line in () if as_json else [*(f"written: {file}" for file in files), *few]:
            say(line)
    if as_json:
        print_json(written)
