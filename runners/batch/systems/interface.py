"""The interface of a batch system: render a job's script, submit it, poll and cancel jobs.

The state of a job is advisory. Only the records have the runs that were made: a job that has ended
may have made all of them, and so may one that failed. A state that cannot be read is `unknown`,
never a guess.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from base.command import CommandResult, run
from configs.site import Queue

# A command that submits waits for the controller, which may be busy; it gives up by itself after a
# minute or more.
SUBMIT_LIMIT_S = 60.0
POLL_LIMIT_S = 30.0
# Stands for the worker's number, from 0, in the arguments of a job's command.
WORKER = "{worker}"

QUEUED = "queued"
HELD = "held"
RUNNING = "running"
ENDED = "ended"
UNKNOWN = "unknown"
# A job in one of these states may still make runs.
LIVE = (QUEUED, HELD, RUNNING, UNKNOWN)


@dataclass(frozen=True)
class Job:
    """A job to submit: `workers` whole nodes, one worker on each.

    Workers are numbered from `first_worker` on; in the `command` (a list of arguments, absolute
    paths, no shell syntax) WORKER stands for the number. The script changes to `folder`, which
    must exist on the node, loads the site's modules and view, and ends in `exec` of the command, so
    that signals reach the worker. The job's output is appended to files in `logs`. `node` or
    `feature` selects the node, None any. `name` is for queue listings. `after` are ids of jobs that
    must have ended, with any status, before this one starts: one, or one a worker.
    """

    name: str
    first_worker: int
    workers: int
    command: tuple[str, ...]
    folder: Path
    logs: Path
    node: str | None = None
    feature: str | None = None
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submitted:
    """A job that a batch system has accepted: its ids (an array has one), and its workers."""

    ids: tuple[str, ...]
    first_worker: int
    workers: int


@dataclass(frozen=True)
class JobState:
    """The state of one worker's job, as the batch system reports it.

    `state` is QUEUED, HELD, RUNNING, ENDED or UNKNOWN; `reason` is the system's own text, or why
    the state could not be read; `node` is the node's name, empty when the system reports none.
    """

    worker: int
    job_id: str
    state: str
    reason: str = ""
    node: str = ""


class BatchSystem(Protocol):
    """Slurm, PBS, LSF or Flux, through its command line; `job_id` matches the ids of its jobs."""

    job_id: re.Pattern[str]

    def render(self, queue: Queue, job: Job) -> str:
        """Return the job's script, which is shown, kept and submitted unchanged."""

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs, from one query for all of them.

        A job that the system has forgotten has ended. Never raises: a state that cannot be read is
        UNKNOWN with the reason.
        """

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs; return what went wrong, or nothing. A job that has ended is no error."""


def workers_of(jobs: Sequence[Submitted]) -> Iterator[tuple[str, int, bool]]:
    """Yield (id, worker, whether it is one of an array) for each worker of these jobs.

    A job has one id for all its workers, or one for each.
    """
    for job in jobs:
        shared = len(job.ids) == 1 and job.workers > 1
        for number in range(job.workers):
            yield job.ids[0 if shared else number], job.first_worker + number, shared


def ids_of(jobs: Sequence[Submitted]) -> list[str]:
    """Return the ids of these jobs."""
    return [job_id for job in jobs for job_id in job.ids]


def all_unknown(jobs: Sequence[Submitted], reason: str) -> list[JobState]:
    """Return the state UNKNOWN, with the reason, for each worker of these jobs."""
    return [JobState(worker, job_id, UNKNOWN, reason) for job_id, worker, _ in workers_of(jobs)]


def missing_state(
    worker: int, job_id: str, system: str, answer: CommandResult, gone: bool
) -> JobState:
    """Return the state of a worker's job that is missing from an answer.

    With `gone` the system has forgotten the job, so it has ended.
    """
    if gone:
        return JobState(worker, job_id, ENDED, f"{system} knows it no longer")
    reason = answer.error if answer.failed else f"`{answer.command}` tells nothing of it"
    return JobState(worker, job_id, UNKNOWN, reason)


def run_client(
    command: Sequence[str],
    limit_s: float,
    *,
    plain: bool = False,
    leave_out: Sequence[str] = (),
    read: Path | None = None,
) -> CommandResult:
    """Run a command of a batch system, as base.command.run does.

    Its environment is this process's, without variables whose names begin with one of `leave_out`.
    With `plain` its messages are in English: not for commands that submit, since jobs inherit their
    environment.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(tuple(leave_out))
    }
    if plain:
        environment["LC_ALL"] = "C"
    return run(command, limit_s, environment=environment, read=read)
