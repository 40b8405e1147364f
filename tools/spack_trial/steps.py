"""Steps of a trial: commands with a log each, whose end is shown when one fails."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

SHOWN_LINES = 60


class FailedStepError(Exception):
    """A command that failed: which, how, and the end of what it said."""


class Steps:
    """Runs commands, one after the other, and says of each how long it took."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = environment
        self._count = 0

    def run(
        self,
        title: str,
        command: Sequence[str | Path],
        cwd: Path,
        limit_s: float = 600,
        statuses: Collection[int] = (0,),
        **environment: str,
    ) -> str:
        """Run a command; return what it said on stdout and stderr together.

        Raises:
            FailedStepError: its exit status is another one, or it took longer than the limit.
        """
        self._count += 1
        log = self._logs / f"{self._count:02}.log"
        print(f"{title} …", end="", flush=True)
        begun = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**self._environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            how = _wait(process, limit_s, statuses)
        said = log.read_text(encoding="utf-8", errors="replace")
        print(f" {time.monotonic() - begun:.0f} s" + (f", {how}" if how else ""), flush=True)
        if how:
            shown = "\n".join(f"  | {line}" for line in said.splitlines()[-SHOWN_LINES:])
            line = " ".join(map(str, command))
            raise FailedStepError(f"{title}: {how}\n  $ {line}\n    (in {cwd})\n{shown}")
        return said


def _wait(process: subprocess.Popen[bytes], limit_s: float, statuses: Collection[int]) -> str:
    """Wait for the end, and for that of all that it started; return how it failed, or nothing."""
    try:
        status = process.wait(limit_s)
        return "" if status in statuses else f"exit status {status}"
    except subprocess.TimeoutExpired:
        return f"no end within {limit_s:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
