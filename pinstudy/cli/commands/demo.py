"""`pinstudy demo`: what a thread placement costs, in two minutes, for a class."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError
from pinstudy.base.text import as_typed, first_of
from pinstudy.cli.options import FRESH, JSON, RESULTS, output_option
from pinstudy.cli.output import ALL_LIBRARIES, print_columns, print_json, say, without_library, wrap

STUDY = "demo"
_MAX_REASONS = 3


@click.command("demo")
@output_option("Where records, page and pictures go; without it, results/demo/<node>.")
@click.option(
    "--time-budget",
    default="90 s",
    show_default=True,
    metavar="TIME",
    help="How long it may measure; a second start goes on where the time was up.",
)
@FRESH
@RESULTS
@JSON
def demo_command(
    output: Path | None, time_budget: str, fresh: bool, results: Path, as_json: bool
) -> None:
    """Show what a thread placement costs, in two minutes: for a class, on any laptop.

    Needs neither root nor perf. Writes demo.html, its pictures and its numbers beside the records.
    """
    from pinstudy.cli.study_run import make_runs
    from pinstudy.configs.library import load_study
    from pinstudy.configs.values import time_option
    from pinstudy.runners.host.privileges import give_up_root
    from pinstudy.runners.study.machine import (
        LIVE_ROOT,
        WHOLE_STUDY,
        TimeBudget,
        TimeIsUpError,
        open_machine,
        results_folder,
    )
    from pinstudy.runners.study.remedy import with_remedy
    from pinstudy.runners.study.session import Session

    budget_s = time_option("--time-budget", time_budget) or 0.0
    study = load_study(STUDY)
    machine = open_machine(LIVE_ROOT, None)
    folder = output or results_folder(results, study, machine.node)
    assignment = replace(
        WHOLE_STUDY,
        folder=folder,
        folder_option="--output" if output else WHOLE_STUDY.folder_option,
        may_start=TimeBudget(budget_s),
    )
    session = Session(machine, study, results, fresh, assignment=assignment)
    if not session.summary.plan.cases:
        reasons = dict.fromkeys(item.reason for item in session.summary.plan.skipped)
        raise with_remedy(first_of(list(reasons), _MAX_REASONS), machine, study)
    if not session.summary.left:
        again = f"{PINSTUDY} {STUDY} -o {as_typed(folder)} --fresh"
        say(f"measured before; measure anew: {again}", err=True)
    try:
        make_runs(session, quiet=True)
    except TimeIsUpError as error:
        say(f"pinstudy: {error}", err=True)
    give_up_root()
    _show(folder, as_json)
    session.raise_if_failed()


def _show(folder: Path, as_json: bool) -> None:
    try:
        from pinstudy.analysis.report.demo import write_demo
    except ImportError as error:
        command = f"{PINSTUDY} {STUDY} -o {as_typed(folder)}"
        raise StudyError(without_library("page", error, ALL_LIBRARIES, command)) from None
    written = write_demo(folder)
    if as_json:
        print_json({"results": str(folder)} | written.data)
        return
    print_columns(
        (str(shown.number), shown.title, "    ".join(shown.cells)) for shown in written.rows
    )
    for note in written.notes:
        say(wrap(note, ""))
    say(f"pictures for slides: {as_typed(written.files[0])}")
    say(f"hand it in: {PINSTUDY} card {as_typed(folder)} -o NAME.json")
