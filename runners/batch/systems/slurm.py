"""Slurm, by sbatch, squeue and scancel.

Tested with Slurm 22.05; options are those of sbatch(1), squeue(1) and scancel(1). `squeue --json`
is not used: its format changes between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    JobState,
    Submitted,
    accepted,
    all_unknown,
    ask,
    cancel_by,
    ids_of,
    missing_state,
    submit_by,
    workers_of,
)
from runners.batch.systems.script import (
    Job,
    array_of,
    clock_time,
    job_name,
    log_file,
    warning_s,
    write_script,
)

# squeue(1), JOB STATE CODES. A suspended job goes on only when somebody resumes it.
_STATES = {
    **dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED"), QUEUED),
    **dict.fromkeys(
        ("REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "STOPPED", "SUSPENDED"), HELD
    ),
    **dict.fromkeys(("RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT"), RUNNING),
    **dict.fromkeys(
        (
            *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
            *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
        ),
        ENDED,
    ),
}
# Reasons of pending jobs that somebody must release: JobHeldUser, JobHeldAdmin, "job requeued in
# held state", "launch failed requeued held".
_HELD = re.compile(r"\bheld\b|JobHeld", re.IGNORECASE)
_FORMAT = "%i|%T|%r|%N"

# Variables that would override the script that was shown (sbatch(1), INPUT ENVIRONMENT VARIABLES),
# or hide jobs (squeue(1), scancel(1)).
_OVERRIDES = (
    *("SBATCH_ARRAY_INX", "SBATCH_CONSTRAINT", "SBATCH_EXCLUSIVE", "SBATCH_EXPORT", "SBATCH_HINT"),
    *("SBATCH_MEM_PER", "SBATCH_NO_REQUEUE", "SBATCH_OPEN_MODE", "SBATCH_OUTPUT", "SBATCH_REQUEUE"),
    *("SBATCH_SIGNAL", "SBATCH_TIMELIMIT", "SBATCH_WAIT", "SLURM_HINT"),
)
_FILTERS = ("SQUEUE_", "SCANCEL_")

_BLAMES = (
    ("feature", "feature specification|node configuration is not available"),
    ("node", "node name|node configuration is not available|invalid node|NodeList"),
    ("account", r"\baccount\b"),
    ("queue", "partition"),
    ("time_limit", "requested time limit|time limit specification"),
    ("workers", "job array specification"),
    ("after", "dependency"),
)
_NO_SUCH_JOB = re.compile("Invalid job id|already completing or completed", re.IGNORECASE)
_ID = re.compile(r"\d{1,18}", re.ASCII)


class Slurm:
    """Slurm; each worker is a task of an array, a single worker a plain job."""

    job_id = _ID

    def render(self, queue: Queue, job: Job) -> str:
        """Return the script that asks for the job."""
        return write_script(
            queue,
            job,
            directives=[f"#SBATCH {option}" for option in _options(queue, job)],
            index='"$SLURM_ARRAY_TASK_ID"',
            by_hand="sbatch THIS-FILE",
            log=False,
        )

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""
        overrides = [*_OVERRIDES]
        overrides += ["SBATCH_PARTITION"] if queue.queue else []
        overrides += ["SBATCH_ACCOUNT"] if queue.account else []
        command = ("sbatch", "--parsable", str(script))
        answer = submit_by(command, queue, job, _BLAMES, leave_out=overrides)
        # `id`, or `id;cluster` where there are several clusters.
        job_id = answer.stdout.strip().partition(";")[0]
        return accepted(answer, job, _ID.fullmatch(job_id), "number")

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker; the jobs may be another user's."""
        ids = ",".join(ids_of(jobs))
        answer = ask(("squeue", "-h", "-r", "-t", "all", "-o", _FORMAT, "-j", ids), _FILTERS)
        if answer.failed and not _knows_none(answer):
            return all_unknown(jobs, answer.error)
        told = read_squeue(answer.stdout)
        return [
            _state(worker, f"{job_id}_{worker}" if many else job_id, told, answer)
            for job_id, worker, many in workers_of(jobs)
        ]

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs; return what went wrong, or nothing."""
        return cancel_by(("scancel", *ids_of(jobs)), _NO_SUCH_JOB, _FILTERS)


def _options(queue: Queue, job: Job) -> Iterator[str]:
    """Yield the options of sbatch, the site's own last so that they can override."""
    yield f"--job-name={job_name(job)}"
    if job.workers > 1:
        yield f"--array={array_of(queue, job)}"
    if queue.queue:
        yield f"--partition={queue.queue}"
    if queue.account:
        yield f"--account={queue.account}"
    yield f"--time={clock_time(queue.time_limit_s)}"
    yield "--nodes=1"
    yield "--ntasks=1"
    if queue.cpus:
        yield f"--cpus-per-task={queue.cpus}"
    # A node for itself; --exclusive gives all its CPUs, and only --mem=0 all its memory.
    yield "--exclusive"
    yield "--mem=0"
    if job.feature:
        yield f"--constraint={job.feature}"
    if job.node:
        yield f"--nodelist={job.node}"
    if job.after:
        # Not afterok: after a failed job it would stay in the queue for ever.
        yield f"--dependency=afterany:{':'.join(job.after)}"
    yield "--requeue"
    yield "--open-mode=append"
    # B: to the script's process only, which is the worker after its exec; up to a minute early.
    yield f"--signal=B:USR1@{warning_s(queue.time_limit_s)}"
    # The job finds programs as the submitting shell does; the worker itself removes OMP_* and the
    # like. srun is not used: it would choose variables of its own by SLURM_EXPORT_ENV.
    yield "--export=ALL"
    number = str(job.first_worker) if job.workers == 1 else "%a"
    yield f"--output={log_file(job, 'worker', number)}"
    yield from queue.directives


def _knows_none(answer: CommandResult) -> bool:
    """Return whether squeue failed because the only job in its query is one that it has forgotten.

    In a query for several jobs it leaves out unknown ones.
    """
    return not answer.problem and "Invalid job id" in answer.stderr


def read_squeue(text: str) -> dict[str, tuple[str, str, str]]:
    """Return (state, reason, nodes) by the job's id; a reason may have several words."""
    told = {}
    for line in text.splitlines():
        job_id, first, rest = line.partition("|")
        state, second, rest = rest.partition("|")
        reason, third, nodes = rest.rpartition("|")
        if first and second and third:
            told[job_id.strip()] = (one_line(state), one_line(reason), one_line(nodes))
    return told


def _state(
    worker: int, job_id: str, told: dict[str, tuple[str, str, str]], answer: CommandResult
) -> JobState:
    if job_id not in told:
        return missing_state(worker, job_id, "Slurm", answer, gone=True)
    word, reason, nodes = told[job_id]
    state = _STATES.get(word, UNKNOWN)
    reason = "" if reason == "None" else reason
    if state == QUEUED and _HELD.search(reason):
        state = HELD
    if state not in (QUEUED, RUNNING):
        reason = f"{word}: {reason}" if reason else word
    return JobState(worker, job_id, state, reason, nodes)
