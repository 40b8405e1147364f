"""Asking an installed command a short question."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

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
    it prints on stderr follows `with_stderr`.
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
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode not in statuses:
        return None
    said = answer.stdout + answer.stderr if with_stderr else answer.stdout
    return said.decode(errors="replace")
