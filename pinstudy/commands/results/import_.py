"""`pinstudy import`: results that were measured without pinstudy."""

from __future__ import annotations

from pathlib import Path

import click

from base.text import as_typed, plural
from pinstudy.output import say

_INTO = click.option(
    "--into",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The results folder that they become; more can be added to it later.",
)


@click.group("import")
def command() -> None:
    """Import results that were measured without pinstudy."""


@command.command("perf")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@_INTO
@click.option("--app", help="The program.")
@click.option("--threads", type=click.IntRange(min=1), help="Its threads.")
@click.option("--mapping", help="Where its threads were: a name of `pinstudy mappings`, or yours.")
@click.option("--variant", help="Its build, such as libgomp.")
@click.option("--size", help="Its problem size.")
@click.option("--governor", help="The governor that was in force.")
@click.option("--schedule", help="OMP_SCHEDULE.")
@click.option("--wait-policy", help="OMP_WAIT_POLICY.")
@click.option(
    "--pattern",
    metavar="PATTERN",
    help="How the files are named, such as "
    "'{app}_{threads}_{mapping}_{governor}_{repetition}.txt'.",
)
@click.option("--repeats", type=click.IntRange(min=2), help="N of -r N, where logs do not tell it.")
@click.option("--all-cpus", is_flag=True, help="The logs were made with -a, and do not tell it.")
@click.option("--node", default="imported", show_default=True, help="The node they are from.")
def perf(files: tuple[Path, ...], into: Path, **options: str | int | None) -> None:
    """Import logs of perf stat: text, -x or -j, single runs or -r.

    The logs do not tell what was run where: say it for all files, or let the files' names tell it.
    """
    from analysis.imports.perf import import_logs

    imported = import_logs(files, into, options)
    many = imported.averages
    what = plural(many, "average") if many else plural(imported.runs, "run")
    of = plural(imported.cases, "case")
    say(f"{into}: {what} of {of}; see `pinstudy tables {as_typed(into)}`", err=True)


@command.command("summaries")
@click.argument("file", type=click.Path(path_type=Path))
@_INTO
def summaries(file: Path, into: Path) -> None:
    """Import means and deviations from a CSV file (docs/import.md lists its columns)."""
    from analysis.imports.summary_file import import_summaries

    cases = import_summaries(file, into)
    say(f"{into}: {plural(cases, 'case')}; see `pinstudy tables {as_typed(into)}`", err=True)
