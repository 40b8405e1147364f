"""Waiting for an event that a test has caused.

No test passes or fails by how long something takes: what it waits for happens, or hangs.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

# Far longer than anything takes on a busy machine; it turns a hang into a failure.
HANG_S = 600.0
# To ask is often a command, which has to leave the CPUs to what is waited for.
_PAUSE_S = 0.03

T = TypeVar("T")


def until(
    happened: Callable[[], T],
    during: subprocess.Popen[str] | None = None,
    what: str = "what is waited for",
    limit_s: float = HANG_S,
) -> T:
    """Wait until this returns something true, and return it; `what` names it where it hangs.

    Fails at once, with the words of the process, when the process ends that shall do it.
    """
    deadline = time.monotonic() + limit_s
    while not (found := happened()):
        if during is not None and during.poll() is not None:
            # It may have done it last.
            if found := happened():
                return found
            out, err = during.communicate()
            raise AssertionError(f"ended with {during.returncode}: {out or ''}{err or ''}")
        assert time.monotonic() < deadline, f"not within {limit_s:.0f} s: {what}"
        time.sleep(_PAUSE_S)
    return found
