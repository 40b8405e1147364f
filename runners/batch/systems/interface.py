"""A batch system as pinstudy sees it: it renders a script, submits, polls and cancels.

What a batch system says of a job is advisory. Which runs were made is in the records alone: a job
that has ended may have made all of them, and one that failed as well. What cannot be asked is
`unknown`, never a guess.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from base.command import CommandResult, run
from configs.site import Queue

# Submitting waits for the controller, which may be busy; these commands give up by themselves
# after a minute or more.
SUBMIT_LIMIT_S = 60.0
POLL_LIMIT_S = 30.0
# Not for what submits: jobs inherit the environment of that.
PLAIN = {"LC_ALL": "C"}
# In the arguments of a job's command: the number of the worker, from 0.
WORKER = "{worker}"

QUEUED = "queued"
HELD = "held"
RUNNING = "running"
ENDED = "ended"
UNKNOWN = "unknown"
# A job in one of these may still make runs.
LIVE = (QUEUED, HELD, RUNNING, UNKNOWN)


@dataclass(frozen=True)
class Job:
    """What one submission asks of a batch system: `workers` whole nodes, one worker on each.

    Workers are numbered from `first_worker` on; in the `command` (a list of arguments, absolute
    paths, nothing of a shell) WORKER stands for the number. The script changes to `folder`, which
    must exist on the node, loads what the site says, and ends in `exec` of the command, so that
    signals reach the worker. What the job prints goes to files in `logs`, appended. `node` or
    `feature` say on which node, None on any. `name` is for queue listings. `after` are ids of jobs
    that must have ended, however they did, before this one starts: one, or one a worker.
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
    """A job that a batch system has taken: its ids (an array has one), and the workers it has."""

    ids: tuple[str, ...]
    first_worker: int
    workers: int


@dataclass(frozen=True)
class JobState:
    """What a batch system says of one worker's job.

    `state` is QUEUED, HELD, RUNNING, ENDED or UNKNOWN; `reason` is the system's own words for it,
    or why it could not be asked; `node` the node's name where it says one.
    """

    worker: int
    job_id: str
    state: str
    reason: str = ""
    node: str = ""


class BatchSystem(Protocol):
    """Slurm, PBS, LSF or Flux, through its command line."""

    def render(self, queue: Queue, job: Job) -> str:
        """Return the script that asks for the job: to be read, kept, and submitted as it is."""

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs, from one question for all of them.

        A job that the system no longer knows has ended. Never raises: what cannot be asked is
        UNKNOWN with the reason.
        """

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs; return what went wrong, or nothing. Jobs that have ended are none."""


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


def not_told(worker: int, job_id: str, system: str, answer: CommandResult, gone: bool) -> JobState:
    """Return the state of a worker's job of which an answer tells nothing.

    `gone` says that the system knows the job no longer: then it has ended.
    """
    if gone:
        return JobState(worker, job_id, ENDED, f"{system} knows it no longer")
    reason = answer.error if answer.failed else f"`{answer.command}` tells nothing of it"
    return JobState(worker, job_id, UNKNOWN, reason)


def run_client(
    command: Sequence[str],
    limit_s: float,
    *,
    settings: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    read: Path | None = None,
) -> CommandResult:
    """Run a command of a batch system, as base.command.run does.

    Its environment is this process's with `settings`, without variables whose names begin with one
    of `leave_out`.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(tuple(leave_out))
    }
    return run(command, limit_s, environment=environment | dict(settings or {}), read=read)
