"""Controls `pinstudy-witness`, the small program that starts a program and reports its end.

The protocol is described in runners/witness/witness.cpp. The steps of a run: WitnessProcess starts
launcher and witness, and stops the program before exec; counters are attached to `pid`; `go`;
`wait_ended` as often as the caller looks at the program meanwhile; `reap`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from base.command import wait_for
from base.errors import StudyError
from base.text import ended_by, one_line

# likwid-pin sleeps for more than a second while it starts; a launcher that needs this long hangs.
LAUNCH_LIMIT_S = 60.0
KILL_GRACE_S = 2.0
KILL_TRIES = 5


@dataclass(frozen=True)
class Ending:
    """How a program ended: wait(2) status, its own window and its rusage, times in seconds.

    `cpu_s` is the CPU time of the program and all its descendants. Values that only the witness
    reports are None when the witness had to be killed too.
    """

    wait_status: int
    elapsed_s: float
    user_s: float | None
    system_s: float | None
    max_rss_bytes: int | None
    exec_errno: int | None = None
    cpu_s: float | None = None

    @property
    def system_share(self) -> float | None:
        """The kernel's share of the program's CPU time; None when not known."""
        if self.user_s is None or self.system_s is None or not self.user_s + self.system_s:
            return None
        return self.system_s / (self.user_s + self.system_s)

    @property
    def exit_code(self) -> int | None:
        """The exit status, or None when a signal ended the program."""
        return os.WEXITSTATUS(self.wait_status) if os.WIFEXITED(self.wait_status) else None

    @property
    def signal(self) -> int | None:
        """The signal that ended the program, or None."""
        return os.WTERMSIG(self.wait_status) if os.WIFSIGNALED(self.wait_status) else None


class LaunchError(StudyError):
    """The launcher ended, or hung, before the program could be started."""


class WitnessProcess:
    """One run's launcher, witness and program; `close` leaves no process behind."""

    def __init__(
        self,
        witness: Path,
        launcher: Sequence[str],
        arguments: Sequence[str],
        environment: Mapping[str, str],
        out: IO[bytes],
        err: IO[bytes],
        log: IO[bytes],
        stdin: IO[bytes] | int = subprocess.DEVNULL,
    ) -> None:
        """Start launcher and witness, and stop the program before its exec."""
        command_read, self._command = os.pipe()
        self._report, report_write = os.pipe()
        descriptors = (command_read, report_write, out.fileno(), err.fileno())
        command = [*launcher, str(witness), *map(str, descriptors)]
        try:
            self._launcher = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=stdin,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._command)
            os.close(self._report)
            raise LaunchError(f"cannot start {command[0]}: {error.strerror}") from error
        finally:
            os.close(command_read)
            os.close(report_write)
        self._started, self._log = command[0], log
        self._buffer = b""
        self._reaped = self._lost = False
        self._started_s = 0.0
        self.pid = self.witness_pid = 0
        self._exec_errno: int | None = None
        self._window_ns = (0, 0)
        payload = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
        try:
            self._send(b"%d\n%b" % (len(payload), payload))
            self.pid, self.witness_pid = map(int, self._expect("ready", LAUNCH_LIMIT_S))
        except BaseException:
            self.close()
            raise

    def go(self) -> None:
        """Let the program start."""
        self._send(b"g")
        self._started_s = time.monotonic()

    def wait_ended(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` for the program's end; it stays a zombie until `reap`."""
        line = self._line(timeout_s)
        if line is None:
            return False
        if line[0] == "failed":
            self._exec_errno = int(line[1])
            window = self._expect("ended", KILL_GRACE_S)
        else:
            window = _values(line, "ended")
        self._window_ns = (int(window[0]), int(window[1]))
        return True

    def reap(self) -> Ending:
        """Collect the program's exit status and resource usage, as far as they are known."""
        if self._lost:
            elapsed_s = time.monotonic() - self._started_s
            return Ending(signal.SIGKILL, elapsed_s, None, None, None)
        self._send(b"r")
        status, user_us, system_us, max_rss_kb, all_us = map(
            int, self._expect("reaped", LAUNCH_LIMIT_S)
        )
        self._reaped = True
        start_ns, end_ns = self._window_ns
        return Ending(
            wait_status=status,
            elapsed_s=(end_ns - start_ns) / 1e9 if start_ns else 0.0,
            user_s=user_us / 1e6,
            system_s=system_us / 1e6,
            max_rss_bytes=max_rss_kb * 1024,
            exec_errno=self._exec_errno,
            cpu_s=all_us / 1e6,
        )

    def kill(self) -> None:
        """Kill the program until its witness reports the end, else both with all descendants."""
        for _ in range(KILL_TRIES):
            # The program may have left its process group.
            _signal(self.pid, signal.SIGKILL, os.killpg)
            _signal(self.pid, signal.SIGKILL)
            _signal(self.witness_pid, signal.SIGCONT)  # the program may have stopped it
            if self.wait_ended(KILL_GRACE_S):
                return
        _kill_tree(self.witness_pid)
        self._lost = True

    def close(self) -> None:
        """End all processes; when the command pipe closes, the witness kills the program."""
        for descriptor in (self._command, self._report):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        try:
            wait_for(self._launcher, KILL_GRACE_S)
        except subprocess.TimeoutExpired:
            if self.witness_pid:
                _kill_tree(self.witness_pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._launcher.pid, signal.SIGKILL)
            self._launcher.wait()
        if not self._reaped:
            _kill_session(self._launcher.pid)

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._command, data) :]
        except BrokenPipeError:
            raise LaunchError(self._launch_failure()) from None

    def _expect(self, word: str, timeout_s: float) -> list[str]:
        line = self._line(timeout_s)
        if line is None:
            raise LaunchError(f"{self._name()} did not start the program within {timeout_s:g} s")
        return _values(line, word)

    def _line(self, timeout_s: float) -> list[str] | None:
        """Return the next report, split at blanks, or None when none comes in time."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._report], [], [], left)[0]:
                return None
            data = os.read(self._report, 4096)
            if not data:
                raise LaunchError(self._launch_failure())
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode().split()

    def _name(self) -> str:
        """Return the name of the started process: the launcher, and after its exec the witness."""
        return "pinstudy-witness" if self.pid else self._started

    def _launch_failure(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._launcher.wait(KILL_GRACE_S)
        self._log.seek(0)
        message = one_line(self._log.read(2000).decode(errors="replace"), None)
        status = self._launcher.returncode
        if status is not None and status < 0:
            return f"{self._name()} was {ended_by(-status)}: {message or 'no message'}"
        return f"{self._name()} ended with status {status}: {message or 'no message'}"


def _values(line: list[str], word: str) -> list[str]:
    """Return the values that follow the word of a report; raises LaunchError for another word."""
    if line[0] != word:
        raise LaunchError(f"pinstudy-witness said {' '.join(line)!r}, expected {word!r}")
    return line[1:]


def _signal(pid: int, number: int, send: Callable[[int, int], None] = os.kill) -> None:
    """Signal a process, unless it is gone or is another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(pid, number)


def _kill_tree(pid: int) -> None:
    """Kill a process and all its descendants; all are stopped first, so that none starts others."""
    pids = [pid]
    for one in pids:
        _signal(one, signal.SIGSTOP)
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                pids.extend(map(int, children.read_text().split()))
    for one in pids:
        _signal(one, signal.SIGKILL)


def _kill_session(session: int) -> None:
    """Kill the rest of the session of a witness that was killed from outside.

    The kernel kills the program with its witness, but not the program's children.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(int(folder.name)) == session:
                os.kill(int(folder.name), signal.SIGKILL)
