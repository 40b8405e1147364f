"""A user's check command: it reads what the program printed, and its exit status decides.

It runs after the measured window and without a mapping. pinstudy-witness starts it like a program,
so that no process of it is left, however it or pinstudy ends.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from base.errors import SHORTAGES, ShortageError, shortage_of
from base.text import ended_by, one_line, shown
from runners.execution.witness import Ending, LaunchError, WitnessProcess

# A check is not measured, but a study waits for it after every run.
LIMIT_S = 60.0
KEPT_STDERR_BYTES = 2000
SAID_CHARACTERS = 300
# Pauses between reads of its stderr: short while it writes, because a full pipe blocks it.
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.001, 0.05
# The time limit must also hold for a command that writes without end.
_MAX_READS = 64


def check_failure_of(
    command: Sequence[str],
    printed: str,
    environment: Mapping[str, str],
    witness: Path,
    limit_s: float = LIMIT_S,
) -> str:
    """Run the command with `printed` on its stdin; return why it failed, empty when it succeeded.

    It has this process's working directory and user, and the given environment. After `limit_s`
    seconds it is killed with all its descendants. Raises LaunchError, OSError or ShortageError when
    the host is short of what any process needs: that is no failure of the check.
    """
    called = f"the check {shown(shlex.join(command))}"
    try:
        ending, said = _run(command, printed, environment, witness, limit_s)
    except (LaunchError, OSError) as error:
        if shortage_of(error):
            raise
        return f"{called} cannot be run: {error}"
    if ending is None:
        return f"{called} did not end within {limit_s:g} s"
    if ending.exec_errno is not None:
        problem = f"{called} cannot be started: {os.strerror(ending.exec_errno)}"
        if ending.exec_errno in SHORTAGES:
            raise ShortageError(problem)
        return problem
    if ending.signal is not None:
        return f"{called} was {ended_by(ending.signal)}"
    if ending.exit_code:
        return f"{called} ended with exit status {ending.exit_code}: {said or 'no message'}"
    return ""


def _run(
    command: Sequence[str],
    printed: str,
    environment: Mapping[str, str],
    witness: Path,
    limit_s: float,
) -> tuple[Ending | None, str]:
    """Return how the command ended, None after its time limit, and the end of its stderr."""
    with (
        os.fdopen(os.memfd_create("printed"), "w+b") as given,
        Path(os.devnull).open("wb") as nowhere,
        os.fdopen(os.memfd_create("witness"), "w+b") as log,
        _Tail() as said,
    ):
        given.write(printed.encode(errors="replace"))
        given.seek(0)
        process = WitnessProcess(witness, (), command, environment, nowhere, said.end, log, given)
        try:
            process.go()
            if not _wait(process, said, limit_s):
                return None, ""
            ending = process.reap()
            said.read()
            return ending, said.text
        finally:
            process.close()


def _wait(process: WitnessProcess, said: _Tail, limit_s: float) -> bool:
    """Wait for the command's end, or kill it at its time limit; return whether it was in time."""
    deadline = time.monotonic() + limit_s
    pause = _FIRST_PAUSE_S
    while not process.wait_ended(min(pause, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline:
            process.kill_surely()
            return False
        pause = _FIRST_PAUSE_S if said.read() else min(2 * pause, _LAST_PAUSE_S)
    return True


class _Tail:
    """A pipe that keeps only the end of what is written to it."""

    def __init__(self) -> None:
        self._from, into = os.pipe()
        os.set_blocking(self._from, False)
        self.end: IO[bytes] = os.fdopen(into, "wb", buffering=0)
        self._kept = b""

    def __enter__(self) -> _Tail:
        return self

    def __exit__(self, *_: object) -> None:
        self.end.close()
        os.close(self._from)

    def read(self) -> bool:
        """Read what has arrived, without waiting; return whether there was any."""
        for count in range(_MAX_READS):
            try:
                data = os.read(self._from, 1 << 16)
            except BlockingIOError:
                return count > 0
            self._kept = (self._kept + data)[-KEPT_STDERR_BYTES:]
        return True

    @property
    def text(self) -> str:
        """The end of what was written, as one line."""
        return one_line(self._kept.decode(errors="replace"), None)[-SAID_CHARACTERS:]
