"""Running a command of the system: one way to start it, to bound it and to say what went wrong."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from base.shortage import ShortageError, is_shortage, tells_of_shortage
from base.text import one_line, printable

# Commands that are asked load libraries at most; one that needs this long hangs.
LIMIT_S = 10.0
# A full answer for a thousand jobs of PBS, the wordiest, has two megabytes.
MAX_BYTES = 16 * 1024 * 1024
_PIECE = 65536


@dataclass(frozen=True)
class CommandResult:
    """How a command ended; `problem` says why it did not, else it is empty.

    `command` is the command line as one would type it; `started` says whether it was, and `short`
    what the host was short of to start it.
    """

    command: str
    status: int = 0
    stdout: str = ""
    stderr: str = ""
    problem: str = ""
    started: bool = True
    short: str = ""

    @property
    def failed(self) -> bool:
        """Whether it did not end, or with an exit status that is not 0."""
        return bool(self.problem) or self.status != 0

    @property
    def error(self) -> str:
        """What went wrong, in one line: the command's own words where it has any."""
        if self.problem:
            return f"`{self.command}` {self.problem}"
        words = one_line(self.stderr) or one_line(self.stdout) or "no message"
        return f"`{self.command}` ended with status {self.status}: {words}"


def run(
    command: Sequence[str],
    limit_s: float = LIMIT_S,
    *,
    environment: Mapping[str, str] | None = None,
    read: Path | None = None,
    write: IO[bytes] | None = None,
    **rights: Any,  # noqa: ANN401 - user, group and other arguments of subprocess.Popen
) -> CommandResult:
    """Run a command to its end, and return how that was; never raises for what the command does.

    It reads the file `read`, or nothing, on its stdin, and prints into `write`, or into the result.
    After `limit_s` seconds, or when it prints more than MAX_BYTES into the result, it is killed
    with all that it has started.
    """
    shown = shlex.join(command) + (f" < {shlex.quote(str(read))}" if read else "")
    if environment is not None:
        rights["env"] = environment
    try:
        with (read or Path(os.devnull)).open("rb") as stdin:
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE if write is None else write,
                stderr=subprocess.PIPE,
                start_new_session=True,
                **rights,
            )
    except (OSError, ValueError) as error:
        return _not_started(command, shown, read, error)
    with process:
        try:
            return _followed(process, shown, limit_s)
        except BaseException:
            _kill(process)
            raise


def _not_started(
    command: Sequence[str], shown: str, read: Path | None, error: OSError | ValueError
) -> CommandResult:
    reason, short = str(error), ""
    if isinstance(error, OSError):
        reason = error.strerror or reason
        short = reason if is_shortage(error) else ""
        if read and error.filename == str(read):
            reason = f"{read} is not there"
        elif isinstance(error, FileNotFoundError) and "/" not in command[0]:
            reason = f"there is no {command[0]} on the PATH"
    problem = f"cannot be started: {reason}"
    return CommandResult(shown, problem=problem, started=False, short=short)


def _followed(process: subprocess.Popen[bytes], shown: str, limit_s: float) -> CommandResult:
    """Read what a process prints until it ends, or end it."""
    stdout, stderr = bytearray(), bytearray()
    texts = {process.stdout: stdout, process.stderr: stderr}
    deadline = time.monotonic() + limit_s
    problem = _read({stream: text for stream, text in texts.items() if stream}, deadline, limit_s)
    if not problem:
        try:
            wait_for(process, max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            problem = f"did not end within {limit_s:g} s"
    if problem:
        _kill(process)
        return CommandResult(shown, problem=problem)
    printed, said = (text.decode(errors="replace") for text in (stdout, stderr))
    return CommandResult(shown, process.returncode, printed, said)


def _read(texts: Mapping[IO[bytes], bytearray], deadline: float, limit_s: float) -> str:
    """Add what comes to each stream's text until all are closed; return why that was given up."""
    with selectors.DefaultSelector() as selector:
        for stream, text in texts.items():
            selector.register(stream, selectors.EVENT_READ, text)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                return f"did not answer within {limit_s:g} s"
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                key.data.extend(piece)
                if not piece:
                    selector.unregister(key.fileobj)
                if len(key.data) > MAX_BYTES:
                    return f"answered more than {MAX_BYTES} bytes"
    return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


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
    answer = run(command, limit_s, environment=environment)
    if answer.short:
        raise ShortageError(f"{command[0]} could not be asked: {answer.short}")
    if answer.problem:
        return None
    if answer.status not in statuses:
        lines = answer.stderr.splitlines()
        if lines and tells_of_shortage(lines[-1]):
            raise ShortageError(f"{command[0]} could not be asked: {printable(lines[-1])}")
        return None
    return answer.stdout + (answer.stderr if with_stderr else "")


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
