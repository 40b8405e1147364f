"""Processes written by hand below a tree's /proc."""

from __future__ import annotations

from pathlib import Path


def stat_line(
    pid: int,
    command: str,
    *,
    parent: int = 1,
    user: int = 0,
    system: int = 0,
    started: int = 50,
    cpu: int = 0,
) -> str:
    """Return a stat file's line with all 52 fields of proc_pid_stat(5); others are 7.

    The kernel cuts the command to 15 characters (TASK_COMM_LEN).
    """
    fields = ["7"] * 53
    fields[3], fields[4] = "S", str(parent)
    fields[14], fields[15], fields[22], fields[39] = map(str, (user, system, started, cpu))
    return f"{pid} ({command[:15]}) {' '.join(fields[3:])}\n"


def process(
    root: Path, pid: int, command: str, threads: tuple[int, ...] = (), **fields: int
) -> None:
    """Write a process; `threads` are the CPUs of its threads."""
    folder = root / "proc" / str(pid)
    for index, cpu in enumerate(threads):
        task = folder / "task" / str(pid + index)
        task.mkdir(parents=True, exist_ok=True)
        (task / "stat").write_text(stat_line(pid + index, command, cpu=cpu))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(stat_line(pid, command, **fields))
