"""Whether processes that tests have started are still there."""

from __future__ import annotations

from pathlib import Path


def alive(pid: int) -> bool:
    """Return whether a process is there, and no zombie that only waits for its parent to look."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that have not been reaped."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in path.read_text().split()]
