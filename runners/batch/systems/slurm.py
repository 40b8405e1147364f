"""Slurm, by sbatch, squeue and scancel.

Tested with Slurm 22.05; options are those of sbatch(1), squeue(1) and scancel(1). `squeue --json`
is not used: its format changes between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from runners.batch.systems.script import (
    Job,
    array_of,
    clock_time,
    log_file,
    warning_s,
)
from runners.node.node import safe_name

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

# A query for one job fails when Slurm has forgotten it; one for several leaves out such jobs.
_FORGOTTEN = "Invalid job id"


class Slurm(BatchSystem):
    """Slurm; each worker is a task of an array, a single worker a plain job."""

    name = "Slurm"
    mark, index, by_hand = "#SBATCH", '"$SLURM_ARRAY_TASK_ID"', "sbatch THIS-FILE"
    log = False
    job_id = id_in_line = re.compile(r"\d{1,18}", re.ASCII)
    end_command = ("scancel",)
    gone = re.compile(f"{_FORGOTTEN}|already completing or completed", re.IGNORECASE)
    omits_gone_jobs = True
    key_patterns = (
        ("feature", "feature specification|node configuration is not available"),
        ("node", "node name|node configuration is not available|invalid node|NodeList"),
        ("account", r"\baccount\b"),
        ("queue", "partition"),
        ("time_limit", "requested time limit|time limit specification"),
        ("workers", "job array specification"),
        ("after", "dependency"),
    )
    # They would override the script that was shown (sbatch(1), INPUT ENVIRONMENT VARIABLES), or
    # hide jobs (squeue(1), scancel(1)).
    hidden = (
        *("SBATCH_ARRAY_INX", "SBATCH_CONSTRAINT", "SBATCH_EXCLUSIVE", "SBATCH_EXPORT"),
        *("SBATCH_HINT", "SBATCH_MEM_PER", "SBATCH_NO_REQUEUE", "SBATCH_OPEN_MODE"),
        *("SBATCH_OUTPUT", "SBATCH_REQUEUE", "SBATCH_SIGNAL", "SBATCH_TIMELIMIT", "SBATCH_WAIT"),
        *("SLURM_HINT", "SQUEUE_", "SCANCEL_"),
    )

    def _options(self, queue: Queue, job: Job) -> Iterator[str]:
        yield f"--job-name={safe_name(job.name)}"
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
        # The job finds programs as the submitting shell does; the worker itself removes OMP_* and
        # the like. srun is not used: it would choose variables of its own by SLURM_EXPORT_ENV.
        yield "--export=ALL"
        number = str(job.first_worker) if job.workers == 1 else "%a"
        yield f"--output={log_file(job, 'worker', number)}"
        yield from queue.directives

    def submit(self, script: Path, queue: Queue, job: Job) -> Submitted:
        """Submit the script; raises StudyError with the command and what it answered."""
        hidden = ["SBATCH_PARTITION"] if queue.queue else []
        hidden += ["SBATCH_ACCOUNT"] if queue.account else []
        command = ("sbatch", "--parsable", str(script))
        answer = self._submit(command, queue, job, hidden=hidden)
        # `id`, or `id;cluster` where there are several clusters.
        job_id = answer.stdout.strip().partition(";")[0]
        return self._accepted(answer, job, job_id, "number")

    def _query(self, ids: Sequence[str]) -> CommandResult:
        answer = self._status("squeue", "-h", "-r", "-t", "all", "-o", _FORMAT, "-j", ",".join(ids))
        return replace(answer, status=0) if _FORGOTTEN in answer.stderr else answer

    def _read(self, text: str) -> dict[str, ReportedState]:
        return {job_id: _state(*fields) for job_id, fields in read_squeue(text).items()}

    def _id_in_array(self, job_id: str, worker: int) -> str:
        return f"{job_id}_{worker}"


def read_squeue(text: str) -> dict[str, tuple[str, str, str]]:
    """Return (state, reason, nodes) by the job's id; a reason may have several words."""
    states = {}
    for line in text.splitlines():
        job_id, first, rest = line.partition("|")
        state, second, rest = rest.partition("|")
        reason, third, nodes = rest.rpartition("|")
        if first and second and third:
            states[job_id.strip()] = (one_line(state), one_line(reason), one_line(nodes))
    return states


def _state(word: str, reason: str, nodes: str) -> ReportedState:
    state = _STATES.get(word, UNKNOWN)
    reason = "" if reason == "None" else reason
    if state == QUEUED and _HELD.search(reason):
        state = HELD
    if state not in (QUEUED, RUNNING):
        reason = f"{word}: {reason}" if reason else word
    return state, reason, nodes
