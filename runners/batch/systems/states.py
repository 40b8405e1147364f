"""The workers of submitted jobs, and what is said of those of which nothing is told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runners.batch.systems.asking import Answer
from runners.batch.systems.interface import ENDED, UNKNOWN, JobState, Submitted


def workers_of(jobs: Sequence[Submitted]) -> Iterator[tuple[str, int, bool]]:
    """Yield (id, worker, whether it is one of an array) for each worker of these jobs.

    A job has one id for all its workers, or one for each; the id is empty where there is none.
    """
    for job in jobs:
        shared = len(job.ids) == 1 and job.workers > 1
        for number in range(job.workers):
            own = job.ids[number : number + 1] or ("",)
            yield job.ids[0] if shared else own[0], job.first_worker + number, shared


def ids_like(pattern: re.Pattern[str], jobs: Sequence[Submitted]) -> list[str]:
    """Return those of the jobs' ids that are such as a batch system gives."""
    return [job_id for job in jobs for job_id in job.ids if pattern.fullmatch(job_id)]


def all_unknown(jobs: Sequence[Submitted], reason: str) -> list[JobState]:
    """Return that nothing is known of any worker of these jobs, and why."""
    return [JobState(worker, job_id, UNKNOWN, reason) for job_id, worker, _ in workers_of(jobs)]


def not_told(worker: int, job_id: str, system: str, answer: Answer, gone: bool) -> JobState:
    """Return the state of a worker's job of which an answer tells nothing.

    `gone` says that the system knows the job no longer: then it has ended.
    """
    if gone:
        return JobState(worker, job_id, ENDED, f"{system} knows it no longer")
    reason = answer.said if answer.failed else f"`{answer.command}` tells nothing of it"
    return JobState(worker, job_id, UNKNOWN, reason)
