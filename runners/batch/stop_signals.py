"""The signals by which batch systems tell a job that its time is up.

Slurm sends TERM, and USR1 some time before if asked (sbatch(1), --signal); PBS TERM; Flux ALRM at
the time limit; LSF USR2 and XCPU besides (bsub(1)). KILL follows within seconds to half a minute.
"""

from __future__ import annotations

import signal
from types import FrameType

# These come early: the run in flight may end.
_WARNINGS = ("SIGUSR1", "SIGUSR2")
# After these there is no time left.
_AT_ONCE = ("SIGTERM", "SIGALRM", "SIGXCPU", "SIGHUP", "SIGINT")


class StopSignals:
    """Listens from its creation on, until the process ends."""

    def __init__(self) -> None:
        self.warned = ""
        for name in _WARNINGS:
            signal.signal(signal.Signals[name], self._warn)
        for name in _AT_ONCE:
            signal.signal(signal.Signals[name], self._stop)

    def _warn(self, number: int, _frame: FrameType | None) -> None:
        self.warned = signal.Signals(number).name

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt
