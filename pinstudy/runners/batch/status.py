"""The status of a submitted study, from the batch system's job states and from the records."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line
from pinstudy.runners.batch.completed import CompletedRuns, Share, SubmittedRuns
from pinstudy.runners.batch.submission import Attempt, Submission, Worker
from pinstudy.runners.batch_systems.interface import (
    ENDED,
    LIVE,
    RUNNING,
    UNKNOWN,
    JobState,
    workers_of,
)


@dataclass(frozen=True)
class WorkerStatus:
    """The status of one worker of a submission.

    `jobs` are the states of its jobs, in the order of their chain; `attempt` is the newest of its
    `attempts` attempts, None before the first. `share` has its runs, whoever made them. `left_s` is
    the expected time of the runs that are left, in seconds, None when it is not known.
    """

    jobs: tuple[JobState, ...]
    attempt: Attempt | None
    attempts: int
    share: Share
    left_s: float | None

    @property
    def worker(self) -> Worker:
        """The worker."""
        return self.share.worker

    @property
    def live(self) -> bool:
        """Whether one of its jobs may still make runs."""
        return any(job.state in LIVE for job in self.jobs)


@dataclass(frozen=True)
class SubmissionStatus:
    """The status of one submission of a study.

    `completed` has the completed runs by the results folder that they are in.
    """

    submission: Submission
    workers: tuple[WorkerStatus, ...]
    completed: Mapping[str, CompletedRuns]

    @property
    def live(self) -> bool:
        """Whether some job may still make runs."""
        return any(worker.live for worker in self.workers)

    @property
    def left_s(self) -> float | None:
        """The expected seconds until the last worker is done, None when one's is not known."""
        waiting = [worker for worker in self.workers if worker.share.left != 0]
        times = [worker.left_s for worker in waiting]
        known = [time for time in times if time is not None]
        return max(known, default=0.0) if len(known) == len(times) else None

    @property
    def complete(self) -> bool:
        """Whether no worker has anything left to do."""
        return not self.live and all(worker.share.complete for worker in self.workers)

    def refused(self) -> list[str]:
        """Return a line for each node and reason, with the cases that the node refused for it."""
        return [line for runs in self.completed.values() for line in runs.refused]

    def late(self) -> int:
        """Return how many records of fenced attempts were set aside."""
        return sum(runs.late for runs in self.completed.values())

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "submission": str(self.submission.folder),
            "site": self.submission.site,
            "batch_system": self.submission.system,
            "spread": self.submission.how,
            "submitted_at": self.submission.submitted_at,
            "live": self.live,
            "left_s": self.left_s,
            "late": self.late(),
            "refused": self.refused(),
            "workers": [_worker_json(worker) for worker in self.workers],
        }


def status_of(
    submission: Submission, states: Sequence[JobState], runs: SubmittedRuns
) -> SubmissionStatus:
    """Return the status of a submission, given the states of its jobs and the study's runs."""
    at = datetime.datetime.now(datetime.timezone.utc)
    mine = [attempt for submitted, attempt in runs.attempts if submitted == submission]
    newest = {attempt.worker: attempt for attempt in mine}
    counts = Counter(attempt.worker for attempt in mine)
    jobs: defaultdict[int, list[JobState]] = defaultdict(list)
    for state in states:
        jobs[state.worker].append(state)
    workers = []
    for worker in submission.workers:
        number, attempt = worker.number, newest.get(worker.number)
        share = runs.share_of(worker, submission.pool)
        left_s = 0.0 if share.left == 0 else _left_s(attempt, jobs[number], at)
        workers.append(WorkerStatus(tuple(jobs[number]), attempt, counts[number], share, left_s))
    known = [found for worker in workers for found in (worker.attempt, worker.share.plan) if found]
    folders = dict.fromkeys(attempt.folder for attempt in known)
    completed = {folder: runs.completed_in(folder) for folder in folders}
    return SubmissionStatus(submission, tuple(workers), completed)


def _left_s(
    newest: Attempt | None, jobs: Sequence[JobState], at: datetime.datetime
) -> float | None:
    """Return the worker's last estimate in seconds, less the time since if one of its jobs runs."""
    # Without a run left by its count, what the records lack is not in its estimate.
    if newest is None or newest.left_s is None or newest.left == 0:
        return None
    since_s = 0.0
    if newest.ended is None and any(job.state == RUNNING for job in jobs):
        with suppress(ValueError, TypeError):
            since_s = (at - datetime.datetime.fromisoformat(newest.updated_at)).total_seconds()
    return max(0.0, newest.left_s - max(0.0, since_s))


def _worker_json(worker: WorkerStatus) -> dict[str, Any]:
    attempt, share = worker.attempt, worker.share
    return {
        "worker": worker.worker.number,
        "target": worker.worker.target,
        "blocks": list(worker.worker.blocks),
        "node": attempt.node_id if attempt else None,
        "attempts": worker.attempts,
        "exit_status": attempt.ended if attempt else None,
        "reason": attempt.reason if attempt else "",
        "runs": share.runs,
        "done": share.done,
        "failed": share.failed,
        "left": share.left,
        "left_s": worker.left_s,
        "jobs": [
            {"id": job.job_id, "state": job.state, "reason": job.reason, "node": job.node}
            for job in worker.jobs
        ],
    }


def describe_jobs(worker: WorkerStatus) -> str:
    """Return in words the states of a worker's jobs, and how its newest attempt ended."""
    parts = []
    shown = [job for job in worker.jobs if job.state != ENDED] or list(worker.jobs[-1:])
    for job in shown:
        reason = f" ({job.reason})" if job.reason else ""
        parts.append(f"job {job.job_id} {job.state}{reason}")
    attempt = worker.attempt
    if attempt is None:
        if not worker.jobs:
            parts.append("no job was submitted for it")
        elif not worker.live:
            parts.append(
                "no worker got to work: see what the job printed, in the submission's logs/"
            )
    elif attempt.ended is not None:
        parts.append(f"exit status {attempt.ended}: {attempt.reason}")
    elif worker.jobs and not worker.live:
        parts.append("its worker was ended before it could say why")
    return "; ".join(parts)


def states_of(submission: Submission) -> list[JobState]:
    """Return the state of each job of a submission, from one query of the batch system."""
    try:
        return submission.open_system().poll(submission.jobs) if submission.jobs else []
    except UserError as error:
        why = one_line(str(error))
        jobs = workers_of(submission.jobs)
        return [JobState(worker, job.job_id, UNKNOWN, why) for job, worker in jobs]


def live_jobs(submissions: Iterable[Submission]) -> list[JobState]:
    """Return the states of the jobs of these submissions that may still make runs."""
    states = (state for submission in submissions for state in states_of(submission))
    return [state for state in states if state.state in LIVE]


def end_jobs(submission: Submission) -> tuple[list[str], str]:
    """End those of the submission's jobs that may still make runs.

    Return their ids, and what went wrong, which is empty when they are ended.
    """
    live = live_jobs([submission])
    workers = {state.worker for state in live}
    jobs = list(
        dict.fromkeys(job for job, number in workers_of(submission.jobs) if number in workers)
    )
    problem = submission.open_system().cancel(jobs) if jobs else ""
    return list(dict.fromkeys(state.job_id for state in live)), problem
