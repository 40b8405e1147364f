"""`pinstudy status`: how a submitted study stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from base.text import as_typed
from pinstudy.options import JSON, RESULTS
from pinstudy.output import print_columns, print_json, say

if TYPE_CHECKING:
    from runners.batch.status import SubmissionStatus


@click.command("status")
@click.argument("study", required=False)
@RESULTS
@click.option(
    "--all", "everything", is_flag=True, help="Show all submissions, not the newest only."
)
@JSON
def command(study: str | None, results: Path, everything: bool, as_json: bool) -> None:
    """Show the jobs of STUDY, its runs that are done, failed and left, and the time that is left.

    Without STUDY those of every study that was submitted.

    What the batch system says of a job is advice; which runs were made is read from the records.
    """
    from pinstudy.submissions import submissions_named, submitted_studies
    from runners.batch.status import states_of, status_of
    from runners.batch.systems.interface import LIVE

    shown = []
    for name in [study] if study else submitted_studies(results):
        *earlier, newest = submissions_named(name, results)
        for submission in (*earlier, newest):
            states = states_of(submission)
            # An earlier submission is shown as well while its jobs may still make runs.
            live = any(state.state in LIVE for state in states)
            if everything or live or submission is newest:
                shown.append(status_of(submission, states))
    if as_json:
        print_json([status.as_json() for status in shown])
        return
    for status in shown:
        _show(status)


def _show(status: SubmissionStatus) -> None:
    from base.text import plural
    from base.units import duration
    from runners.batch.status import describe_jobs

    submission = status.submission
    say(
        f"submission {submission.number} of study {submission.name} at {submission.site} "
        f"({submission.system}, {submission.how}), {submission.submitted_at}"
    )
    rows = [("worker", "node", "done", "failed", "left", "time left", "state")]
    for worker in status.workers:
        node = worker.attempt.node_id if worker.attempt else worker.worker.target
        left = "?" if worker.left is None else str(worker.left)
        time_left = "" if worker.left == 0 else duration(worker.left_s)
        rows.append(
            (
                str(worker.worker.number),
                node,
                str(worker.done),
                str(worker.failed),
                left,
                time_left,
                describe_jobs(worker),
            )
        )
    print_columns(rows)
    for line in status.refused():
        say(f"refused on {line}")
    if late := status.late():
        say(f"{plural(late, 'record')} of workers that a newer one had replaced are kept aside")
    _show_what_next(status)


def _show_what_next(status: SubmissionStatus) -> None:
    from base.units import duration

    if status.live:
        say(f"expected time until all is done: {duration(status.left_s)}")
    elif any(worker.left != 0 for worker in status.workers):
        say(f"not complete; `{status.submission.submit_again}` submits what is missing")
    for folder in status.made:
        complete = not status.live and all(worker.left == 0 for worker in status.workers)
        what = "complete" if complete else "incomplete so far"
        say(f"{what}: `pinstudy report {as_typed(folder)}`")
