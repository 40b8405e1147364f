"""`pinstudy run`: make a study's runs, then print its tables."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.options import KINDS, RESULTS, SITE, SYSROOT


@click.command("run")
@click.argument("study")
@SYSROOT
@KINDS
@RESULTS
@SITE
@click.option("--fresh", is_flag=True, help="Start anew; earlier results are kept beside it.")
@click.option(
    "--allow-emulation",
    is_flag=True,
    help="Engine vm: run guests without KVM too; their times are not this node's.",
)
def command(
    study: str,
    sysroot: Path,
    kinds: str | None,
    results: Path,
    site: str | None,
    fresh: bool,
    allow_emulation: bool,
) -> None:
    """Run STUDY, or continue it where it was stopped.

    STUDY is the name of a study of configs/studies, or the path of a study file. Records, tables
    and the node's facts go to results/<study>/<node>/.
    """
    from configs.library import load_site, load_study
    from pinstudy.output import print_columns
    from pinstudy.progress import TerminalProgress
    from runners.session import Session
    from runners.workplace import open_workplace

    workplace = open_workplace(sysroot, kinds, load_site(site) if site else None)
    session = Session.begin(workplace, load_study(study), results, fresh, allow_emulation)
    click.echo("What was found")
    print_columns((name, state, text) for name, state, text in workplace.findings())
    click.echo("What will be done")
    outline = session.outline
    outlooks = [*workplace.engine_outlook(outline.plan), *workplace.governor_outlook(outline.plan)]
    for line in [*outline.summary(), *outlooks]:
        click.echo(f"  {line}")
    try:
        with TerminalProgress(outline) as progress:
            session.run(progress)
    except KeyboardInterrupt:
        click.echo("Nothing that was measured is lost; the same command continues.", err=True)
        if session.left_changed:
            click.echo(session.left_changed, err=True)
        raise
    for line in outline.precision_lines():
        click.echo(line)
    _show_tables(session.folder)
    session.raise_if_failed()


def _show_tables(folder: Path) -> None:
    """Print and write the tables, where what makes them is installed: a compute node needs not."""
    try:
        from analysis.tables import make_tables, render, write_tables
    except ImportError as error:
        reason = " ".join(str(error).split())[:200]
        click.echo(
            f"no tables: {reason}; where numpy, pandas and tabulate are installed: "
            f"pinstudy tables {folder}",
            err=True,
        )
        return
    tables = make_tables(folder)
    click.echo(render(tables, "text"))
    for path in write_tables(tables, folder):
        click.echo(f"written: {path}")
