"""Any other batch system, by the commands that a site's file has for it.

Each worker is a job of its own, which waits for no other one. The commands are run without a shell;
what they print is read by the site's patterns.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from math import ceil
from pathlib import Path

from pinstudy.base.command import CommandResult
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import one_line, safe_name
from pinstudy.configs.load import problem_at_site
from pinstudy.configs.site import Queue, Site, SystemCommands
from pinstudy.runners.batch_systems.interface import (
    ANY_JOB_ID,
    ENDED,
    POLL_LIMIT_S,
    QUEUED,
    RUNNING,
    SUBMIT_LIMIT_S,
    UNKNOWN,
    BatchSystem,
    JobState,
    Submitted,
    run_client,
    workers_of,
)
from pinstudy.runners.batch_systems.script import Job, clock_time, write_script

_PLACEHOLDER = re.compile(r"\{(script|job|name|node|feature|time_limit|minutes|logs)\}")
_KEY = "batch_system"


class Commands(BatchSystem):
    """The batch system of a site that has commands for it."""

    job_id = ANY_JOB_ID
    takes_arrays = False
    takes_turns = False

    def __init__(self, site: Site, commands: SystemCommands) -> None:
        self.name = f"the batch system of {site.name}"
        self._site, self._commands, self._patterns = site, commands, commands.patterns

    def script(self, queue: Queue, job: Job) -> str:
        """Return the job's script.

        Raises UserError where the site's command cannot ask for the job's node or feature.
        """
        by_hand = shlex.join(self._submit_command(queue, job, "THIS-FILE"))
        return write_script(
            queue, job, directives=(), index="0", by_hand=one_line(by_hand, most=None)
        )

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""
        command = self._submit_command(queue, job, str(script))
        answer = run_client(command, SUBMIT_LIMIT_S)
        self._raise_if_unanswered(answer, job)
        if answer.failed:
            raise StudyError(self._at(f"the job is refused: {answer.error}", "submit"))
        match = re.search(self._patterns.job, _printed(answer), re.MULTILINE)
        job_id = (match[1] if match.re.groups else match[0]) if match else None
        if job_id is None or self.job_id.fullmatch(job_id) is None:
            problem = (
                f"the pattern finds no id in what `{answer.command}` printed: "
                f"{one_line(_printed(answer)) or 'nothing'}; {self._look_for(job)}"
            )
            raise StudyError(self._at(problem, "patterns", "job"))
        return Submitted(job_id, job.first_worker, job.workers)

    def _submit_command(self, queue: Queue, job: Job, script: str) -> list[str]:
        command = self._commands.submit
        targets = {"node": job.node, "feature": job.feature}
        lacking = [key for key, name in targets.items() if name and not _has(command, key)]
        unnamed = [key for key, name in targets.items() if not name and _has(command, key)]
        for key in lacking:
            problem = f"the job is for {key} {targets[key]}, and the command has no {{{key}}}"
            raise UserError(self._at(problem, "submit"))
        for key in unnamed:
            problem = f"the command has {{{key}}}, and the job names none; name some by --{key}s"
            raise UserError(self._at(problem, "submit"))
        values = {
            "script": script,
            "name": safe_name(job.name),
            "node": job.node or "",
            "feature": job.feature or "",
            "time_limit": clock_time(queue.time_limit_s),
            "minutes": str(ceil(queue.time_limit_s / 60)),
            "logs": str(job.logs),
        }
        return _filled(command, values)

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs, from one command for each job."""
        states, silent = [], ""
        for job, worker in workers_of(jobs):
            # A system that does not answer would be waited for once more with each job.
            if not silent:
                answer = self._ask(self._commands.poll, job.job_id, POLL_LIMIT_S)
                silent = self._at(answer.error, "poll") if answer.problem else ""
            state, reason = (UNKNOWN, silent) if silent else self._state(answer)
            states.append(JobState(worker, job.job_id, state, reason))
        return states

    def _state(self, answer: CommandResult) -> tuple[str, str]:
        """Return a job's state, and the line that says so unless it runs; or why it is unknown."""
        words = {QUEUED: "pending", RUNNING: "running", ENDED: "ended"}
        printed = _printed(answer)
        matches = {
            state: match
            for state, word in words.items()
            if (match := re.search(getattr(self._patterns, word), printed, re.MULTILINE))
        }
        if len(matches) == 1:
            ((state, match),) = matches.items()
            return state, "" if state == RUNNING else _line_of(match)
        if matches:
            both = " and ".join(words[state] for state in matches)
            problem = f"the patterns {both} match what `{answer.command}` printed"
        elif answer.failed:
            return UNKNOWN, self._at(answer.error, "poll")
        else:
            problem = f"no pattern matches what `{answer.command}` printed"
        told = f"{problem}: {one_line(printed) or 'nothing'}"
        return UNKNOWN, self._at(told, "patterns")

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs by one command for each; return what went wrong, or nothing."""
        problems = []
        for job in jobs:
            answer = self._ask(self._commands.cancel, job.job_id, SUBMIT_LIMIT_S)
            ended = re.search(self._patterns.ended, _printed(answer), re.MULTILINE)
            if answer.failed and (answer.problem or not ended):
                problems.append(self._at(answer.error, "cancel"))
            if answer.problem:
                break
        return "; ".join(problems)

    def _ask(self, command: Sequence[str], job_id: str, limit_s: float) -> CommandResult:
        return run_client(_filled(command, {"job": job_id}), limit_s, plain=True)

    def _at(self, message: str, *keys: str) -> str:
        return problem_at_site(self._site, (_KEY, *keys), message)


def _has(command: Sequence[str], placeholder: str) -> bool:
    return any(f"{{{placeholder}}}" in argument for argument in command)


def _filled(command: Sequence[str], values: dict[str, str]) -> list[str]:
    """Return the command with values for its placeholders; others stay as they are."""
    return [
        _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), argument)
        for argument in command
    ]


def _printed(answer: CommandResult) -> str:
    return f"{answer.stdout}\n{answer.stderr}"


def _line_of(match: re.Match[str]) -> str:
    """Return the line, or the lines, in which a match is."""
    text, end = match.string, match.string.find("\n", match.end())
    begin = text.rfind("\n", 0, match.start()) + 1
    return one_line(text[begin : end if end >= 0 else None])
