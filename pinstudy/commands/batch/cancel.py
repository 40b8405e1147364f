"""`pinstudy cancel`: end the jobs of a submitted study."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.options import RESULTS
from pinstudy.output import say


@click.command("cancel")
@click.argument("study")
@RESULTS
def command(study: str, results: Path) -> None:
    """End every job of STUDY that `pinstudy submit` has started; what was measured is kept."""
    from base.errors import StudyError
    from pinstudy.submissions import submissions_named
    from runners.batch.status import end_jobs

    problems = []
    for submission in submissions_named(study, results):
        ended, problem = end_jobs(submission)
        if problem:
            problems.append(f"submission {submission.number}: {problem}")
        elif ended:
            say(f"submission {submission.number}: ended {', '.join(ended)}")
    if problems:
        raise StudyError("; ".join(problems))
    say("no job of it is at work; `pinstudy submit` continues the study")
