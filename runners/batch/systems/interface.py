"""The interface of a batch system: render a job's script, submit it, poll and cancel jobs.

The state of a job is advisory. Only the records have the runs that were made: a job that has ended
may have made all of them, and so may one that failed. A state that cannot be read is `unknown`,
never a guess.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from base.command import CommandResult, run
from base.errors import StudyError, UserError
from base.text import one_line, plural, unknown_word
from configs.site import BATCH_SYSTEMS, Queue
from runners.batch.systems.script import Job, clock_time

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

# A key, and a regular expression for the messages of a system that are about it.
Blames = Sequence[tuple[str, str]]


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


def open_system(name: str) -> BatchSystem:
    """Return the batch system of that name; raises UserError when there is none."""
    # Imported here: each of them needs this module.
    from runners.batch.systems.flux import Flux
    from runners.batch.systems.lsf import Lsf
    from runners.batch.systems.pbs import Pbs
    from runners.batch.systems.slurm import Slurm

    systems: dict[str, type[BatchSystem]] = {"slurm": Slurm, "pbs": Pbs, "lsf": Lsf, "flux": Flux}
    if name not in systems:
        raise UserError(unknown_word("batch system", name, systems))
    return systems[name]()


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


def ask(command: Sequence[str], leave_out: Sequence[str] = ()) -> CommandResult:
    """Run a command that reports the states of jobs."""
    return run_client(command, POLL_LIMIT_S, plain=True, leave_out=leave_out)


def submit_by(
    command: Sequence[str],
    queue: Queue,
    job: Job,
    blames: Blames,
    *,
    leave_out: Sequence[str] = (),
    read: Path | None = None,
) -> CommandResult:
    """Run a command that submits a job; raises StudyError, as `refused` makes it, if it fails."""
    answer = run_client(command, SUBMIT_LIMIT_S, leave_out=leave_out, read=read)
    if answer.failed:
        raise refused(answer, queue, job, blames)
    return answer


def refused(answer: CommandResult, queue: Queue, job: Job, blames: Blames) -> StudyError:
    """Return the error for a job that was refused, with the system's own message.

    It names the first key of `blames` that the job asks for and whose expression matches the
    message; without a match it names all keys. A command that has not answered may have submitted
    the job nevertheless.
    """
    system = BATCH_SYSTEMS[queue.system].partition(",")[0]
    if not answer.started:
        return StudyError(f"{answer.error}; submit where the commands of {system} are")
    if answer.problem:
        return StudyError(
            f"{answer.error}; look whether {system} has taken the job {job.name} all the same, "
            "before you submit again"
        )
    asked = _asked(queue, job)
    words = answer.stderr + answer.stdout
    for what, pattern in blames:
        if what in asked and re.search(pattern, words, re.IGNORECASE):
            return StudyError(f"`{asked[what]}` is refused: {answer.error}")
    listed = ", ".join(asked.values())
    return StudyError(f"the job is refused: {answer.error} (asked for: {listed})")


def accepted(answer: CommandResult, job: Job, job_id: re.Match[str] | None, what: str) -> Submitted:
    """Return the job that a command has submitted under one id.

    Raises StudyError when the command did not print its `what`, so that `job_id` is None.
    """
    if job_id is None:
        said = one_line(answer.stdout + answer.stderr)
        raise StudyError(
            f"`{answer.command}` has submitted something and told no {what} of a job: {said}"
        )
    return Submitted((job_id[0],), job.first_worker, job.workers)


def cancel_by(command: Sequence[str], gone: re.Pattern[str], leave_out: Sequence[str] = ()) -> str:
    """Run a command that ends jobs; return what went wrong, or nothing.

    Lines that match `gone` are about jobs that had already ended, which is no error.
    """
    answer = run_client(command, SUBMIT_LIMIT_S, plain=True, leave_out=leave_out)
    if not answer.failed:
        return ""
    lines = (answer.stderr or answer.stdout).splitlines()
    wrong = [line for line in lines if line.strip() and not gone.search(line)]
    return "" if lines and not wrong else replace(answer, stderr="\n".join(wrong)).error


def gone_ids(answer: CommandResult, gone: re.Pattern[str], job_id: re.Pattern[str]) -> set[str]:
    """Return the ids in those lines of stderr that match `gone`: of jobs that have ended."""
    lines = filter(gone.search, answer.stderr.splitlines())
    return {found[0] for line in lines for found in job_id.finditer(line)}


def _asked(queue: Queue, job: Job) -> dict[str, str]:
    """Return what a job asks for, by key of the site or study, as key and value."""
    asked = {
        "queue": queue.queue,
        "account": queue.account,
        "feature": job.feature,
        "node": job.node,
        "cpus": queue.cpus,
        "time_limit": clock_time(queue.time_limit_s),
        "after": " ".join(job.after) or None,
        "directives": " ".join(queue.directives) or None,
    }
    found = {key: f"{key} {value}" for key, value in asked.items() if value is not None}
    return found | {"workers": plural(job.workers, "worker")}
