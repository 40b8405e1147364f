"""Processes that a run leaves to this process, which adopts them and ends them at the run's end.

A witness adopts what its program leaves. When a witness, a launcher of MPI or a co-runner's
supervisor is killed, the kernel gives its children to the nearest ancestor that asked for them
(PR_SET_CHILD_SUBREAPER, prctl(2)): daemons in sessions of their own, too.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pinstudy.runners.host.processes import children_of, has_died
from pinstudy.runners.host.starter import INSTRUMENT, mark_of

_PR_SET_CHILD_SUBREAPER = 36
# A process in an uninterruptible wait does not end before the wait does.
_END_LIMIT_S = 2.0
_PAUSE_S = 0.001

# Global, as the children of a process are: those that it started for runs under way, and how many
# of these there are.
_own: set[int] = set()
_under_way = 0


class Strays:
    """What this process adopts from now until `end`."""

    def __init__(self) -> None:
        """Adopt orphans; the children of before are not of this run."""
        self._before = set(children_of(os.getpid()))
        self._started: set[int] = set()
        self._ended = False
        _count_runs(1)

    def keep(self, pid: int) -> None:
        """Note a child that this process has started, and waits for itself."""
        self._started.add(pid)
        _own.add(pid)

    def end(self, programs: Iterable[int] = ()) -> None:
        """Kill what was adopted, with its descendants, and wait for it; only the first time.

        `programs` are those of the run, which may have ended without a parent to wait for them.
        """
        if self._ended:
            return
        self._ended = True
        dying = set(programs)
        deadline = time.monotonic() + _END_LIMIT_S
        while (living := self._living(dying)) and time.monotonic() < deadline:
            for pid in living:
                dying.update(kill_tree(pid))
            time.sleep(_PAUSE_S)
        _own.difference_update(self._started)
        _count_runs(-1)

    def _living(self, dying: Collection[int]) -> list[int]:
        """Return the adopted children that live; wait for those that have died.

        These are of `dying`, or of the session of what was started. Another one may be somebody's
        here, who still asks how it ended.
        """
        living = []
        for pid in set(children_of(os.getpid())) - self._before - _own:
            if not has_died(pid):
                living += [pid] if _is_adopted(pid) else []
            elif pid in dying or os.getsid(pid) in self._started:
                os.waitpid(pid, os.WNOHANG)
        return living


def _is_adopted(pid: int) -> bool:
    """Return whether a child is neither a perf, which has a mark of its own, nor another user's."""
    try:
        own = (Path("/proc") / str(pid)).stat().st_uid == os.geteuid()
    except OSError:
        return False
    mark = mark_of(pid)
    return own and (mark is None or mark[1] != INSTRUMENT)


def _count_runs(change: int) -> None:
    """Adopt orphans while there are runs, and no others of this process's children."""
    global _under_way  # noqa: PLW0603 - the children of a process are global
    _under_way += change
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, int(_under_way > 0))


@cache
def _libc() -> Any:  # noqa: ANN401 - functions of the C library
    # Imported here: most commands make no runs.
    import ctypes

    return ctypes.CDLL(None)


def kill_tree(pid: int) -> list[int]:
    """Kill a process and all its descendants; return their numbers.

    All are stopped first, so that none starts others.
    """
    pids = [pid]
    for number in pids:
        send(number, signal.SIGSTOP)
        pids += children_of(number)
    for number in pids:
        send(number, signal.SIGKILL)
    return pids


def send(pid: int, number: int) -> None:
    """Signal a process, unless it is gone or is another user's."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
