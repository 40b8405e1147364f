"""`pinstudy run`: make a study's runs, then print its tables and what they mean."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.options import KINDS, RESULTS, SITE, SYSROOT
from pinstudy.output import say


@click.command("run")
@click.argument("study")
@SYSROOT
@KINDS
@RESULTS
@SITE
@click.option(
    "--repetitions",
    type=int,
    metavar="N",
    help="Run each case so often instead of as STUDY says; more continue what was made.",
)
@click.option("--fresh", is_flag=True, help="Start anew; earlier results are kept beside it.")
@click.option(
    "--allow-emulation",
    is_flag=True,
    help="Engine vm: run guests without KVM too; their times are not this node's.",
)
@click.option(
    "--report/--no-report",
    default=True,
    envvar="PINSTUDY_REPORT",
    help="Write verdict and report at the end, or the tables only (also: $PINSTUDY_REPORT).",
)
def command(
    study: str,
    sysroot: Path,
    kinds: str | None,
    results: Path,
    site: str | None,
    repetitions: int | None,
    fresh: bool,
    allow_emulation: bool,
    report: bool,
) -> None:
    """Run STUDY, or continue it where it was stopped.

    STUDY is the name of a study of configs/studies, or the path of a study file. Records, tables,
    verdict, report and the node's facts go to results/<study>/<node>/.
    """
    from base.errors import UserError
    from base.text import as_typed
    from configs.library import load_site, load_study
    from pinstudy.study_run import make_runs, show_outcome
    from runners.study.machine import open_machine
    from runners.study.session import Session
    from runners.study.summary import precision_lines

    asked = load_study(study, repetitions)
    if asked.spread:
        it = as_typed(study)
        raise UserError(
            f"study {asked.name} is for a batch system (engine: batch): `pinstudy submit {it}` "
            f"submits it, and `pinstudy status {it}` shows it"
        )
    machine = open_machine(sysroot, kinds, load_site(site) if site else None)
    session = Session.begin(machine, asked, results, fresh, allow_emulation)
    make_runs(session)
    for line in precision_lines(session.summary.plan, session.summary.history):
        say(line)
    show_outcome(session.folder, report)
    session.raise_if_failed()
