"""Waiting for an event that a test has caused.

No test depends on time: the event happens, or the test fails as a hang.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

# Far longer than anything takes on a busy machine; it turns a hang into a failure.
HANG_S = 600.0
# The condition is often a command, which must leave the CPUs to the program that is waited for.
_PAUSE_S = 0.03

T = TypeVar("T")


def until(
    happened: Callable[[], T],
    during: subprocess.Popen[str] | None = None,
    what: str = "what is waited for",
    limit_s: float = HANG_S,
) -> T:
    """Wait until `happened` returns a true value, and return it; `what` names a hang.

    Fails at once, with the output of the process `during`, if it ends before.
    """
    deadline = time.monotonic() + limit_s
    while not (value := happened()):
        if during is not None and during.poll() is not None:
            # It may have happened just before the end.
            if value := happened():
                return value
            out, err = during.communicate()
            raise AssertionError(f"ended with {during.returncode}: {out or ''}{err or ''}")
        assert time.monotonic() < deadline, f"not within {limit_s:.0f} s: {what}"
        time.sleep(_PAUSE_S)
    return value
