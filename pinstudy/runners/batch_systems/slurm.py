"""Slurm, by sbatch, squeue and scancel.

Tested with Slurm 22.05 and 26.05; options are those of sbatch(1), squeue(1) and scancel(1).
`squeue --json` is not used: its format changes between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from pinstudy.base.command import CommandResult, output_of
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import one_line, safe_name
from pinstudy.configs.site import Queue
from pinstudy.runners.batch_systems.interface import (
    ENDED,
    HELD,
    QUEUED,
    RUNNING,
    UNKNOWN,
    JobState,
    Submitted,
)
from pinstudy.runners.batch_systems.native import ANSWER_LIMIT_S, NativeSystem, ReportedState
from pinstudy.runners.batch_systems.script import Job, array_of, clock_time, log_file, warning_s
from pinstudy.runners.node.node import Node

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
# held state", "launch failed requeued held". Some versions print these with underscores.
_HELD = re.compile(r"(?<![a-z])held(?![a-z])|JobHeld", re.IGNORECASE)
_FORMAT = "%i|%T|%r|%N"
# With the number that each task of an array has of its own, by which steps know it.
_OWN_FORMAT = "%A|%T|%r|%N"

# A query for one job fails when Slurm has forgotten it; one for several leaves out such jobs.
_FORGOTTEN = "Invalid job id"

# slurmd removes Intel's E-cores from what it offers unless slurm.conf allows them (Slurm
# src/slurmd/common/xcpuinfo.c, _remove_ecores; release notes of 23.02).
_FIRST_TO_HIDE = (23, 2)
_CONFIG = ("scontrol", "show", "config")
_VERSION = re.compile(r"^SLURM_VERSION\s*=\s*([0-9]{1,4})\.([0-9]{1,4})", re.MULTILINE)
_PARAMETERS = re.compile(r"^SlurmdParameters\s*=(.*)$", re.MULTILINE)
_ALLOW = "allow_ecores"
_GRANT = f"ask its administrator for SlurmdParameters={_ALLOW} in slurm.conf"


class Slurm(NativeSystem):
    """Slurm; each worker is a task of an array, a single worker a plain job."""

    name = "Slurm"
    mark, index = "#SBATCH", "SLURM_ARRAY_TASK_ID"
    log = False
    submit_command, end_command = ("sbatch", "--parsable"), ("scancel",)
    # `id`, or `id;cluster` as sbatch prints it where there are several clusters.
    job_id = re.compile(r"\d{1,18}(;[A-Za-z0-9][A-Za-z0-9._-]{0,63})?", re.ASCII)
    id_in_line = re.compile(r"\d{1,18}", re.ASCII)
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
        *("SBATCH_ARRAY_INX", "SBATCH_CONSTRAINT", "SBATCH_CORE_SPEC", "SBATCH_CPUS_PER_GPU"),
        *("SBATCH_ERROR", "SBATCH_EXCLUSIVE", "SBATCH_EXPORT", "SBATCH_HINT", "SBATCH_MEM_PER"),
        *("SBATCH_NO_REQUEUE", "SBATCH_OPEN_MODE", "SBATCH_OUTPUT", "SBATCH_REQUEUE"),
        *("SBATCH_SIGNAL", "SBATCH_THREAD_SPEC", "SBATCH_THREADS_PER_CORE", "SBATCH_TIMELIMIT"),
        *("SBATCH_TRES_PER_TASK", "SBATCH_WAIT"),
        *("SLURM_HINT", "SQUEUE_", "SCANCEL_"),
    )
    # A job without a cluster is one of the cluster here.
    hidden_later = ("SLURM_CLUSTERS",)
    job_variables = ("SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID")
    version_command, ping = ("sbatch", "--version"), ("scontrol", "ping")
    version = re.compile(r"slurm\S* (\S+)", re.IGNORECASE)

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
            yield f"--dependency=afterany:{self._argument(job.after)}"
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

    def _overridden(self, queue: Queue) -> tuple[str, ...]:
        partition = ("SBATCH_PARTITION",) if queue.queue else ()
        return partition + (("SBATCH_ACCOUNT",) if queue.account else ())

    def _submit_command(self, _queue: Queue, job: Job) -> tuple[str, ...]:
        # A job can wait for one of its own cluster only. On the command line the option precedes
        # those of variables and of the script.
        return (*self.submit_command, *_on_cluster(job.after))

    def poll(self, jobs: Sequence[Submitted]) -> list[JobState]:
        """Return the state of each worker of these jobs, from one query for each cluster."""
        return list(chain.from_iterable(map(super().poll, _by_cluster(jobs))))

    def cancel(self, jobs: Sequence[Submitted]) -> str:
        """End these jobs by one command for each cluster; return what went wrong, or nothing."""
        return "; ".join(filter(None, map(super().cancel, _by_cluster(jobs))))

    def _end_command(self, ids: Sequence[str]) -> tuple[str, ...]:
        return (*self.end_command, *_on_cluster(ids[0]))

    def tasks_of(self, job_id: str) -> tuple[dict[str, ReportedState], str]:
        """Return the state of a job, or of each task of an array, by the number of its own.

        It is empty for a job that Slurm does not know, or no longer. The text is squeue's error.
        """
        answer = self._squeue(_OWN_FORMAT, job_id)
        return self._read(answer.stdout), answer.error if answer.failed else ""

    def _query(self, ids: Sequence[str]) -> CommandResult:
        numbers = ",".join(map(self._argument, ids))
        return self._squeue(_FORMAT, numbers, *_on_cluster(ids[0]))

    def _squeue(self, form: str, numbers: str, *options: str) -> CommandResult:
        asked = (*options, "-h", "-r", "-t", "all", "-o", form, "-j", numbers)
        answer = self._status("squeue", *asked)
        return replace(answer, status=0) if _FORGOTTEN in answer.stderr else answer

    def _read(self, text: str) -> dict[str, ReportedState]:
        return {job_id: _state(*fields) for job_id, fields in read_squeue(text).items()}

    def _id_in_array(self, job_id: str, worker: int) -> str:
        number, semicolon, cluster = job_id.partition(";")
        return f"{number}_{worker}{semicolon}{cluster}"

    def _argument(self, job_id: str) -> str:
        return job_id.partition(";")[0]

    def hides(self, node: Node) -> tuple[str, str]:
        """Return that jobs do not get the E-cores of a node like this one, and what helps.

        Empty for a node that is no Intel hybrid, where they are allowed, and where Slurm does not
        say.
        """
        small = [cpu for kind in node.topology.kinds if kind.name != "P" for cpu in kind.cpus]
        if not (small and node.topology.hybrid and node.block.get("vendor_id") == "GenuineIntel"):
            return "", ""
        config = output_of(_CONFIG, limit_s=ANSWER_LIMIT_S) or ""
        version = _VERSION.search(config)
        parameters = _PARAMETERS.search(config)
        if not (version and parameters) or _ALLOW in parameters[1].casefold():
            return "", ""
        if (int(version[1]), int(version[2])) < _FIRST_TO_HIDE:
            return "", ""
        problem = (
            f"it hides Intel's E-cores (here CPUs {format_cpulist(small)}) from jobs: "
            f"SlurmdParameters of `{' '.join(_CONFIG)}` lacks {_ALLOW}"
        )
        return problem, _GRANT


def _cluster_of(job_id: str) -> str:
    return job_id.partition(";")[2]


def _on_cluster(job_id: str) -> tuple[str, ...]:
    """Return the option for the cluster of a job; none for the cluster here."""
    cluster = _cluster_of(job_id)
    return (f"--clusters={cluster}",) if cluster else ()


def _by_cluster(jobs: Sequence[Submitted]) -> list[list[Submitted]]:
    groups: dict[str, list[Submitted]] = {}
    for job in jobs:
        groups.setdefault(_cluster_of(job.job_id), []).append(job)
    return list(groups.values())


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


SYSTEM = Slurm()
