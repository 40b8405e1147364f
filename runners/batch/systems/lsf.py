"""IBM Spectrum LSF, by bsub, bjobs and bkill; untested.

It follows the command reference of LSF 10.1; no LSF was at hand to try it on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path

from base.command import CommandResult
from base.text import one_line
from configs.site import Queue
from runners.batch.systems.interface import (
    ENDED,
    HELD,
    QUEUED,
    RUNNING,
    UNKNOWN,
    BatchSystem,
    ReportedState,
    Submitted,
)
from runners.batch.systems.script import Job, array_of, log_file
from runners.node.node import safe_name

# bjobs, "STAT". UNKWN and ZOMBI are jobs on a host that does not answer: they may still be at work.
_STATES = {
    **dict.fromkeys(("PEND", "WAIT", "PROV"), QUEUED),
    **dict.fromkeys(("PSUSP", "USUSP", "SSUSP"), HELD),
    "RUN": RUNNING,
    **dict.fromkeys(("DONE", "EXIT"), ENDED),
    **dict.fromkeys(("UNKWN", "ZOMBI"), UNKNOWN),
}
# The last reason may hold any text, even the delimiter.
_FORMAT = "jobid jobindex stat exec_host exit_reason pend_reason delimiter='|'"
_JOB_ID = re.compile(r"(?<=^Job <)\d{1,18}(?=> is submitted)", re.MULTILINE | re.ASCII)


class Lsf(BatchSystem):
    """LSF; each worker is an element of an array, a single worker a plain job."""

    name = "LSF"
    # Array indices count from 1.
    mark, index, by_hand = "#BSUB", '"$((LSB_JOBINDEX - 1))"', "bsub < THIS-FILE"
    job_id = re.compile(r"\d{1,18}", re.ASCII)
    end_command = ("bkill",)
    gone = re.compile("is not found|No matching job|already finished", re.IGNORECASE)
    id_in_line = re.compile(r"(?<=<)\d{1,18}(?=>)", re.ASCII)
    key_patterns = (
        ("feature", "resource requirement|resreq|unknown resource"),
        ("queue", "queue"),
        ("account", "project"),
        ("node", "host"),
        ("time_limit", "run ?limit|RUNLIMIT"),
        ("workers", "array"),
        ("after", "dependency"),
    )
    # They silence bsub, make it wait for the job's end, or hide jobs.
    hidden = ("BSUB_", "LSB_BJOBS_")

    def _options(self, queue: Queue, job: Job) -> Iterator[str]:
        name = safe_name(job.name)
        if job.workers > 1:
            indices, percent, limit = array_of(queue, job, first=1).partition("%")
            name = f'"{name}[{indices}]{percent}{limit}"'
        yield f"-J {name}"
        if queue.queue:
            yield f"-q {queue.queue}"
        if queue.account:
            yield f"-P {queue.account}"
        minutes = ceil(queue.time_limit_s / 60)
        yield f"-W {minutes // 60}:{minutes % 60:02}"
        # All slots of one host, and nobody else on it.
        yield f"-n {queue.cpus}"
        select = f"select[{job.feature}] " if job.feature else ""
        yield f'-R "{select}span[hosts=1]"'
        yield "-x"
        if job.node:
            yield f"-m {job.node}"
        if job.after:
            yield f'-w "{" && ".join(f"ended({job_id})" for job_id in job.after)}"'
        # Run it again when its host is lost.
        yield "-r"
        # LSF's own messages about the job; without a file it would send a mail.
        number = "%J.%I" if job.workers > 1 else "%J"
        yield f"-o {log_file(job, 'lsf', number)}"
        yield from queue.directives

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""
        # bsub reads directives from its stdin only, unless the site has configured it otherwise.
        answer = self._submit(("bsub",), queue, job, read=script)
        match = _JOB_ID.search(answer.stdout)
        return self._accepted(answer, job, match[0] if match else "", "number")

    def _query(self, ids: Sequence[str]) -> CommandResult:
        return self._status("bjobs", "-u", "all", "-a", "-noheader", "-o", _FORMAT, *ids)

    def _read(self, text: str) -> dict[str, ReportedState]:
        return {job_id: _state(*fields) for job_id, fields in read_bjobs(text).items()}

    def _id_in_array(self, job_id: str, worker: int) -> str:
        # Array indices count from 1.
        return f"{job_id}[{worker + 1}]"


def read_bjobs(text: str) -> dict[str, tuple[str, str, str]]:
    """Return (state, host, reason) by the job's id, with its index in an array: `17`, `18[1]`."""
    states = {}
    for line in text.splitlines():
        fields = [one_line(field) for field in line.split("|", 5)]
        if len(fields) == 6:
            job_id, index, word, host, *reasons = fields
            listed = ", ".join(reason for reason in reasons if reason not in ("", "-"))
            states[job_id if index == "0" else f"{job_id}[{index}]"] = (word, host, listed)
    return states


def _state(word: str, host: str, reason: str) -> ReportedState:
    state = _STATES.get(word, UNKNOWN)
    if state not in (QUEUED, RUNNING):
        reason = f"{word}: {reason}" if reason else word
    # `32*n1` where the job has 32 slots; `-` where it has no host.
    node = host.rpartition("*")[2].partition(":")[0]
    return state, reason, "" if node == "-" else node
