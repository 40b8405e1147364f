"""The processes of a running program: one and its descendants, or those of a Slurm job here."""

from __future__ import annotations

from pinstudy.base.command import run
from pinstudy.base.errors import StudyError, UserError
from pinstudy.runners.host.processes import has_ended, parse_task
from pinstudy.runners.host.tree import Tree

_LINE_LIMIT = 4096


def process_of(tree: Tree, pid: int) -> tuple[int, ...]:
    """Return a process; raises UserError where there is none that lives."""
    stat = tree.text(f"/proc/{pid}/stat")
    if not isinstance(stat, str) or has_ended(stat):
        raise UserError(f"no process {pid} lives here; `pgrep -a NAME` finds one")
    return (pid,)


def processes_of_job(tree: Tree, job: str) -> tuple[int, ...]:
    """Return the processes of a Slurm job on this node that are no children of others of them.

    Raises UserError where the job has none here, StudyError where Slurm cannot be asked
    (scontrol(1), listpids: only root sees the jobs of others on some sites).
    """
    done = run(["scontrol", "listpids", job])
    # It has a status of its own for a job that is elsewhere.
    pids = _pids(done.stdout)
    if done.failed and not pids:
        raise (
            StudyError(done.error)
            if not done.started
            else UserError(f"job {job}: {done.error}; look on a node of the job, as its user")
        )
    living = {pid: tree.text(f"/proc/{pid}/stat") for pid in pids}
    tasks = [parse_task(stat) for stat in living.values() if isinstance(stat, str)]
    roots = tuple(task.pid for task in tasks if task and task.parent not in living)
    if not roots:
        raise UserError(f"job {job} has no process on this node; `squeue --job {job}` says where")
    return roots


def _pids(text: str) -> list[int]:
    """Return the first column of the table that `scontrol listpids` prints."""
    rows = (line.split() for line in text.splitlines())
    return [int(row[0]) for row in rows if row and row[0].isascii() and row[0].isdigit()]


def command_line(tree: Tree, pid: int) -> str:
    """Return the command line of a process; of one that shows none, its name."""
    text = tree.content(f"/proc/{pid}/cmdline", _LINE_LIMIT)
    if isinstance(text, str) and text.strip("\0"):
        return " ".join(text.rstrip("\0").split("\0"))
    task = parse_task(stat) if isinstance(stat := tree.text(f"/proc/{pid}/stat"), str) else None
    return task.command if task else ""
