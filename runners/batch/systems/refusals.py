"""Errors of a batch system's commands, and the key of a site or study that caused each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from base.command import CommandResult
from base.errors import StudyError
from base.text import one_line, plural
from configs.site import BATCH_SYSTEMS, Queue
from runners.batch.systems.interface import Job
from runners.batch.systems.script import clock_time

# A key, and a regular expression for the messages of a system that are about it.
Blames = Sequence[tuple[str, str]]


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


def without_id(answer: CommandResult, what: str) -> StudyError:
    """Return the error for a command that has submitted a job and did not print its `what`."""
    said = one_line(answer.stdout + answer.stderr)
    return StudyError(
        f"`{answer.command}` has submitted something and told no {what} of a job: {said}"
    )


def not_cancelled(answer: CommandResult, gone: re.Pattern[str]) -> str:
    """Return why jobs were not cancelled, or nothing.

    Lines that match `gone` are about jobs that had already ended, which is no error.
    """
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
