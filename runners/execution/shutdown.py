"""A program that did not end well: did it fail, is all of this being stopped, was the host short?

A batch system sends its signal to every process of a job, and the program's may come first. It has
failed only when no signal to pinstudy follows, and when the host had what it needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from base.shortage import ShortageError, shortage_in, shortage_of
from runners.execution.execute import Observation
from runners.execution.witness import LaunchError

# Signals to all processes of a job arrive within milliseconds of one another.
SIGNAL_GRACE_S = 0.25


def execute_unless_shutting_down(
    execute: Callable[[], Observation], may_start: Callable[[float | None], None]
) -> Observation:
    """Return what `execute` observes.

    `may_start` raises StoppedError when no further run must start. Raises that or KeyboardInterrupt
    when everything is being stopped, ShortageError when the host refused what every run needs, and
    LaunchError or OSError as `execute` does for all else.
    """
    try:
        seen = execute()
    except (LaunchError, OSError) as error:
        time.sleep(SIGNAL_GRACE_S)
        may_start(None)
        if problem := shortage_of(error):
            raise ShortageError(problem) from error
        raise
    if seen.ending.wait_status != 0 and not seen.timed_out:
        time.sleep(SIGNAL_GRACE_S)
        may_start(None)
        if problem := shortage_in(seen.ending.exec_errno, seen.ending.exit_code, seen.stderr):
            raise ShortageError(problem)
    return seen
