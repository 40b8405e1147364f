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
) -> str | None:
    """Return what a command prints on stdout, or None when it cannot be started, hangs or fails.

    It fails when its exit status is none of `statuses`.
    """
    try:
        answer = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode(errors="replace") if answer.returncode in statuses else None
