"""Controls `pinstudy-witness`, the small program that starts a program and reports its end.

The protocol is described in pinstudy/runners/witness/witness.cpp. The steps of a run:
WitnessProcess starts launcher and witness, and stops the program before exec; counters are attached
to `pid`; `go`; `wait_ended` as often as the caller looks at the program meanwhile; `reap`.

A witness adopts what its program leaves. When a witness, a launcher of MPI or a co-runner's
supervisor is killed, the kernel gives its children to the nearest ancestor that asked for them
(PR_SET_CHILD_SUBREAPER, prctl(2)), daemons in sessions of their own, too: this process, which ends
them at the run's end.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Any

from msgspec import Meta

from pinstudy.base.command import wait_for
from pinstudy.base.decoding import Amount, Count
from pinstudy.base.errors import StudyError
from pinstudy.base.text import ended_by, one_line
from pinstudy.base.waiting import readable
from pinstudy.runners.host.processes import children_of, has_died
from pinstudy.runners.host.starter import INSTRUMENT, mark_of, marked

_PR_SET_CHILD_SUBREAPER = 36
# A process in an uninterruptible wait does not end before the wait does.
_END_LIMIT_S = 2.0
_PAUSE_S = 0.001

# Global, as the children of a process are: those that it started for runs under way, and how many
# of these there are.
_own: set[int] = set()
_under_way = 0


class Strays:
    """What this process adopts from now until `end`."""

    def __init__(self) -> None:
        """Adopt orphans; the children of before are not of this run."""
        self._before = set(children_of(os.getpid()))
        self._started: set[int] = set()
        self._ended = False
        _count_runs(1)

    def keep(self, pid: int) -> None:
        """Note a child that this process has started, and waits for itself."""
        self._started.add(pid)
        _own.add(pid)

    def end(self, programs: Iterable[int] = ()) -> None:
        """Kill what was adopted, with its descendants, and wait for it; only the first time.

        `programs` are those of the run, which may have ended without a parent to wait for them.
        """
        if self._ended:
            return
        self._ended = True
        dying = set(programs)
        deadline = time.monotonic() + _END_LIMIT_S
        while (living := self._living(dying)) and time.monotonic() < deadline:
            for pid in living:
                dying.update(kill_tree(pid))
            time.sleep(_PAUSE_S)
        _own.difference_update(self._started)
        _count_runs(-1)

    def _living(self, dying: Collection[int]) -> list[int]:
        """Return the adopted children that live; wait for those that have died.

        These are of `dying`, or of the session of what was started. Another one may be somebody's
        here, who still asks how it ended.
        """
        living = []
        for pid in set(children_of(os.getpid())) - self._before - _own:
            if not has_died(pid):
                living += [pid] if _is_adopted(pid) else []
            elif pid in dying or os.getsid(pid) in self._started:
                os.waitpid(pid, os.WNOHANG)
        return living


def _is_adopted(pid: int) -> bool:
    """Return whether a child is neither a perf, which has a mark of its own, nor another user's."""
    try:
        own = (Path("/proc") / str(pid)).stat().st_uid == os.geteuid()
    except OSError:
        return False
    mark = mark_of(pid)
    return own and (mark is None or mark[1] != INSTRUMENT)


def _count_runs(change: int) -> None:
    """Adopt orphans while there are runs, and no others of this process's children."""
    global _under_way  # noqa: PLW0603 - the children of a process are global
    _under_way += change
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, int(_under_way > 0))


@cache
def _libc() -> Any:  # noqa: ANN401 - functions of the C library
    # Imported here: most commands make no runs.
    import ctypes

    return ctypes.CDLL(None)


def kill_tree(pid: int) -> list[int]:
    """Kill a process and all its descendants; return their numbers.

    All are stopped first, so that none starts others.
    """
    pids = [pid]
    for number in pids:
        send(number, signal.SIGSTOP)
        pids += children_of(number)
    for number in pids:
        send(number, signal.SIGKILL)
    return pids


def send(pid: int, number: int) -> None:
    """Signal a process, unless it is gone or is another user's."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


# likwid-pin sleeps for more than a second while it starts; a launcher that needs this long hangs.
LAUNCH_LIMIT_S = 60.0
KILL_GRACE_S = 2.0
KILL_TRIES = 5
# A report is a word and five numbers.
_MAX_REPORT = 4096
_MAX_SHOWN = 80
_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True)
class Ending:
    """How a program ended: wait(2) status, its own window and its rusage, times in seconds.

    `cpu_s` is the CPU time of the program and all its descendants. Values that only the witness
    reports are None when the witness had to be killed too.
    """

    wait_status: Annotated[int, Meta(ge=0, le=0xFFFF)]
    elapsed_s: Amount
    user_s: Amount | None
    system_s: Amount | None
    max_rss_bytes: Count | None
    exec_errno: Annotated[int, Meta(ge=0, le=0xFFFF)] | None = None
    cpu_s: Amount | None = None

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


class Witness:
    """The conversation with one witness, from the program's arguments to its end.

    `failure` returns a message when the witness has ended before its program; `started` names what
    was started, which in time becomes the witness.
    """

    def __init__(self, command: int, report: int, started: str, failure: Callable[[], str]) -> None:
        """Keep the descriptors to write commands to, and to read reports from."""
        self._command, self._report = command, report
        self._started, self._failure = started, failure
        self._buffer = b""
        self.has_ended = self.reaped = self._lost = False
        self._started_s = 0.0
        self.pid = self.witness_pid = 0
        self._exec_errno: int | None = None
        # When the program was started and when it ended, by CLOCK_MONOTONIC; 0 where not known.
        self.window_ns = (0, 0)

    @property
    def name(self) -> str:
        """The name of the started process: what was started, and after its exec the witness."""
        return "pinstudy-witness" if self.pid else self._started

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is a report."""
        return self._report

    def hand_over(self, arguments: Sequence[str]) -> None:
        """Send the program's arguments; the program waits before its exec from then on."""
        payload = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
        self._send(b"%d\n%b" % (len(payload), payload))
        self.pid, self.witness_pid = _numbers(self.expect("ready", LAUNCH_LIMIT_S), 2)

    def go(self) -> None:
        """Let the program start."""
        self._send(b"g")
        self._started_s = time.monotonic()

    def wait_ended(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` for the program's end; it stays a zombie until `reap`."""
        line = self._line(timeout_s)
        if line is None:
            return False
        if line[:1] == ["failed"]:
            (self._exec_errno,) = _numbers(line[1:], 1)
            window = self.expect("ended", KILL_GRACE_S)
        else:
            window = _values(line, "ended")
        start_ns, end_ns = _numbers(window, 2)
        self.window_ns = (start_ns, end_ns)
        self.has_ended = True
        return True

    def reap(self) -> Ending:
        """Collect the program's exit status and resource usage, as far as they are known."""
        if self._lost:
            elapsed_s = time.monotonic() - self._started_s
            return Ending(signal.SIGKILL, elapsed_s, None, None, None)
        self._send(b"r")
        status, user_us, system_us, max_rss_kb, all_us = _numbers(
            self.expect("reaped", LAUNCH_LIMIT_S), 5
        )
        self.reaped = True
        start_ns, end_ns = self.window_ns
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
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            send(self.pid, signal.SIGKILL)
            send(self.witness_pid, signal.SIGCONT)  # the program may have stopped it
            if self.wait_ended(KILL_GRACE_S):
                return
        self.lose()

    def lose(self) -> None:
        """Kill the witness with all its descendants; how the program ended is not known then."""
        if self.witness_pid:
            kill_tree(self.witness_pid)
        self.has_ended = self._lost = True

    def close(self) -> None:
        """Close the descriptors; the witness kills its program then."""
        for descriptor in {self._command, self._report}:
            with suppress(OSError):
                os.close(descriptor)

    def expect(self, word: str, timeout_s: float) -> list[str]:
        """Return the values of the next report, which must be this one; raises LaunchError."""
        line = self._line(timeout_s)
        if line is None:
            raise LaunchError(f"{self.name} did not start the program within {timeout_s:g} s")
        return _values(line, word)

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._command, data) :]
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise
            raise LaunchError(self._failure()) from None

    def _line(self, timeout_s: float) -> list[str] | None:
        """Return the next report, split at blanks, or None when none comes in time."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left = max(0.0, deadline - time.monotonic())
            if not readable([self._report], left):
                return None
            if len(self._buffer) > _MAX_REPORT:
                raise LaunchError(f"{self.name} reports a line without end")
            with suppress(ConnectionResetError):
                if data := os.read(self._report, 4096):
                    self._buffer += data
                    continue
            raise LaunchError(self._failure())
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode(errors="replace").split()


class WitnessProcess(Witness):
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
        folder: Path | None = None,
        inherited: Collection[int] = (),
    ) -> None:
        """Start launcher and witness, and stop the program before its exec.

        The program inherits these descriptors.
        """
        command_read, command = os.pipe()
        report, report_write = os.pipe()
        descriptors = (command_read, report_write, out.fileno(), err.fileno())
        words = [*launcher, str(witness), *map(str, descriptors)]
        super().__init__(command, report, words[0], self._launch_failure)
        self._log = log
        self._strays = Strays()
        try:
            passed = (*descriptors, *inherited)
            self._launcher = start_launcher(words, environment, log, log, stdin, passed, folder)
            self._strays.keep(self._launcher.pid)
        except LaunchError:
            super().close()
            self._strays.end()
            raise
        finally:
            os.close(command_read)
            os.close(report_write)
        try:
            self.hand_over(arguments)
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> tuple[int, ...]:
        """The program's process number."""
        return (self.pid,)

    @property
    def witness_pids(self) -> tuple[int, ...]:
        """The process number of the witness, the program's parent."""
        return (self.witness_pid,)

    @property
    def endings(self) -> tuple[Ending, ...]:
        """None: the program's ending is that of the run."""
        return ()

    @property
    def facts(self) -> Mapping[str, float]:
        """Nothing: its launcher becomes the witness."""
        return {}

    def close(self) -> None:
        """End all processes; when the command pipe closes, the witness kills the program."""
        super().close()
        end_launcher(self._launcher, self.witness_pids)
        self._strays.end(self.pids)

    def _launch_failure(self) -> str:
        return launch_failure(self._launcher, self.name, self._log)


def start_launcher(
    command: Sequence[str],
    environment: Mapping[str, str],
    out: IO[bytes],
    err: IO[bytes],
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    descriptors: Collection[int] = (),
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a launcher in a session of its own, in this folder if any; raises LaunchError.

    What it starts has the mark of this process (pinstudy/runners/host/starter.py).
    """
    try:
        return subprocess.Popen(
            command,
            env=marked(environment),
            stdin=stdin,
            stdout=out,
            stderr=err,
            pass_fds=tuple(descriptors),
            start_new_session=True,
            cwd=folder,
        )
    except OSError as error:
        raise LaunchError(f"cannot start {command[0]}: {error.strerror}") from error


def end_launcher(launcher: subprocess.Popen[bytes], witness_pids: Iterable[int]) -> None:
    """Wait for a launcher whose witnesses have ended, or else end it with all processes."""
    try:
        wait_for(launcher, KILL_GRACE_S)
    except subprocess.TimeoutExpired:
        for pid in filter(None, witness_pids):
            kill_tree(pid)
        with suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()


def launch_failure(launcher: subprocess.Popen[bytes], name: str, log: IO[bytes]) -> str:
    """Return how a launcher ended, or that it did not, with the beginning of what it printed."""
    with suppress(subprocess.TimeoutExpired):
        launcher.wait(KILL_GRACE_S)
    log.seek(0)
    message = one_line(log.read(2000).decode(errors="replace"), None) or "no message"
    status = launcher.returncode
    if status is None:
        return f"{name} reports nothing more, and did not end within {KILL_GRACE_S:g} s: {message}"
    how = f"was {ended_by(-status)}" if status < 0 else f"ended with status {status}"
    return f"{name} {how}: {message}"


def _values(line: list[str], word: str) -> list[str]:
    """Return the values that follow the word of a report; raises LaunchError for another word."""
    if line[:1] != [word]:
        said = one_line(" ".join(line), _MAX_SHOWN)
        raise LaunchError(f"pinstudy-witness said {said!r}, expected {word!r}")
    return line[1:]


def _numbers(values: list[str], count: int) -> list[int]:
    """Return so many numbers of a report; raises LaunchError for anything else.

    A program can write into the pipe of its witness (/proc/PID/fd).
    """
    if len(values) != count or not all(_NUMBER.fullmatch(value) for value in values):
        said = one_line(" ".join(values), _MAX_SHOWN)
        raise LaunchError(f"pinstudy-witness said {said!r}, expected {count} numbers")
    return [int(value) for value in values]
