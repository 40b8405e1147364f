"""Flux, by flux submit, flux jobs and flux cancel.

Tested with Flux 0.88; options are those of flux-submit(1), flux-jobs(1) and flux-cancel(1). Flux
has no arrays: each worker is a job, whose id is written in base 58 after an ƒ. The job reads the
script in place when it starts. `flux batch` is not used, since it starts an instance of Flux on the
node beside the measured program.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from pinstudy.base.command import CommandResult
from pinstudy.base.text import one_line, safe_name
from pinstudy.configs.site import Queue
from pinstudy.runners.batch_systems.interface import ENDED, HELD, QUEUED, RUNNING, UNKNOWN
from pinstudy.runners.batch_systems.native import NativeSystem, ReportedState
from pinstudy.runners.batch_systems.script import Job, log_file, warning_s

# flux-jobs(1), "JOB STATUS": the states of a job's life.
_STATES = {
    **dict.fromkeys(("NEW", "DEPEND", "PRIORITY", "SCHED"), QUEUED),
    **dict.fromkeys(("RUN", "CLEANUP"), RUNNING),
    "INACTIVE": ENDED,
}
# Flux RFC 19: Bitcoin's base 58 after ƒ, or after f where ƒ cannot be shown.
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Flux(NativeSystem):
    """Flux; each worker is a job."""

    name = "Flux"
    takes_arrays = False
    job_id = re.compile(rf"[ƒf][{_DIGITS}]{{1,12}}")
    end_command = ("flux", "cancel")
    gone = re.compile(
        r"unknown job id|job is inactive|already inactive|JobID \d+ unknown", re.IGNORECASE
    )
    id_in_line = re.compile(r"(?<=JobID )\d+(?= unknown)")
    key_patterns = (
        ("feature", "requires|constraint|propert"),
        ("node", "hostlist|host"),
        ("queue", "queue"),
        ("account", "bank"),
        ("time_limit", "time.limit|duration"),
        ("after", "dependency"),
    )
    job_variables = ("FLUX_JOB_ID",)
    # flux-getattr(1).
    version_command, ping = ("flux", "version"), ("flux", "getattr", "size")
    version = re.compile(r"commands:\s*(\S+)")

    def _submit_command(self, queue: Queue, job: Job) -> tuple[str, ...]:
        # The job's options are here, because /bin/bash reads none in the script.
        return ("flux", "submit", *_options(queue, job), "/bin/bash")

    def _query(self, ids: Sequence[str]) -> CommandResult:
        return self._status("flux", "jobs", "--json", *map(self._argument, ids))

    def _read(self, text: str) -> dict[str, ReportedState]:
        return {str(number): _state(job) for number, job in read_flux_jobs(text).items()}

    def _argument(self, job_id: str) -> str:
        # All commands accept decimal ids in any locale.
        return str(_number(job_id))


def _options(queue: Queue, job: Job) -> Iterator[str]:
    """Yield the options of flux submit, the site's own last."""
    yield f"--job-name={safe_name(job.name)}"
    if queue.queue:
        yield f"--queue={queue.queue}"
    if queue.account:
        yield f"--bank={queue.account}"
    yield f"--time-limit={ceil(queue.time_limit_s)}s"
    yield f"--signal=SIGUSR1@{warning_s(queue.time_limit_s)}s"
    yield from ("--nodes=1", "--ntasks=1", "--exclusive")
    terms = [job.feature] if job.feature else []
    terms += [f"host:{job.node}"] if job.node else []
    if terms:
        yield f"--requires={' '.join(terms)}"
    if job.after:
        yield f"--dependency=afterany:{job.after}"
    # Flux's own messages about the job; the id is decimal, to keep ƒ out of file names.
    log = log_file(job, "flux", "{{id.dec}}").strip('"')
    yield f"--output={log}"
    for directive in queue.directives:
        yield from shlex.split(directive)


def _number(job_id: str) -> int:
    number = 0
    for digit in job_id[1:]:
        number = number * len(_DIGITS) + _DIGITS.index(digit)
    return number


def read_flux_jobs(text: str) -> dict[int, dict[str, Any]]:
    """Return each job's fields by its number; flux jobs prints a single job without a list."""
    try:
        answer = json.loads(text)
        jobs = answer.get("jobs", [answer])
        return {job["id"]: job for job in jobs if type(job["id"]) is int}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _state(job: dict[str, Any]) -> ReportedState:
    word = job.get("state")
    state = _STATES.get(word, UNKNOWN) if isinstance(word, str) else UNKNOWN
    # A held job has urgency 0.
    if state == QUEUED and job.get("urgency") == 0:
        state = HELD
    return state, _reason(state, job), one_line(str(job.get("nodelist", "")))


def _reason(state: str, job: dict[str, Any]) -> str:
    """Return the exception that ended a job, how it ended, or what it waits for."""
    if state == ENDED:
        words = [str(job.get("result", ""))]
        exception = job.get("exception")
        if isinstance(exception, dict) and exception.get("occurred"):
            words += [str(exception.get("type", "")), str(exception.get("note", ""))]
        elif job.get("returncode"):
            words.append(f"returncode {job['returncode']}")
    elif state == HELD:
        words = ["held: urgency 0"]
    elif state == UNKNOWN:
        words = [f"state {job.get('state')}"]
    else:
        waits = job.get("dependencies")
        words = [str(word) for word in waits] if isinstance(waits, list) else []
    return one_line(", ".join(filter(None, words)))


SYSTEM = Flux()
