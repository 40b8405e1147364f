"""A child's end, learnt when it comes: with a time limit, Popen.wait looks every so often instead.

Its first look again is after 1 ms, the second after 2 ms more, and each run waits for two children.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess


def wait_for(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Wait for a child's end; raises subprocess.TimeoutExpired after `limit_s` seconds."""
    # Without pidfd_open(2) (Linux before 5.3, or a sandbox) as Popen does it.
    with contextlib.suppress(OSError):
        if process.returncode is None:
            descriptor = os.pidfd_open(process.pid)
            try:
                select.select([descriptor], [], [], limit_s)
            finally:
                os.close(descriptor)
            limit_s = 0
    process.wait(limit_s)
