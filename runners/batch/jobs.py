"""The jobs of submissions: what their batch systems say of them, and ending them."""

from __future__ import annotations

from collections.abc import Iterable

from runners.batch.submission import Submission
from runners.batch.systems.interface import LIVE, JobState
from runners.batch.systems.registry import open_system


def states_of(submission: Submission) -> list[JobState]:
    """Return what the batch system says of each job of a submission; asks it once."""
    return open_system(submission.system).poll(submission.jobs) if submission.jobs else []


def live_jobs(submissions: Iterable[Submission]) -> list[JobState]:
    """Return what is said of those jobs of these submissions that may still make runs."""
    states = (state for submission in submissions for state in states_of(submission))
    return [state for state in states if state.state in LIVE]


def end_jobs(submission: Submission) -> tuple[list[str], str]:
    """End the submission's jobs that may still be at work, and no other.

    Return the ids of those, and what went wrong, which is empty when they are ended.
    """
    live = live_jobs([submission])
    workers = {state.worker for state in live}
    jobs = [
        job
        for job in submission.jobs
        if any(job.first_worker <= number < job.first_worker + job.workers for number in workers)
    ]
    problem = open_system(submission.system).cancel(jobs) if jobs else ""
    return list(dict.fromkeys(state.job_id for state in live)), problem
