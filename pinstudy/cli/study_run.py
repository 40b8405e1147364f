"""What `run` and `advise` share: making a study's runs, then showing and writing the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import as_typed
from pinstudy.cli.output import (
    ALL_LIBRARIES,
    print_columns,
    print_json,
    say,
    say_files,
    say_lines,
    terminal_width,
    without_library,
    wrap,
)
from pinstudy.cli.streams import lost_reason

if TYPE_CHECKING:
    from pinstudy.analysis.output import Output
    from pinstudy.cli.progress import CheckRecord
    from pinstudy.runners.study.session import Session


def announce(session: Session, quiet: bool = False, is_next: bool = False) -> None:
    """Print how earlier attempts ended, the node's properties, and the plan.

    With `quiet` nothing is printed on stdout. With `is_next` the node was shown before.
    """
    for line in session.crashes:
        say(f"pinstudy: {line}", err=True)
    if session.aside:
        before, now = as_typed(session.aside), as_typed(session.folder)
        message = f"earlier results are kept; then compare: {PINSTUDY} compare {before} {now}"
        say(f"pinstudy: {message}", err=True)
    if quiet:
        return
    machine, summary = session.machine, session.summary
    if is_next:
        say("What will be done next")
        for line in summary.summary():
            say(wrap(line, "  "))
        return
    say("What was found")
    print_columns(machine.findings())
    say("What will be done")
    for line in [*summary.summary(), *machine.outlook(summary.plan)]:
        say(wrap(line, "  "))


def make_runs(
    session: Session, quiet: bool = False, check: CheckRecord | None = None, is_next: bool = False
) -> None:
    """Print the node's properties and the plan, then make the pending runs.

    `quiet` and `is_next` are those of `announce`. `check` is called with each record once it is on
    the disk, and ends the study by raising.
    """
    from pinstudy.cli.progress import TerminalProgress

    announce(session, quiet, is_next)
    try:
        decided = partial(is_decided, session.folder)
        with TerminalProgress(session.summary, check, decided=decided) as progress:
            session.run(progress)
    except (KeyboardInterrupt, UserError) as error:
        if isinstance(error, KeyboardInterrupt):
            say("Nothing that was measured is lost; the same command continues.", err=True)
        if session.restore_problem:
            say(session.restore_problem, err=True)
        raise
    if (why := lost_reason("stderr")) and not quiet:
        say(f"stderr could not be written ({why}): how the runs went is in the records alone")


def is_decided(folder: Path) -> bool:
    """Return whether every comparison of times is decided; False where that cannot be told."""
    # Few studies look at what they have found before they end.
    from concurrent.futures.process import BrokenProcessPool

    from pinstudy.analysis.processes import in_another

    with suppress(ImportError, OSError, BrokenProcessPool, UserError):
        return in_another(_look_at, folder)
    return False


def _look_at(folder: Path) -> bool:
    from pinstudy.analysis import answer
    from pinstudy.analysis.results.sources import open_results

    return answer.is_decided(open_results(str(folder)))


def show_outcome(session: Session, report: bool, as_json: bool = False) -> None:
    """Show and write the outcome, if its libraries are installed: a compute node needs none."""
    folder = session.folder

    def write() -> Output:
        from pinstudy.analysis.output import write_output, write_tables_only

        make = write_output if report else write_tables_only
        return make(folder, terminal_width())

    files = _show(folder, write, quiet=as_json)
    if as_json:
        name = session.summary.study.name
        where = {"study": name, "results": str(folder), "files": [str(file) for file in files]}
        print_json(where | runs_so_far(session))


def runs_so_far(session: Session) -> dict[str, int]:
    """Return how many runs of a session were made, and how many are left, by name."""
    # A summary keeps what was left when it was asked first.
    now = replace(session.summary)
    return {"runs": now.done, "runs_left": now.left}


def show_advice(
    folder: Path, report: bool, as_json: bool, *, lines: bool = False, why: bool = False
) -> None:
    """Show and write what a race advises, as `show_outcome` does for other studies.

    `lines` shows those of other launchers too, `why` what was ruled out. Raises StudyError when
    JSON is asked for and a library that it needs is missing.
    """
    try:
        from pinstudy.analysis.output import advice_data, write_advice, write_advice_only
    except ImportError as error:
        command = f"{PINSTUDY} report {as_typed(folder)}"
        missing = without_library("advice", error, ALL_LIBRARIES, command)
        if as_json:
            raise StudyError(missing) from error
        say(missing, err=True)
        return
    write = write_advice if report else write_advice_only

    def more(outcome: Output) -> None:
        hints = [] if lines or not outcome.launchers else ["other launchers: --lines"]
        hints += [] if why else ["why, and what was ruled out: --why"]
        shown = outcome.files[-1] if report else outcome.files[0]
        say("\n" + "      ".join([*hints, f"report: {as_typed(shown)}"]))

    _show(folder, lambda: write(folder, terminal_width(), lines=lines, why=why), as_json, more)
    if as_json:
        print_json(advice_data(folder))


def _say_written(outcome: Output) -> None:
    say_files(outcome.files)


def _show(
    folder: Path,
    write: Callable[[], Output],
    quiet: bool = False,
    say_more: Callable[[Output], None] = _say_written,
) -> Sequence[Path]:
    """Show the outcome that `write` returns; where a library is missing, the tables alone.

    `say_more` prints what stands below it. With `quiet` it is written only. Return the files.
    """
    from pinstudy.runners.host.privileges import give_up_root

    # Settings are put back already; nothing below needs root's rights.
    give_up_root()
    try:
        from pinstudy.analysis.output import write_tables_only
    except ImportError as error:
        command = f"{PINSTUDY} tables {as_typed(folder)}"
        say(without_library("tables", error, "numpy, pandas and tabulate", command), err=True)
        return ()
    try:
        outcome = write()
    except ImportError as error:
        libraries, command = "scipy, matplotlib and jinja2", f"{PINSTUDY} report {as_typed(folder)}"
        say(without_library("verdict and no report", error, libraries, command), err=True)
        outcome, say_more = write_tables_only(folder, terminal_width()), _say_written
    if not quiet:
        say_lines(outcome.lines)
        say_more(outcome)
    return outcome.files
