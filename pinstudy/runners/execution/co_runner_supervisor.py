"""Runs a co-runner again and again until it is told to end, or pinstudy is gone.

Started by path, with pinstudy at the other ends of its standard input and output, which speak the
messages of co_runner.py. Its argument says, in JSON, where an interpreter that is started
by path finds the other modules. It is a process of its own, because it starts programs at any time:
the affinity mask that they inherit must not be what pinstudy has for a moment.

Each execution has a witness, as the measured program has. The next one waits before its exec while
one runs, so that it starts at once when that ends, however long its launcher takes.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from types import FrameType

STDIN, STDOUT = 0, 1
PR_SET_PDEATHSIG = 1
# What terminals and batch systems send to all processes (pinstudy/runners/batch/worker.py).
_OF_PINSTUDY = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU),
    *(signal.SIGUSR1, signal.SIGUSR2),
)


def main() -> None:
    """Read the job and do it."""
    starter = os.getppid()
    sys.path[:] = json.loads(sys.argv[1])
    from pinstudy.base.channel import Channel, ChannelError
    from pinstudy.base.decoding import complete
    from pinstudy.runners.execution.co_runner import CoRunnerJob, CoRuns

    for number in _OF_PINSTUDY:
        # Handled and not ignored: programs would inherit that (execve(2)).
        signal.signal(number, _leave_to_pinstudy)
    # A supervisor that is stopped cannot see the end of its pipe.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        message = Channel(STDIN).receive()
        job = complete(message or {}, CoRunnerJob)
    except (ChannelError, ValueError) as error:
        sys.exit(f"pinstudy: a co-runner cannot be supervised: {error}")
    if os.getppid() == starter:
        CoRuns(job, STDIN, STDOUT).run()


def _leave_to_pinstudy(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: pinstudy decides what ends."""


if __name__ == "__main__":
    main()
