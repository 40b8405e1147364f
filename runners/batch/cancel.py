"""Ending what a submission has started."""

from __future__ import annotations

from collections.abc import Iterator

from runners.batch.submission import Submission
from runners.batch.system import LIVE
from runners.batch.systems import open_system


def cancel(submission: Submission, problems: list[str]) -> Iterator[str]:
    """End the submission's jobs that may still be at work; yield a line for those that were told.

    What went wrong is added to `problems`. Jobs that have ended are left alone.
    """
    if not submission.jobs:
        return
    system = open_system(submission.system)
    states = [state for state in system.poll(submission.jobs) if state.state in LIVE]
    workers = {state.worker for state in states}
    jobs = [
        job
        for job in submission.jobs
        if any(job.first_worker <= number < job.first_worker + job.workers for number in workers)
    ]
    if not jobs:
        return
    problem = system.cancel(jobs)
    if problem:
        problems.append(f"submission {submission.number}: {problem}")
    else:
        ids = ", ".join(dict.fromkeys(state.job_id for state in states))
        yield f"submission {submission.number}: ended {ids}"
