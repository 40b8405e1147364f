"""Waiting for an event that a test has caused.

No test passes or fails by how long something takes: what it waits for happens, or hangs.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

# Far longer than anything takes on a busy machine; it turns a hang into a failure.
HANG_S = 120.0

T = TypeVar("T")


def until(happened: Callable[[], T], during: subprocess.Popen[str] | None = None) -> T:
    """Wait until this returns something true, and return it.

    Fails at once, with the words of the process, when the process ends that shall do it.
    """
    deadline = time.monotonic() + HANG_S
    while not (found := happened()):
        if during is not None and during.poll() is not None:
            # It may have done it last.
            if found := happened():
                return found
            out, err = during.communicate()
            raise AssertionError(f"ended with {during.returncode}: {out or ''}{err or ''}")
        assert time.monotonic() < deadline, "it has not happened"
        time.sleep(0.01)
    return found
