"""Running a command of the system: asking it a short question, and waiting for its end."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from collections.abc import Mapping, Sequence

from base.shortage import ShortageError, is_shortage, tells_of_shortage
from base.text import printable

# Commands that are asked load libraries at most; one that needs this long hangs.
LIMIT_S = 10.0


def ask(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    statuses: Sequence[int] = (0,),
    limit_s: float = LIMIT_S,
    with_stderr: bool = False,
) -> str | None:
    """Return what a command prints on stdout, or None when it cannot be started, hangs or fails.

    It fails when its exit status is none of `statuses`, and hangs after `limit_s` seconds. What
    it prints on stderr follows `with_stderr`. Raises ShortageError when the host is short of what
    it takes to ask: that says nothing of the command.
    """
    try:
        answer = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        if is_shortage(error):
            raise ShortageError(f"{command[0]} could not be asked: {error.strerror}") from None
        return None
    if answer.returncode not in statuses:
        lines = answer.stderr.decode(errors="replace").splitlines()
        if lines and tells_of_shortage(lines[-1]):
            raise ShortageError(f"{command[0]} could not be asked: {printable(lines[-1])}")
        return None
    said = answer.stdout + answer.stderr if with_stderr else answer.stdout
    return said.decode(errors="replace")


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
