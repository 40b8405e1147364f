"""Asking a batch system's commands: with time limits, in plain words, and never more than fits."""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Submitting waits for the controller, which may be busy; these commands give up by themselves
# after a minute or more.
SUBMIT_LIMIT_S = 60.0
POLL_LIMIT_S = 30.0
# A full answer for a thousand jobs of PBS, the wordiest, has two megabytes.
MAX_BYTES = 16 * 1024 * 1024
# Not for what submits: jobs inherit the environment of that.
PLAIN = {"LC_ALL": "C"}
_MAX_SAID = 600
_PIECE = 65536


@dataclass(frozen=True)
class Answer:
    """What a command answered; `problem` says why there is none, else it is empty.

    `command` is the command line as one would type it; `started` says whether it was.
    """

    command: str
    status: int = 0
    stdout: str = ""
    stderr: str = ""
    problem: str = ""
    started: bool = True

    @property
    def failed(self) -> bool:
        """Whether there is no answer, or one with an exit status that is not 0."""
        return bool(self.problem) or self.status != 0

    @property
    def said(self) -> str:
        """What went wrong, in one line: the command's own words where it has any."""
        if self.problem:
            return f"`{self.command}` {self.problem}"
        words = one_line(self.stderr) or one_line(self.stdout) or "no message"
        return f"`{self.command}` ended with status {self.status}: {words}"


def question(
    command: Sequence[str],
    limit_s: float,
    *,
    settings: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    read: Path | None = None,
) -> Answer:
    """Ask a command, and return what it answers; never raises.

    Its environment is this process's with `settings`, without variables whose names begin with one
    of `leave_out`. It reads the file `read`, or nothing, on its stdin. After `limit_s` seconds it
    is ended, with all it has started.
    """
    shown = shlex.join(command) + (f" < {shlex.quote(str(read))}" if read else "")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(tuple(leave_out))
    }
    try:
        with (read or Path(os.devnull)).open("rb") as stdin:
            process = subprocess.Popen(
                command,
                env=environment | dict(settings or {}),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except FileNotFoundError as error:
        if read and error.filename == str(read):
            return _not_started(shown, f"{read} is not there")
        return _not_started(shown, f"there is no {command[0]} on the PATH")
    except (OSError, ValueError) as error:
        return _not_started(shown, str(error))
    with process:
        return _answer(process, shown, limit_s)


def one_line(text: str) -> str:
    """Return a command's words as one printable line of bounded length."""
    line = " ".join(text.split())
    line = "".join(character for character in line if character.isprintable())
    return line if len(line) <= _MAX_SAID else line[:_MAX_SAID] + "…"


def _not_started(shown: str, reason: str) -> Answer:
    return Answer(shown, problem=f"cannot be started: {reason}", started=False)


def _answer(process: subprocess.Popen[bytes], shown: str, limit_s: float) -> Answer:
    """Read what a process writes until it ends, or end it."""
    assert process.stdout
    assert process.stderr
    texts = {process.stdout: bytearray(), process.stderr: bytearray()}
    deadline = time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        for stream in texts:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                return _ended(process, shown, f"did not answer within {limit_s:g} s")
            for key, _ in ready:
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                piece = os.read(stream.fileno(), _PIECE)
                texts[stream] += piece
                if not piece:
                    selector.unregister(stream)
                if len(texts[stream]) > MAX_BYTES:
                    return _ended(process, shown, f"answered more than {MAX_BYTES} bytes")
    try:
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return _ended(process, shown, f"did not end within {limit_s:g} s")
    stdout, stderr = (text.decode(errors="replace") for text in texts.values())
    return Answer(shown, status, stdout, stderr)


def _ended(process: subprocess.Popen[bytes], shown: str, problem: str) -> Answer:
    """Kill a process with all that it has started; return the answer that it did not give."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return Answer(shown, problem=problem)
