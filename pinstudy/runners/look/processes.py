"""The processes of a running program: one and its descendants, or those of a Slurm job here."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping, Sequence

from pinstudy.base.command import run
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.reading import known
from pinstudy.base.text import shown
from pinstudy.runners.batch_systems.interface import ENDED, HELD, QUEUED, RUNNING
from pinstudy.runners.batch_systems.native import ReportedState
from pinstudy.runners.batch_systems.slurm import SYSTEM
from pinstudy.runners.host.processes import has_ended, parse_task
from pinstudy.runners.host.tree import Tree

_LINE_LIMIT = 4096
# A job, a task of an array (7_1) or a component (7+1), and a step: squeue(1), scontrol(1).
_JOB = re.compile(r"(?P<id>\d{1,18}([_+]\d{1,18})?)(\.(?P<step>\w{1,32}))?", re.ASCII)


def process_of(tree: Tree, pid: int) -> tuple[int, ...]:
    """Return a process; raises UserError where there is none that lives."""
    stat = tree.text(f"/proc/{pid}/stat")
    if not isinstance(stat, str) or has_ended(stat):
        raise UserError(f"no process {pid} lives here; `pgrep -a NAME` finds one")
    return (pid,)


def processes_of_job(tree: Tree, job: str) -> tuple[int, ...]:
    """Return the processes of a Slurm job on this node that are no children of others of them.

    `job` is its id as users see it: `7`, `7_1` of an array, `7.0` or `7.batch` of a step. Raises
    UserError where it has no process here, StudyError where Slurm cannot be asked. scontrol(1)
    lists those of all users.
    """
    found = _JOB.fullmatch(job)
    if found is None:
        raise UserError(f"--job {shown(job)}: expected a job's id, such as 1234, 1234_5 or 1234.0")
    # It fails on a node without any job, too.
    listed = run(["scontrol", "listpids"])
    if not listed.started or listed.problem:
        raise StudyError(listed.error)
    tasks, problem = SYSTEM.tasks_of(found["id"])
    # Without a controller that answers, steps here still have the number.
    steps = _steps(listed.stdout, {found["id"], *tasks})
    pids = [pid for step, pid in steps if found["step"] in (None, step) and pid != os.getpid()]
    if not pids:
        reason = _why_none_here(tasks, steps, found["step"])
        raise StudyError(problem) if problem else UserError(f"job {job} {reason}")
    texts = {pid: tree.text(f"/proc/{pid}/stat") for pid in pids}
    living = {pid: task for pid, text in texts.items() if (task := parse_task(known(text) or ""))}
    if not living:
        raise UserError(
            f"job {job}: none of its processes here can be seen: /proc hides them (hidepid), or "
            "they have just ended; look as the job's user"
        )
    return tuple(pid for pid, task in living.items() if task.parent not in living)


def _steps(text: str, numbers: Container[str]) -> list[tuple[str, int]]:
    """Return the step and the number of each process of jobs with these numbers.

    The table of `scontrol listpids` has PID, JOBID and STEPID; -1 is no process.
    """
    rows = [row for line in text.splitlines() if len(row := line.split()) > 2]
    return [(step, int(pid)) for pid, job, step, *_ in rows if job in numbers and pid.isdecimal()]


def _why_none_here(
    tasks: Mapping[str, ReportedState], steps: Sequence[tuple[str, int]], step: str | None
) -> str:
    """Return why a job has no process on this node, by its tasks and its steps here."""
    if step and steps:
        return f"has no step {step} here, but {', '.join(dict.fromkeys(name for name, _ in steps))}"
    states = {state: (reason, nodes) for state, reason, nodes in tasks.values()}
    if RUNNING in states:
        return f"has no process on this node: it runs on {states[RUNNING][1]}; look there"
    for state, words in ((QUEUED, "waits"), (HELD, "is held"), (ENDED, "has ended")):
        if state in states:
            return f"{words} ({states[state][0]}); a job can be looked at while it runs"
    return "is not known to Slurm, or no longer; `squeue --me` lists yours"


def command_line(tree: Tree, pid: int) -> str:
    """Return the command line of a process; of one that shows none, its name."""
    text = tree.content(f"/proc/{pid}/cmdline", _LINE_LIMIT)
    if isinstance(text, str) and (words := text.strip("\0\n")):
        return " ".join(words.split("\0"))
    task = parse_task(stat) if isinstance(stat := tree.text(f"/proc/{pid}/stat"), str) else None
    return task.command if task else ""
