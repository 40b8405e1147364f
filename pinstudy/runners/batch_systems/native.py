"""What the batch systems that pinstudy knows have in common: their commands and their answers."""

from __future__ import annotations

import re
import shlex
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import which

from pinstudy.base.command import CommandResult, output_of, run
from pinstudy.base.errors import StudyError
from pinstudy.base.text import one_line, plural
from pinstudy.configs.site import Queue
from pinstudy.runners.batch_systems.interface import (
    ENDED,
    POLL_LIMIT_S,
    SUBMIT_LIMIT_S,
    UNKNOWN,
    BatchSystem,
    JobState,
    Submitted,
    run_client,
    workers_of,
)
from pinstudy.runners.batch_systems.script import Job, clock_time, write_script
from pinstudy.runners.node.node import Node

# Clients wait for minutes for a controller that is down; one that is up answers at once.
ANSWER_LIMIT_S = 3.0

# A job's state, the reason and the node's name, as in JobState.
ReportedState = tuple[str, str, str]


@dataclass(frozen=True)
class Recognised:
    """A batch system whose commands are on the PATH.

    `version` is empty when they do not tell it; `problem` and `remedy` are empty when nothing is
    wrong.
    """

    version: str
    problem: str = ""
    remedy: str = ""


class NativeSystem(BatchSystem):
    """Slurm, PBS or Flux, through its command line.

    In a script `mark` begins the lines of options, if they are there; `index` is the variable with
    the number of an array's worker, if there are arrays; `setup` and `log` are those of
    `write_script`. `submit_command` is followed by the script, `end_command` by ids. Lines of
    stderr that match `gone` are about jobs that have ended, with ids that match `id_in_line`; a
    system that `omits_gone_jobs` leaves such jobs out of its answer. `key_patterns` are keys of the
    site or study, each with an expression for the messages about it. Variables whose names begin
    with one of `hidden` are removed from the environment of the commands, those of `hidden_later`
    from all but the one that submits.
    `version_command` prints what matches `version`, since other systems may have a command of the
    same name; `ping` asks the controller.
    """

    mark = ""
    index = ""
    setup: tuple[str, ...] = ()
    log = True
    submit_command: tuple[str, ...]
    end_command: tuple[str, ...]
    gone: re.Pattern[str]
    id_in_line: re.Pattern[str]
    omits_gone_jobs = False
    key_patterns: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...] = ()
    hidden_later: tuple[str, ...] = ()
    version_command: tuple[str, ...]
    version: re.Pattern[str]
    ping: tuple[str, ...]

    def script(self, queue: Queue, job: Job) -> str:
        """Return the script with its options, the site's own last so that they can override."""
        return write_script(
            queue,
            job,
            directives=[f"{self.mark} {option}" for option in self._options(queue, job)],
            index=f'"${self.index}"',
            by_hand=shlex.join((*self._submit_command(queue, job), "THIS-FILE")),
            setup=self.setup,
            log=self.log,
        )

    def _options(self, _queue: Queue, _job: Job) -> Iterable[str]:
        return ()

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""
        command = (*self._submit_command(queue, job), str(script))
        hidden = (*self.hidden, *self._overridden(queue))
        answer = run_client(command, SUBMIT_LIMIT_S, leave_out=hidden)
        if answer.failed:
            raise self._refusal(answer, queue, job)
        job_id = answer.stdout.strip()
        if self.job_id.fullmatch(job_id) is None:
            output = one_line(answer.stdout + answer.stderr)
            raise StudyError(
                f"`{answer.command}` told no id of a job: {output or 'nothing'}; "
                f"{self._look_for(job)}"
            )
        return Submitted(job_id, job.first_worker, job.workers)

    def _submit_command(self, _queue: Queue, _job: Job) -> tuple[str, ...]:
        return self.submit_command

    def _overridden(self, _queue: Queue) -> tuple[str, ...]:
        """Return the variables that would override what a site says."""
        return ()

    def _end_command(self, _ids: Sequence[str]) -> tuple[str, ...]:
        return self.end_command

    @abstractmethod
    def _query(self, ids: Sequence[str]) -> CommandResult:
        """Run the command that reports the states of these jobs, which may be another user's."""

    @abstractmethod
    def _read(self, text: str) -> dict[str, ReportedState]:
        """Return the states in an answer, by the id of the job or of an array's worker."""

    def _id_in_array(self, job_id: str, _worker: int) -> str:
        """Return the id of one worker of an array, in a system that has them."""
        return job_id

    def _argument(self, job_id: str) -> str:
        """Return an id as commands take it and print it."""
        return job_id

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs, from one query for all of them."""
        answer = self._query([job.job_id for job in jobs])
        reported = self._read(answer.stdout)
        about_gone = filter(self.gone.search, answer.stderr.splitlines())
        gone = {match[0] for line in about_gone for match in self.id_in_line.finditer(line)}
        unread = answer.error if answer.failed else f"`{answer.command}` tells nothing of it"
        states = []
        for job, worker in workers_of(jobs):
            own_id = self._id_in_array(job.job_id, worker) if job.workers > 1 else job.job_id
            argument = self._argument(job.job_id)
            state = reported.get(self._argument(own_id), reported.get(argument))
            if state is None:
                forgotten = argument in gone or (self.omits_gone_jobs and not answer.failed)
                reason = f"{self.name} knows it no longer" if forgotten else unread
                state = (ENDED if forgotten else UNKNOWN, reason, "")
            states.append(JobState(worker, own_id, *state))
        return states

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs by one command; return what went wrong, or nothing."""
        ids = [job.job_id for job in jobs]
        answer = self._ask(SUBMIT_LIMIT_S, self._end_command(ids), ids)
        if not answer.failed:
            return ""
        lines = (answer.stderr or answer.stdout).splitlines()
        wrong = [line for line in lines if line.strip() and not self.gone.search(line)]
        return "" if lines and not wrong else replace(answer, stderr="\n".join(wrong)).error

    def recognise(self, node: Node) -> Recognised | None:
        """Return the version and whether the controller answers; None without the commands."""
        if which(self.version_command[0]) is None:
            return None
        answer = run(self.version_command, ANSWER_LIMIT_S)
        if answer.failed:
            return Recognised("", answer.error)
        output = answer.stdout + answer.stderr
        version = self.version.search(output)
        if version is None:
            told = one_line(output or "nothing")
            return Recognised("", f"`{answer.command}` tells no version of it ({told})")
        if output_of(self.ping, limit_s=ANSWER_LIMIT_S) is None:
            silent = f"fails or does not answer in {ANSWER_LIMIT_S:g} s"
            remedy = "ask its administrator, or try a login node"
            return Recognised(version[1], f"`{shlex.join(self.ping)}` {silent}", remedy)
        return Recognised(version[1], *self.hides(node))

    def _ask(
        self, limit_s: float, command: Sequence[str], ids: Iterable[str] = ()
    ) -> CommandResult:
        """Run a command that submits nothing; it is followed by these ids."""
        hidden = (*self.hidden, *self.hidden_later)
        words = (*command, *map(self._argument, ids))
        return run_client(words, limit_s, plain=True, leave_out=hidden)

    def _status(self, *command: str) -> CommandResult:
        return self._ask(POLL_LIMIT_S, command)

    def _refusal(self, answer: CommandResult, queue: Queue, job: Job) -> StudyError:
        """Return the error for a refused job, with the system's own message.

        It names the first key of `key_patterns` that the job asks for and whose expression matches
        the message; without a match it names all keys.

        Raises StudyError for a command that was not refused.
        """
        self._raise_if_unanswered(answer, job)
        requests = _requests(queue, job)
        words = answer.stderr + answer.stdout
        for key, pattern in self.key_patterns:
            if key in requests and re.search(pattern, words, re.IGNORECASE):
                return StudyError(f"`{requests[key]}` is refused: {answer.error}")
        listed = ", ".join(requests.values())
        return StudyError(f"the job is refused: {answer.error} (asked for: {listed})")


def _requests(queue: Queue, job: Job) -> dict[str, str]:
    """Return a job's requests by key of the site or study, as key and value."""
    values = {
        "queue": queue.queue,
        "account": queue.account,
        "feature": job.feature,
        "node": job.node,
        "cpus": queue.cpus,
        "time_limit": clock_time(queue.time_limit_s),
        "after": job.after or None,
        "directives": " ".join(queue.directives) or None,
    }
    requests = {key: f"{key} {value}" for key, value in values.items() if value is not None}
    return requests | {"workers": plural(job.workers, "worker")}
