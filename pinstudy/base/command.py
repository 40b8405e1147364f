"""Run a command of the system within limits, and report how it ended."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pinstudy.base.errors import ShortageError, reports_shortage
from pinstudy.base.text import one_line, printable
from pinstudy.base.waiting import readable

# These commands do little more than load libraries; one that needs this long hangs.
LIMIT_S = 10.0
# PBS prints the most of all batch systems: two megabytes for a thousand jobs.
MAX_BYTES = 16 * 1024 * 1024
_PIECE = 65536
# Signals that stop a study as Ctrl-C does: the run in flight is recorded and its processes ended.
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A batch system's limits stop a worker so; by an alarm an interruption that was lost comes again.
_HELD_BACK = (*STOPPING, signal.SIGALRM, signal.SIGXCPU)
_NOT_STARTED = "cannot be started: "
# From SIGKILL to the end; the kernel may first have to free much memory.
_END_LIMIT_S = 5.0
# Those that were left behind; each is reaped when it has ended.
_left: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class CommandResult:
    """How a command ended; `problem` has the reason if it did not end by itself, else it is empty.

    `command` is the command line as a user types it; `started` says whether it was started.
    """

    command: str
    status: int = 0
    stdout: str = ""
    stderr: str = ""
    problem: str = ""
    started: bool = True

    @property
    def failed(self) -> bool:
        """Whether the command did not end, or ended with an exit status other than 0."""
        return bool(self.problem) or self.status != 0

    @property
    def error(self) -> str:
        """What went wrong, in one line, with the command's own message if it printed one."""
        if self.problem:
            return f"`{self.command}` {self.problem}"
        words = one_line(self.stderr) or one_line(self.stdout) or "no message"
        return f"`{self.command}` ended with status {self.status}: {words}"

    @property
    def killed(self) -> bool:
        """Whether something else killed it, such as the kernel for lack of memory."""
        return not self.problem and self.status == -signal.SIGKILL

    @property
    def shortage(self) -> str:
        """What the host lacked, in the words of the system or the command; empty if nothing.

        A shell that cannot fork goes on, waits, or says more after that.
        """
        if not self.failed:
            return ""
        lines = (self.problem.removeprefix(_NOT_STARTED), *self.stderr.splitlines())
        return printable(next(filter(reports_shortage, lines), ""))


def run(
    command: Sequence[str],
    limit_s: float = LIMIT_S,
    *,
    environment: Mapping[str, str] | None = None,
    read: Path | None = None,
    write: IO[bytes] | None = None,
    **rights: Any,  # noqa: ANN401 - user, group and other arguments of subprocess.Popen
) -> CommandResult:
    """Run a command and return how it ended; never raises for what the command does.

    Its stdin is the file `read`, or empty; its stdout goes to `write`, or into the result. After
    `limit_s` seconds, or more than MAX_BYTES of output for the result, its process group is killed;
    one that cannot be, as another user's behind sudo(8), is left behind.
    """
    _left[:] = [process for process in _left if process.poll() is None]
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
        problem = _NOT_STARTED + _start_problem(command, read, error)
        return CommandResult(shown, problem=problem, started=False)
    try:
        return _result_of(process, shown, limit_s)
    except BaseException:
        _kill(process)
        raise
    finally:
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
        if process.returncode is None:
            _left.append(process)


def _start_problem(command: Sequence[str], read: Path | None, error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return str(error)
    if read and error.filename == str(read):
        return f"{read} cannot be read: {error.strerror}"
    if isinstance(error, FileNotFoundError) and "/" not in command[0]:
        return f"there is no {command[0]} on the PATH"
    return error.strerror or str(error)


def _result_of(process: subprocess.Popen[bytes], shown: str, limit_s: float) -> CommandResult:
    """Read what a process prints until it ends; kill it at a limit."""
    stdout, stderr = bytearray(), bytearray()
    texts = {process.stdout: stdout, process.stderr: stderr}
    deadline = time.monotonic() + limit_s
    problem = _read({stream: text for stream, text in texts.items() if stream}, deadline, limit_s)
    if not problem:
        try:
            wait_for(process, max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            problem = f"did not end within {limit_s:g} s"
    if problem and not _kill(process):
        problem += ", and cannot be ended"
    printed, errors = (text.decode(errors="replace") for text in (stdout, stderr))
    if problem:
        return CommandResult(shown, stderr=errors, problem=problem)
    return CommandResult(shown, process.returncode, printed, errors)


def _read(texts: Mapping[IO[bytes], bytearray], deadline: float, limit_s: float) -> str:
    """Append each stream to its text until all are closed; return why reading stopped early."""
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


def _kill(process: subprocess.Popen[bytes]) -> bool:
    """Kill a process and its group; return whether it has ended."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        wait_for(process, _END_LIMIT_S)
    return process.returncode is not None


def output_of(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
    with_stderr: bool = False,
) -> str | None:
    """Return what a command prints on stdout, or None when it cannot be started, hangs or fails.

    It hangs after `limit_s` seconds. With `with_stderr` its stderr is appended. Raises
    ShortageError when the host lacks what a process needs, which is not the command's fault.
    """
    answer = ask(command, limit_s, environment=environment)
    if answer.problem or answer.status != 0:
        return None
    return answer.stdout + (answer.stderr if with_stderr else "")


def ask(
    command: Sequence[str],
    limit_s: float = LIMIT_S,
    *,
    environment: Mapping[str, str] | None = None,
    **rights: Any,  # noqa: ANN401 - as for `run`
) -> CommandResult:
    """Run a command whose answer is kept, as `run` does; once more if it was killed.

    Raises ShortageError when it failed because the host lacks a process, an open file or memory, or
    was killed again: what it would have said must not be taken for something else later.
    """
    answer = run(command, limit_s, environment=environment, **rights)
    if answer.killed:
        answer = run(command, limit_s, environment=environment, **rights)
    if shortage := answer.shortage or ("it was killed twice" if answer.killed else ""):
        raise ShortageError(f"{command[0]} could not be asked: {shortage}")
    return answer


@contextlib.contextmanager
def without_interruption() -> Iterator[None]:
    """Block the signals that stop a study, in this thread, until the end of the context.

    A thread that starts in it never takes one; any other would, and Python would still interrupt
    the main thread.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait_for(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Wait for a child's end; raises subprocess.TimeoutExpired after `limit_s` seconds."""
    # Without pidfd_open(2) (Linux before 5.3, or a sandbox) Popen.wait polls instead.
    with contextlib.suppress(OSError):
        if process.returncode is None:
            descriptor = os.pidfd_open(process.pid)
            try:
                readable([descriptor], limit_s)
            finally:
                os.close(descriptor)
            limit_s = 0
    process.wait(limit_s)
