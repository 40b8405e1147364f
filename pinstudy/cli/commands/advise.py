"""`pinstudy advise`: how a program of your own is run best on this node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import word_as_typed
from pinstudy.cli.options import FRESH, JSON, KINDS, MARGIN, RESULTS, SITE, SYSROOT, warn_of_options
from pinstudy.cli.output import print_columns, print_json, say, wrap
from pinstudy.cli.streams import stdin_is_file

# The key of the words of the command line in a context's `meta`.
TYPED = "pinstudy.typed"

if TYPE_CHECKING:
    from pinstudy.runners.advise.search import Search
    from pinstudy.runners.study.machine import Machine
    from pinstudy.runners.study.session import Session


# Options that say how to begin and what to show; a search continues without them.
_OF_ONE_CALL = ("--fresh", "--json", "--lines", "--why")


class _ProgramCommand(click.Command):
    """A command before a program's command line; `ctx.meta[TYPED]` is what was typed after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words as they were typed."""
        ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)


@click.command("advise", cls=_ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--objective",
    type=click.Choice(["time", "energy", "edp"]),
    help="What is to be low: a run's time (the default), energy, or their product.",
)
@click.option(
    "--metric",
    metavar="REGEX",
    help="Race for a number that the program prints: group 1 of stdout's last match.",
)
@click.option(
    "--region",
    metavar="NAME",
    help="Race for the time (or energy) of a region that the program marks, see regions.md.",
)
@click.option(
    "--better",
    type=click.Choice(["lower", "higher"]),
    help="What is better of --metric; lower without it.",
)
@click.option(
    "--time-budget",
    metavar="TIME",
    help="About how long the search may take. Without it 30 min, and few runs.",
)
@click.option(
    "--runs", metavar="N", help="How many runs at most; with --time-budget, what is reached first."
)
@MARGIN
@click.option("--threads", metavar="1,2,4,8", help="Only these thread counts.")
@click.option(
    "--threads-by",
    metavar="OPENBLAS_NUM_THREADS",
    help="Variables that tell the program its thread count, or: arguments, with {threads} in one.",
)
@click.option(
    "--set",
    "variables",
    multiple=True,
    metavar="OMP_STACKSIZE=64M",
    help="A variable for every run (may be repeated).",
)
@click.option(
    "--schedules",
    metavar="static,dynamic",
    help="Loop schedules that race, or none; without it, if the program has such loops.",
)
@click.option(
    "--wait-policies",
    metavar="active,passive",
    help="How waiting threads wait, or none; without it both and the default.",
)
@click.option(
    "--governors",
    metavar="current,performance",
    help="Governors that race; without it, those that may be set here.",
)
@click.option(
    "--check",
    metavar="REGEX|COMMAND",
    help="What proves a run: a pattern in its stdout, or a command with a slash.",
)
@click.option(
    "--timeout",
    default="1 h",
    show_default=True,
    metavar="TIME",
    help="After which time a run is ended, and its case ruled out.",
)
@click.option(
    "--helpers",
    metavar="N",
    help="How many processes may work beside the one whose threads are placed.",
)
@click.option("--lines", is_flag=True, help="Show the lines of other launchers, too.")
@click.option("--why", is_flag=True, help="Show why, and what was ruled out.")
@click.option("--plan", is_flag=True, help="Only show what would race.")
@FRESH
@JSON
@SYSROOT
@KINDS
@RESULTS
@SITE
@click.option(
    "--report/--no-report",
    default=True,
    envvar="PINSTUDY_REPORT",
    help="Write verdict and report, or the advice only (also: $PINSTUDY_REPORT).",
)
@click.pass_context
def advise_command(
    context: click.Context,
    /,
    program: tuple[str, ...],
    lines: bool,
    why: bool,
    plan: bool,
    fresh: bool,
    as_json: bool,
    sysroot: Path,
    kinds: str | None,
    results: Path,
    site: str | None,
    report: bool,
    **options: Any,  # noqa: ANN401 - the options that make_request takes
) -> None:
    """Find how PROGRAM is run best on this node: pinstudy advise -- ./my_app 100.

    Thread counts, mappings, loop schedules, wait policies and governors race against what you get
    without pinstudy, until one is reliably better or none is. {threads} in an argument stands for
    the thread count. The runs are a study, in results/advise-PROGRAM-…/.
    """
    from pinstudy.cli.study_run import show_advice
    from pinstudy.configs.library import load_site
    from pinstudy.runners.advise.program import takes_number
    from pinstudy.runners.advise.reference import (
        adapt_threads,
        ignored_count,
        raise_failure,
        reference_problem,
        told_by_loaded,
    )
    from pinstudy.runners.advise.request import make_request
    from pinstudy.runners.advise.search import make_search
    from pinstudy.runners.study.machine import LIVE_ROOT, open_machine

    if sysroot != LIVE_ROOT and not plan:
        raise UserError(f"--sysroot {sysroot}: a recorded node runs nothing; add --plan")
    typed = context.meta[TYPED]
    request = replace(make_request(program, **options), resumed_by=_resumed_by(typed, program))
    if passed_on := warn_of_options(context.command, typed, program):
        say(f"pinstudy: {passed_on}", err=True)
    if stdin_is_file():
        say(
            "pinstudy: the program's stdin is empty in each run, whatever pinstudy's is: let an "
            "argument name the file, or name a script that redirects it",
            err=True,
        )
    machine = open_machine(sysroot, kinds, load_site(site) if site else None)
    search = make_search(machine, request, os.environ)
    if plan:
        _show_plan(search, search.path(results), as_json)
        return
    session = _search(machine, search, results, fresh)
    problem = reference_problem(session.summary, session.folder)
    while problem and (corrected := adapt_threads(search.program, search.request, problem)):
        if corrected.starts:
            ignored = ignored_count(corrected.starts, search.reference.threads)
            say(
                f"pinstudy: {ignored}. Thread counts do not race: once more with that one", err=True
            )
        elif told := told_by_loaded(problem):
            say(f"pinstudy: it loads {told[0]}, {takes_number(told[1])}: once more so", err=True)
        search = make_search(machine, corrected, os.environ)
        session = _search(machine, search, results, fresh)
        problem = reference_problem(session.summary, session.folder)
    if problem:
        if as_json:
            # Why the program did not run says more than which library is missing.
            with suppress(StudyError):
                show_advice(session.folder, False, as_json)
        raise_failure(search.request, problem)
    show_advice(session.folder, report, as_json, lines=lines, why=why)
    session.raise_if_failed()


def _resumed_by(typed: Sequence[str], program: Sequence[str]) -> str:
    """Return the command that continues a search, of the words after the command's name."""
    options = [word for word in typed[: len(typed) - len(program)] if word not in _OF_ONE_CALL]
    return " ".join([PINSTUDY, "advise", *map(word_as_typed, [*options, *program])])


def _search(machine: Machine, search: Search, results: Path, fresh: bool) -> Session:
    """Write the search's study, and make the runs that its race needs.

    stdout is for the answer, whose first line is a command: what is searched is told on stderr.
    """
    from pinstudy.cli.study_run import make_runs
    from pinstudy.runners.advise.reference import check_processes
    from pinstudy.runners.advise.search import write_search
    from pinstudy.runners.records.reader import read_records
    from pinstudy.runners.study.session import Session

    study, notes = write_search(search, results, fresh)
    for line in notes:
        say(f"pinstudy: {line}", err=True)
    session = Session(machine, study, results, fresh)
    say(f"pinstudy: {search.most()}; --plan shows what races", err=True)
    check = partial(check_processes, search.request)
    for record in read_records(session.folder / "records"):
        check(record)
    make_runs(session, quiet=True, check=check)
    return session


def _show_plan(search: Search, path: Path, as_json: bool) -> None:
    if as_json:
        print_json(search.as_json())
        return
    say("What is asked")
    print_columns(search.facts())
    for line in search.left_out():
        say(wrap(line, "  left out: "))
    say("What would race")
    print_columns(search.rows())
    say(wrap(search.most(), "  "))
    say(f"  study: {path}")
