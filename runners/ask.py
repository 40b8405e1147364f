"""Asking an installed command a short question."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from configs.words import printable
from runners.shortage import ShortageError, is_shortage, tells_of_shortage

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
