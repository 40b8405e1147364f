"""The status of a submitted study, from the batch system's job states and from the records."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.text import plural
from configs.study import SPLIT
from runners.batch.attempt import Attempt, read_attempts
from runners.batch.completed import Blocks, CompletedRuns, read_completed
from runners.batch.spread import Worker
from runners.batch.submission import Submission
from runners.batch.systems.interface import ENDED, LIVE, RUNNING, UNKNOWN, JobState
from runners.batch.systems.registry import open_system


@dataclass(frozen=True)
class WorkerStatus:
    """The status of one worker of a submission.

    `jobs` are the states of its jobs, in the order of their chain; `attempt` is the newest of its
    `attempts` attempts, None before the first. `done` of its `runs` were made, and `failed` of
    these were not good; `runs` is None until an attempt has reported its plan. `left_s` is the
    expected time of the runs that are left, in seconds, None when it is not known.
    """

    worker: Worker
    jobs: tuple[JobState, ...]
    attempt: Attempt | None
    attempts: int
    runs: int | None
    done: int
    failed: int
    left_s: float | None

    @property
    def left(self) -> int | None:
        """How many runs are left, None when that is not known."""
        return None if self.runs is None else max(0, self.runs - self.done)

    @property
    def live(self) -> bool:
        """Whether one of its jobs may still make runs."""
        return any(job.state in LIVE for job in self.jobs)


@dataclass(frozen=True)
class SubmissionStatus:
    """The status of one submission of a study.

    `made` has the completed runs by the results folder that the workers have written to.
    """

    submission: Submission
    workers: tuple[WorkerStatus, ...]
    made: Mapping[str, CompletedRuns]

    @property
    def live(self) -> bool:
        """Whether some job may still make runs."""
        return any(worker.live for worker in self.workers)

    @property
    def left_s(self) -> float | None:
        """The expected seconds until the last worker is done, None when one's is not known."""
        waiting = [worker for worker in self.workers if worker.left != 0]
        times = [worker.left_s for worker in waiting]
        known = [time for time in times if time is not None]
        return max(known, default=0.0) if len(known) == len(times) else None

    def refused(self) -> list[str]:
        """Return a line for each node and reason, with the cases that the node refused for it."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        for made in self.made.values():
            for refusal, cases in made.refused.items():
                wanted = found.setdefault((refusal.node, refusal.found), {})
                wanted[refusal.wanted] = wanted.get(refusal.wanted, 0) + cases
        return [
            f"node {node}: {plural(sum(wanted.values()), 'case')} of {', '.join(wanted)}: {why}"
            for (node, why), wanted in found.items()
        ]

    def late(self) -> int:
        """Return how many records of fenced attempts were set aside."""
        return sum(made.late for made in self.made.values())

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "submission": str(self.submission.folder),
            "site": self.submission.site,
            "engine": self.submission.system,
            "spread": self.submission.how,
            "submitted_at": self.submission.submitted_at,
            "live": self.live,
            "left_s": self.left_s,
            "late": self.late(),
            "refused": self.refused(),
            "workers": [_worker_json(worker) for worker in self.workers],
        }


def status_of(submission: Submission, states: Sequence[JobState]) -> SubmissionStatus:
    """Return the status of a submission, given the states of its jobs."""
    at = datetime.datetime.now(datetime.timezone.utc)
    attempts: dict[int, list[Attempt]] = {}
    for attempt in read_attempts(submission.attempts):
        attempts.setdefault(attempt.worker, []).append(attempt)
    jobs: dict[int, list[JobState]] = {}
    for state in states:
        jobs.setdefault(state.worker, []).append(state)
    made: dict[str, CompletedRuns] = {}
    blocks: dict[str, Blocks] = {}
    workers = []
    for worker in submission.workers:
        mine = attempts.get(worker.number, [])
        newest = max(mine, key=lambda attempt: attempt.generation, default=None)
        if newest and newest.folder not in made:
            made[newest.folder] = read_completed(Path(newest.folder), submission.digest)
            blocks[newest.folder] = made[newest.folder].blocks()
        done = blocks[newest.folder] if newest else {}
        of_worker = tuple(jobs.get(worker.number, ()))
        workers.append(_worker_status(submission, worker, of_worker, mine, newest, done, at))
    return SubmissionStatus(submission, tuple(workers), made)


def _worker_status(
    submission: Submission,
    worker: Worker,
    jobs: tuple[JobState, ...],
    attempts: Sequence[Attempt],
    newest: Attempt | None,
    made: Blocks,
    at: datetime.datetime,
) -> WorkerStatus:
    split = submission.how == SPLIT
    # In a split study each node makes its own warm-up runs, which do not count.
    mine = worker.blocks if split else tuple(made)
    counts = [made.get(block, (0, 0)) for block in mine]
    done, good = sum(ended for ended, _ in counts), sum(good for _, good in counts)
    runs = None
    if newest and newest.case_ids:
        runs = len(newest.case_ids) * len(mine) if split else max(newest.runs, done)
    return WorkerStatus(
        worker=worker,
        jobs=jobs,
        attempt=newest,
        attempts=len(attempts),
        runs=runs,
        done=done,
        failed=done - good,
        left_s=_left_s(newest, jobs, at),
    )


def _left_s(
    newest: Attempt | None, jobs: Sequence[JobState], at: datetime.datetime
) -> float | None:
    """Return the worker's last estimate in seconds, less the time since if one of its jobs runs."""
    if newest is None or newest.left_s is None:
        return None
    if newest.left == 0:
        return 0.0
    if newest.ended is not None or not any(job.state == RUNNING for job in jobs):
        return newest.left_s
    try:
        since = (at - datetime.datetime.fromisoformat(newest.updated_at)).total_seconds()
    except (ValueError, TypeError):
        return newest.left_s
    return max(0.0, newest.left_s - max(0.0, since))


def _worker_json(worker: WorkerStatus) -> dict[str, Any]:
    attempt = worker.attempt
    return {
        "worker": worker.worker.number,
        "target": worker.worker.target,
        "blocks": list(worker.worker.blocks),
        "node": attempt.node_id if attempt else None,
        "attempts": worker.attempts,
        "exit_status": attempt.ended if attempt else None,
        "reason": attempt.reason if attempt else "",
        "runs": worker.runs,
        "done": worker.done,
        "failed": worker.failed,
        "left": worker.left,
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
        if worker.jobs and not worker.live:
            parts.append("no worker ever started: see what the job printed")
    elif attempt.ended is not None:
        parts.append(f"exit status {attempt.ended}: {attempt.reason}")
    elif worker.jobs and not worker.live:
        parts.append("its worker was ended before it could say why")
    return "; ".join(parts) or UNKNOWN


def states_of(submission: Submission) -> list[JobState]:
    """Return the state of each job of a submission, from one query of the batch system."""
    return open_system(submission.system).poll(submission.jobs) if submission.jobs else []


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
    jobs = [
        job
        for job in submission.jobs
        if any(job.first_worker <= number < job.first_worker + job.workers for number in workers)
    ]
    problem = open_system(submission.system).cancel(jobs) if jobs else ""
    return list(dict.fromkeys(state.job_id for state in live)), problem
