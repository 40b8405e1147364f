"""The interface of a batch system: write a job's script, submit it, poll and cancel jobs.

The state of a job is advisory. Only the records have the runs that were made: a job that has ended
may have made all of them, and so may one that failed. A state that cannot be read is `unknown`,
never a guess.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from pinstudy.base.command import CommandResult, run
from pinstudy.base.errors import StudyError
from pinstudy.configs.site import Queue
from pinstudy.runners.batch_systems.script import Job
from pinstudy.runners.node.node import Node

# A command that submits waits for the controller, which may be busy; it gives up by itself after a
# minute or more.
SUBMIT_LIMIT_S = 60.0
POLL_LIMIT_S = 30.0

QUEUED = "queued"
HELD = "held"
RUNNING = "running"
ENDED = "ended"
UNKNOWN = "unknown"
# A job in one of these states may still make runs.
LIVE = (QUEUED, HELD, RUNNING, UNKNOWN)


# Ids of any batch system: each becomes an argument of a command, and must be no option.
ANY_JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:;@+\[\]-]{0,127}", re.ASCII)


# No study has more of anything.
Count = Annotated[int, Meta(ge=0, le=10**10)]


class Submitted(Struct, frozen=True):
    """A job that a batch system has accepted: its id, and its workers."""

    job_id: str
    first_worker: Count
    workers: Count


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


class BatchSystem(ABC):
    """A batch system; `name` is for messages, `job_id` matches the ids of its jobs.

    It `takes_arrays` if a job may have several workers, and `takes_turns` if one may wait for
    others. `job_variables` have the id of the job that a process is in.
    """

    name: str
    job_id: re.Pattern[str]
    takes_arrays = True
    takes_turns = True
    job_variables: tuple[str, ...] = ()

    @abstractmethod
    def script(self, queue: Queue, job: Job) -> str:
        """Return the job's script, which is shown, kept and submitted unchanged."""

    @abstractmethod
    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""

    @abstractmethod
    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs.

        A job that the system has forgotten has ended. Never raises: a state that cannot be read is
        UNKNOWN with the reason.
        """

    @abstractmethod
    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs; return what went wrong, or nothing. A job that has ended is no error."""

    def hides(self, _node: Node) -> tuple[str, str]:
        """Return what jobs do not get of a node like this one, and a remedy; empty if nothing."""
        return "", ""

    def _raise_if_unanswered(self, answer: CommandResult, job: Job) -> None:
        """Raise StudyError for a command that was not started, or did not end by itself.

        The latter may have submitted the job nevertheless.
        """
        if not answer.started:
            raise StudyError(f"{answer.error}; submit where the commands of {self.name} are")
        # A negative status is the signal that ended the command.
        if answer.problem or answer.status < 0:
            raise StudyError(f"{answer.error}; {self._look_for(job)}")

    def _look_for(self, job: Job) -> str:
        return (
            f"look whether {self.name} has taken the job {job.name} all the same, and end it, "
            "before you submit again"
        )


def workers_of(jobs: Sequence[Submitted]) -> Iterator[tuple[Submitted, int]]:
    """Yield each worker of these jobs, with its job."""
    for job in jobs:
        for worker in range(job.first_worker, job.first_worker + job.workers):
            yield job, worker


def run_client(
    command: Sequence[str], limit_s: float, *, plain: bool = False, leave_out: Sequence[str] = ()
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
    return run(command, limit_s, environment=environment)
