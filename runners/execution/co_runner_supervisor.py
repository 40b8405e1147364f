"""Runs a co-runner again and again until it is told to end, or pinstudy is gone.

Started by path, with pinstudy at the other ends of its standard input and output, which speak the
messages of co_runner.py. It is a process of its own, because it starts programs at any time: what
they inherit, affinity mask and rights, must not be what pinstudy has for a moment.

Each execution has a witness, as the measured program has. The next one waits before its exec while
one runs, so that it starts at once when that ends, however long its launcher takes.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.execution.co_runner import Job

STDIN, STDOUT = 0, 1
PR_SET_PDEATHSIG = 1
# What terminals and batch systems send to all processes (runners/batch/worker.py).
_OF_PINSTUDY = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU),
    *(signal.SIGUSR1, signal.SIGUSR2),
)


def main() -> None:
    """Read the job and do it."""
    # The first message: where an interpreter that is started by path finds the other modules.
    (length,) = struct.unpack("=Q", _read(8))
    sys.path[:] = pickle.loads(_read(length))
    from runners.execution.co_runner import receive
    from runners.execution.co_runs import CoRuns

    job: Job = receive(STDIN)
    for number in _OF_PINSTUDY:
        # Handled and not ignored: programs would inherit that (execve(2)).
        signal.signal(number, _leave_to_pinstudy)
    # A supervisor that is stopped cannot see the end of its pipe.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == job.starter:
        CoRuns(job, STDIN, STDOUT).run()


def _leave_to_pinstudy(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: pinstudy decides what ends."""


def _read(length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = os.read(STDIN, length - len(data))
        if not piece:
            sys.exit(1)
        data += piece
    return data


if __name__ == "__main__":
    main()
