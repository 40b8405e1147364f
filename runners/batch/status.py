"""The status of a submitted study, from the batch system's job states and from the records."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.text import plural
from configs.scheduling import recorded_words
from runners.batch.submission import Attempt, Submission, Worker, read_attempts
from runners.batch.systems.interface import (
    ENDED,
    LIVE,
    RUNNING,
    UNKNOWN,
    JobState,
    open_system,
)
from runners.plan.runs import RunKey
from runners.records.reader import read_records
from runners.records.shard import LATE
from runners.records.values import FINAL, OK, SKIPPED

# By block, 0 for warm-up runs: how many runs ended, and how many of these were good.
Blocks = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class CompletedRuns:
    """The runs of one version of a study in the records of a folder.

    `runs` has the status of each run that ended, by its key: of several records of one run the
    first counts, as in the analysis. `refused` has a line for each node and reason, with the cases
    that the node refused for it. `late` counts the records of fenced attempts, which are set aside.
    """

    runs: dict[RunKey, str]
    refused: list[str]
    late: int

    @cached_property
    def blocks(self) -> Blocks:
        """How many runs of each block ended, and how many of these were good."""
        counts: dict[int, tuple[int, int]] = {}
        for (_, warmup, repetition), status in self.runs.items():
            block = 0 if warmup else repetition
            ended, good = counts.get(block, (0, 0))
            counts[block] = ended + 1, good + (status == OK)
        return counts


def read_completed(folder: Path, study_digest: str) -> CompletedRuns:
    """Return the completed runs of this version of a study; raises UserError for a bad shard."""
    runs: dict[RunKey, str] = {}
    refused: dict[tuple[str, str], dict[str, set[str]]] = {}
    for record in read_records(folder / "records", heads=True):
        if record.get("study_digest") != study_digest:
            continue
        status, repetition = record.get("status"), record.get("repetition")
        case_id = str(record.get("case_id"))
        if status in FINAL and type(repetition) is int:
            runs.setdefault((case_id, bool(record.get("warmup")), repetition), str(status))
        elif status == SKIPPED:
            under = ", ".join(filter(None, (str(record.get("governor")), recorded_words(record))))
            wanted = f"{record.get('mapping')} under {under}"
            by_wanted = refused.setdefault(
                (str(record.get("node_id")), str(record.get("reason"))), {}
            )
            by_wanted.setdefault(wanted, set()).add(case_id)
    lines = [
        f"node {node}: {plural(sum(map(len, cases.values())), 'case')} of {', '.join(cases)}: {why}"
        for (node, why), cases in refused.items()
    ]
    return CompletedRuns(runs, lines, _late(folder))


def _late(folder: Path) -> int:
    try:
        return sum(1 for _ in read_records(folder / LATE, heads=True))
    except UserError:
        return 0


@dataclass(frozen=True)
class WorkerStatus:
    """The status of one worker of a submission.

    `jobs` are the states of its jobs, in the order of their chain; `attempt` is the newest of its
    `attempts` attempts, None before the first. `done` of its `runs` have ended, and `failed`
    of these were not good; `runs` is None until an attempt has reported its plan. `left_s` is the
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

    `completed` has the completed runs by the results folder that the workers have written to.
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
        waiting = [worker for worker in self.workers if worker.left != 0]
        times = [worker.left_s for worker in waiting]
        known = [time for time in times if time is not None]
        return max(known, default=0.0) if len(known) == len(times) else None

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
    attempts = read_attempts(submission.attempts)
    newest = {each.worker: each for each in attempts if each.worker < len(submission.workers)}
    counts = Counter(attempt.worker for attempt in attempts)
    jobs: defaultdict[int, list[JobState]] = defaultdict(list)
    for state in states:
        jobs[state.worker].append(state)
    completed = {
        folder: read_completed(Path(folder), submission.digest)
        for folder in dict.fromkeys(attempt.folder for attempt in newest.values())
    }
    workers = []
    for worker in submission.workers:
        attempt = newest.get(worker.number)
        blocks = completed[attempt.folder].blocks if attempt else {}
        mine = tuple(jobs[worker.number])
        workers.append(_worker_status(worker, mine, attempt, counts[worker.number], blocks, at))
    return SubmissionStatus(submission, tuple(workers), completed)


def _worker_status(
    worker: Worker,
    jobs: tuple[JobState, ...],
    newest: Attempt | None,
    attempts: int,
    blocks: Blocks,
    at: datetime.datetime,
) -> WorkerStatus:
    # In a split study each node makes its own warm-up runs, which do not count.
    mine = worker.blocks or tuple(blocks)
    counts = [blocks.get(block, (0, 0)) for block in mine]
    done, good = sum(ended for ended, _ in counts), sum(good for _, good in counts)
    runs = None
    if newest and newest.case_ids:
        runs = len(newest.case_ids) * len(mine) if worker.blocks else max(newest.runs, done)
    return WorkerStatus(
        worker=worker,
        jobs=jobs,
        attempt=newest,
        attempts=attempts,
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
    since_s = 0.0
    if newest.ended is None and any(job.state == RUNNING for job in jobs):
        with suppress(ValueError, TypeError):
            since_s = (at - datetime.datetime.fromisoformat(newest.updated_at)).total_seconds()
    return max(0.0, newest.left_s - max(0.0, since_s))


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
