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

from pinstudy.base.errors import SHORTAGES, ShortageError, shortage_of
from pinstudy.base.text import ended_by, one_line, shown
from pinstudy.runners.execution.output_file import OutputFile
from pinstudy.runners.execution.witness import Ending, LaunchError, WitnessProcess

# A check is not measured, but a study waits for it after every run.
LIMIT_S = 60.0
STDERR_BYTES = 2000
STDERR_CHARACTERS = 300
# How often its stderr is trimmed, seconds.
TRIM_S = 1.0


def check_failure_of(
    command: Sequence[str],
    output: str,
    environment: Mapping[str, str],
    witness: Path,
    limit_s: float = LIMIT_S,
) -> str:
    """Run the command with `output` on its stdin; return why it failed, empty when it succeeded.

    It has this process's working directory and user, and this environment. After `limit_s`
    seconds it is killed with all its descendants. Raises LaunchError, OSError or ShortageError when
    the host is short of resources, which is no failure of the check. Raises StudyError when there
    is no room for its stderr.
    """
    called = f"the check {shown(shlex.join(command))}"
    try:
        ending, stderr = _run(command, output, environment, witness, limit_s)
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
        return f"{called} ended with exit status {ending.exit_code}: {stderr or 'no message'}"
    return ""


def _run(
    command: Sequence[str],
    output: str,
    environment: Mapping[str, str],
    witness: Path,
    limit_s: float,
) -> tuple[Ending | None, str]:
    """Return how the command ended, None after its time limit, and the end of its stderr."""
    with (
        os.fdopen(os.memfd_create("output"), "w+b") as stdin,
        Path(os.devnull).open("wb") as devnull,
        OutputFile() as stderr,
        OutputFile() as log,
    ):
        stdin.write(output.encode(errors="replace"))
        stdin.seek(0)
        process = WitnessProcess(
            witness, (), command, environment, devnull, stderr.file, log.file, stdin
        )
        deadline = time.monotonic() + limit_s
        try:
            process.go()
            while not process.wait_ended(min(TRIM_S, max(0.0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    process.kill()
                    return None, ""
                stderr.trim()
            ending = process.reap()
            size = stderr.file.seek(0, os.SEEK_END)
            stderr.file.seek(max(0, size - STDERR_BYTES))
            tail = stderr.file.read().decode(errors="replace")
            return ending, one_line(tail, None)[-STDERR_CHARACTERS:]
        finally:
            process.close()
