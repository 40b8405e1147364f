"""The interface of a batch system: render a job's script, submit it, poll and cancel jobs.

The state of a job is advisory. Only the records have the runs that were made: a job that has ended
may have made all of them, and so may one that failed. A state that cannot be read is `unknown`,
never a guess.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from base.command import CommandResult, run
from base.errors import StudyError, UserError
from base.text import one_line, plural, unknown_word
from configs.site import Queue
from runners.batch.systems.script import Job, clock_time, write_script

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

# A job's state, the reason and the node's name, as in JobState.
ReportedState = tuple[str, str, str]


class Submitted(Struct, frozen=True):
    """A job that a batch system has accepted: its ids (an array has one), and its workers."""

    ids: tuple[str, ...]
    first_worker: Annotated[int, Meta(ge=0, le=10**10)]
    workers: Annotated[int, Meta(ge=0, le=10**10)]


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
    """Slurm, PBS, LSF or Flux, through its command line.

    `job_id` matches the ids of its jobs. `end_command` ends the jobs whose ids follow it. Lines of
    stderr that match `gone` are about jobs that have ended, with ids that match `id_in_line`; a
    system that `omits_gone_jobs` leaves such jobs out of its answer. `key_patterns` are keys of the
    site or study, each with an expression for the messages about it. Variables whose names begin
    with one of `hidden` are removed from the environment of the commands. In a script `mark` begins
    the lines of options, `index` is the number of an array's worker, `by_hand` the command that a
    user types; `setup` and `log` are those of `write_script`.
    """

    name: str
    mark: str
    index: str
    by_hand: str
    setup: tuple[str, ...] = ()
    log = True
    job_id: re.Pattern[str]
    end_command: tuple[str, ...]
    gone: re.Pattern[str]
    id_in_line: re.Pattern[str]
    omits_gone_jobs = False
    key_patterns: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...] = ()

    def render(self, queue: Queue, job: Job) -> str:
        """Return the job's script, which is shown, kept and submitted unchanged."""
        return write_script(
            queue,
            job,
            directives=[f"{self.mark} {option}" for option in self._options(queue, job)],
            index=self.index,
            by_hand=self.by_hand,
            setup=self.setup,
            log=self.log,
        )

    def _options(self, _queue: Queue, _job: Job) -> Iterable[str]:
        """Return the options in the script, the site's own last so that they can override."""
        return ()

    @abstractmethod
    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""

    @abstractmethod
    def _query(self, ids: Sequence[str]) -> CommandResult:
        """Run the command that reports the states of these jobs, which may be another user's."""

    @abstractmethod
    def _read(self, text: str) -> dict[str, ReportedState]:
        """Return the states in an answer, by the id of the job or of an array's worker."""

    def _id_in_array(self, job_id: str, _worker: int) -> str:
        """Return the id of one worker of an array; the job's in a system without arrays."""
        return job_id

    def _argument(self, job_id: str) -> str:
        """Return an id as commands take it and print it."""
        return job_id

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs, from one query for all of them.

        A job that the system has forgotten has ended. Never raises: a state that cannot be read is
        UNKNOWN with the reason.
        """
        answer = self._query([self._argument(job_id) for job_id in ids_of(jobs)])
        reported = self._read(answer.stdout)
        about_gone = filter(self.gone.search, answer.stderr.splitlines())
        gone = {match[0] for line in about_gone for match in self.id_in_line.finditer(line)}
        unread = answer.error if answer.failed else f"`{answer.command}` tells nothing of it"
        states = []
        for job_id, worker, shared in workers_of(jobs):
            own_id = self._id_in_array(job_id, worker) if shared else job_id
            argument = self._argument(job_id)
            state = reported.get(self._argument(own_id), reported.get(argument))
            if state is None:
                forgotten = argument in gone or (self.omits_gone_jobs and not answer.failed)
                reason = f"{self.name} knows it no longer" if forgotten else unread
                state = (ENDED if forgotten else UNKNOWN, reason, "")
            states.append(JobState(worker, own_id, *state))
        return states

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs; return what went wrong, or nothing. A job that has ended is no error."""
        command = (*self.end_command, *map(self._argument, ids_of(jobs)))
        answer = run_client(command, SUBMIT_LIMIT_S, plain=True, leave_out=self.hidden)
        if not answer.failed:
            return ""
        lines = (answer.stderr or answer.stdout).splitlines()
        wrong = [line for line in lines if line.strip() and not self.gone.search(line)]
        return "" if lines and not wrong else replace(answer, stderr="\n".join(wrong)).error

    def _refusal(self, answer: CommandResult, queue: Queue, job: Job) -> StudyError:
        """Return the error for a refused job, with the system's own message.

        It names the first key of `key_patterns` that the job asks for and whose expression matches
        the message; without a match it names all keys. A command that has not answered may have
        submitted the job nevertheless.
        """
        if not answer.started:
            return StudyError(f"{answer.error}; submit where the commands of {self.name} are")
        # A negative status is the signal that ended the command.
        if answer.problem or answer.status < 0:
            return StudyError(f"{answer.error}; {self._look_for(job)}")
        requests = _requests(queue, job)
        words = answer.stderr + answer.stdout
        for key, pattern in self.key_patterns:
            if key in requests and re.search(pattern, words, re.IGNORECASE):
                return StudyError(f"`{requests[key]}` is refused: {answer.error}")
        listed = ", ".join(requests.values())
        return StudyError(f"the job is refused: {answer.error} (asked for: {listed})")

    def _look_for(self, job: Job) -> str:
        return (
            f"look whether {self.name} has taken the job {job.name} all the same, and end it, "
            "before you submit again"
        )

    def _status(self, *command: str) -> CommandResult:
        return run_client(command, POLL_LIMIT_S, plain=True, leave_out=self.hidden)

    def _submit(
        self,
        command: Sequence[str],
        queue: Queue,
        job: Job,
        *,
        hidden: Sequence[str] = (),
        read: Path | None = None,
    ) -> CommandResult:
        """Run a command that submits a job; raises StudyError, as `_refusal` makes it, if it fails.

        Variables in `hidden` are removed from its environment, too; it reads the file `read`.
        """
        leave_out = (*self.hidden, *hidden)
        answer = run_client(command, SUBMIT_LIMIT_S, leave_out=leave_out, read=read)
        if answer.failed:
            raise self._refusal(answer, queue, job)
        return answer

    def _accepted(self, answer: CommandResult, job: Job, job_id: str, what: str) -> Submitted:
        """Return the job that a command has submitted under one id.

        Raises StudyError when the command did not print its `what`, so that `job_id` is none.
        """
        if self.job_id.fullmatch(job_id) is None:
            output = one_line(answer.stdout + answer.stderr)
            raise StudyError(
                f"`{answer.command}` told no {what} of a job: {output or 'nothing'}; "
                f"{self._look_for(job)}"
            )
        return Submitted((job_id,), job.first_worker, job.workers)


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


def _requests(queue: Queue, job: Job) -> dict[str, str]:
    """Return a job's requests by key of the site or study, as key and value."""
    values = {
        "queue": queue.queue,
        "account": queue.account,
        "feature": job.feature,
        "node": job.node,
        "cpus": queue.cpus,
        "time_limit": clock_time(queue.time_limit_s),
        "after": " ".join(job.after) or None,
        "directives": " ".join(queue.directives) or None,
    }
    requests = {key: f"{key} {value}" for key, value in values.items() if value is not None}
    return requests | {"workers": plural(job.workers, "worker")}
