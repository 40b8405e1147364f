"""OpenPBS and PBS Professional, by qsub, qstat and qdel.

Tested with OpenPBS 23.06; options are those of qsub(1B), qstat(1B) and qdel(1B). Jobs get no copy
of the submitting shell's environment (qsub -V), only its PATH, which PBS passes in PBS_O_PATH.
qstat's JSON is not used: in a query for several jobs it holds only the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pinstudy.base.command import CommandResult
from pinstudy.base.text import one_line, safe_name
from pinstudy.configs.site import Queue
from pinstudy.runners.batch_systems.interface import ENDED, HELD, QUEUED, RUNNING, UNKNOWN
from pinstudy.runners.batch_systems.native import NativeSystem, ReportedState
from pinstudy.runners.batch_systems.script import Job, array_of, clock_time, log_file

# qstat(1B), "job_state", of jobs and of an array's subjobs. B, an array that has begun, does not
# say how its subjobs stand.
_STATES = {
    **dict.fromkeys(("Q", "T", "W"), QUEUED),
    **dict.fromkeys(("H", "S", "U"), HELD),
    **dict.fromkeys(("R", "E"), RUNNING),
    **dict.fromkeys(("F", "X"), ENDED),
}
# Only newer versions allow longer names, and no queue listing shows more than this.
_MAX_NAME = 15
# The submitting shell's PATH: the job finds the same programs and tools.
_PATH = 'export PATH="${PBS_O_PATH:-$PATH}"'
# One line a job: `Job Id: 12.server|name=value|…`, with subjobs of arrays.
_FORMAT = ("-f", "-F", "dsv", "-D", "|", "-t")
_FIELD = re.compile(r"(?:[^|\\]|\\.)+")
_NO_HISTORY = "not configured to maintain job history"


class Pbs(NativeSystem):
    """PBS; each worker is a subjob of an array, a single worker a plain job."""

    name = "PBS"
    mark, index = "#PBS", "PBS_ARRAY_INDEX"
    setup = (_PATH,)
    submit_command, end_command = ("qsub",), ("qdel",)
    job_id = id_in_line = re.compile(r"(\d{1,18})(\[\])?(\.[A-Za-z0-9._-]{1,255})?", re.ASCII)
    gone = re.compile("Unknown Job Id|Job has finished", re.IGNORECASE)
    key_patterns = (
        ("feature", "unknown resource|illegal attribute or resource"),
        ("queue", "queue"),
        ("account", "account|project"),
        ("node", "host"),
        ("time_limit", "walltime"),
        ("workers", "-J value|array"),
        ("after", "depend"),
    )
    job_variables = ("PBS_JOBID",)
    # qstat(1B) of PBS Professional, "-B".
    version_command, ping = ("qsub", "--version"), ("qstat", "-B")
    version = re.compile(r"pbs_version\s*=\s*(\S+)", re.IGNORECASE)

    def _options(self, queue: Queue, job: Job) -> Iterator[str]:
        name = safe_name(job.name)[:_MAX_NAME]
        # All versions accept a letter as the first character.
        yield f"-N {name if name[0].isalpha() else f'p{name}'[:_MAX_NAME]}"
        # PBS refuses an array of one.
        if job.workers > 1:
            yield f"-J {array_of(queue, job)}"
        # Otherwise the user's login shell runs the script, and that may not be bash.
        yield "-S /bin/bash"
        if queue.queue:
            yield f"-q {queue.queue}"
        if queue.account:
            yield f"-A {queue.account}"
        chunk = f"select=1:ncpus={queue.cpus}"
        if job.feature:
            chunk += f":{job.feature}=true"
        if job.node:
            chunk += f":host={job.node}"
        yield f"-l {chunk}"
        yield "-l place=excl"
        yield f"-l walltime={clock_time(queue.time_limit_s)}"
        if job.after:
            yield f"-W depend=afterany:{job.after}"
        yield "-r y"
        # PBS's own messages about the job; the worker appends its output to another file.
        yield "-j oe"
        number = str(job.first_worker) if job.workers == 1 else "^array_index^"
        yield f"-o {log_file(job, 'pbs', number, refused=' :,;&')}"
        yield from queue.directives

    def _query(self, ids: Sequence[str]) -> CommandResult:
        answer = self._status("qstat", "-x", *_FORMAT, *ids)
        if _NO_HISTORY in answer.stderr:
            answer = self._status("qstat", *_FORMAT, *ids)
        return answer

    def _read(self, text: str) -> dict[str, ReportedState]:
        return {job_id: _state(job) for job_id, job in read_qstat(text).items()}

    def _id_in_array(self, job_id: str, worker: int) -> str:
        return job_id.replace("[]", f"[{worker}]")


def read_qstat(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes of each job, by its id; a backslash escapes a bar in a value."""
    attributes = {}
    for line in text.splitlines():
        head, *fields = _FIELD.findall(line) or [""]
        mark, colon, job_id = head.partition(": ")
        if mark == "Job Id" and colon:
            pairs = [field.partition("=") for field in fields]
            attributes[job_id.strip()] = {name: _plain(value) for name, _, value in pairs}
    return attributes


def _plain(value: str) -> str:
    return one_line(re.sub(r"\\(.)", r"\1", value))


def _state(job: dict[str, str]) -> ReportedState:
    state = _STATES.get(job.get("job_state", ""), UNKNOWN)
    # A job that waits for another one has a hold of PBS itself (s).
    if state == HELD and job.get("Hold_Types") == "s" and "depend" in job:
        state = QUEUED
    return state, _reason(state, job), job.get("exec_host", "").partition("/")[0]


def _reason(state: str, job: dict[str, str]) -> str:
    """Return PBS's comment, and the exit status of a job that has ended badly."""
    if state == RUNNING:
        return ""
    words = [job.get("comment", "")]
    if state == QUEUED and not words[0]:
        words = [job.get("depend", "")]
    if state == HELD and not words[0]:
        words.append(f"Hold_Types {job.get('Hold_Types', '')}")
    if state == ENDED and job.get("Exit_status", "0") != "0":
        words.append(f"Exit_status {job['Exit_status']}")
    if state == UNKNOWN:
        words.append(f"job_state {job.get('job_state', '')}")
    return ", ".join(filter(None, words))


SYSTEM = Pbs()
