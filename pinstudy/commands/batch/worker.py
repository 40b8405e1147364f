"""`pinstudy worker`: what a job of a submission starts on its node."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pinstudy.output import say


@click.command("worker")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="The submission's folder.",
)
@click.option("--worker", "number", type=int, required=True, metavar="N", help="Which worker.")
def command(submission: Path, number: int) -> None:
    """Make the runs of worker N of a submission, on this node.

    Exit status: 0 when all its runs are made, 3 when all are except those of cases that this node
    cannot run, 75 when it was stopped and a later attempt continues, 1 for a failed study, 2 for a
    mistake.
    """
    from pinstudy.progress import TerminalProgress
    from pinstudy.study_run import announce
    from runners.batch.worker import WorkerSession

    session = WorkerSession(submission, number)
    announce(session.session)
    with TerminalProgress(session.session.summary) as progress:
        status, said = session.run(progress)
    say(f"pinstudy: {said}", err=True)
    sys.exit(status)
