"""`pinstudy run`: make a study's runs, then print its tables and what they mean."""

from __future__ import annotations

from pathlib import Path

import click

from configs.typed import as_typed
from pinstudy.options import KINDS, RESULTS, SITE, SYSROOT
from pinstudy.output import print_columns, say, terminal_width


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
    fresh: bool,
    allow_emulation: bool,
    report: bool,
) -> None:
    """Run STUDY, or continue it where it was stopped.

    STUDY is the name of a study of configs/studies, or the path of a study file. Records, tables,
    verdict, report and the node's facts go to results/<study>/<node>/.
    """
    from configs.library import load_site, load_study
    from pinstudy.progress import TerminalProgress
    from runners.engine import check_is_run_here
    from runners.invoker import give_up_root
    from runners.session import Session
    from runners.workplace import open_workplace

    asked = load_study(study)
    check_is_run_here(asked, study)
    workplace = open_workplace(sysroot, kinds, load_site(site) if site else None)
    session = Session.begin(workplace, asked, results, fresh, allow_emulation)
    for line in session.told_ends:
        say(f"pinstudy: {line}", err=True)
    say("What was found")
    print_columns((name, state, text) for name, state, text in workplace.findings())
    say("What will be done")
    outline = session.outline
    outlooks = [*workplace.engine_outlook(outline.plan), *workplace.governor_outlook(outline.plan)]
    for line in [*outline.summary(), *outlooks]:
        say(f"  {line}")
    try:
        with TerminalProgress(outline) as progress:
            session.run(progress)
    except KeyboardInterrupt:
        say("Nothing that was measured is lost; the same command continues.", err=True)
        if session.left_changed:
            say(session.left_changed, err=True)
        raise
    for line in session.outline.precision_lines():
        say(line)
    # The settings are put back; what is left needs nothing of root's.
    give_up_root()
    _show_outcome(session.folder, report)
    session.raise_if_failed()


def _show_outcome(folder: Path, report: bool) -> None:
    """Show and write what came out, where what makes it is installed: a compute node needs not."""
    try:
        from analysis.outcome import write_outcome, write_tables_only
    except ImportError as error:
        again = f"numpy, pandas and tabulate are installed: pinstudy tables {as_typed(folder)}"
        _say_missing("tables", error, again)
        return
    try:
        outcome = write_outcome(folder, terminal_width()) if report else write_tables_only(folder)
    except ImportError as error:
        again = f"scipy, matplotlib and jinja2 are installed: pinstudy report {as_typed(folder)}"
        _say_missing("verdict and no report", error, again)
        outcome = write_tables_only(folder)
    say(outcome.text)
    for path in outcome.files:
        say(f"written: {path}")


def _say_missing(what: str, error: ImportError, again: str) -> None:
    reason = " ".join(str(error).split())[:200]
    say(f"no {what}: {reason}; where {again}", err=True)
