"""Runs one program and ends it when the starter ends, in whatever way: a QEMU, a scheduler.

usage: supervisor.py [--gently SECONDS] COMMAND...

Standard library only. The first line on the standard output is the program's process number. The
program is ended when the standard input is closed, which the kernel does when the starter dies; and
it dies with this process by PR_SET_PDEATHSIG (prctl(2)). It inherits all open descriptors but the
standard input and output.

With --gently the program is interrupted first (SIGINT) and killed after so many seconds; it
inherits no descriptor and may run on any CPU. When it has ended, the last of what it wrote goes to
the standard output, and its exit status is this process's.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

PR_SET_PDEATHSIG = 1
GENTLY = "--gently"
# What is kept of a program's output. A pipe holds as much before somebody reads it (pipe(7)).
MAX_OUTPUT_BYTES = 16 * 1024
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# More than any kernel has: it takes those that there are (sched_setaffinity(2)).
_EVERY_CPU = range(8192)


def supervised(
    command: Sequence[str],
    grace_s: float | None = None,
    **options: Any,  # noqa: ANN401 - stderr, rights and other arguments of subprocess.Popen
) -> subprocess.Popen[bytes]:
    """Start a supervisor of a command, in a session of its own; `let_go` ends both.

    `grace_s` is for --gently. Raises OSError when it cannot be started.
    """
    # Imported here: the supervisor itself finds no other modules.
    from pinstudy.runners.host.starter import INSTRUMENT, marked

    options["env"] = marked(options.get("env", os.environ), INSTRUMENT)
    gently = [] if grace_s is None else [GENTLY, str(grace_s)]
    return subprocess.Popen(
        [sys.executable, "-I", __file__, *gently, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # What is behind the first line is for `let_go`.
        bufsize=0,
        start_new_session=True,
        **options,
    )


def let_go(supervisor: subprocess.Popen[bytes], limit_s: float) -> bytes:
    """End a supervisor and its program; return what it printed last.

    After `limit_s` seconds it is killed, and the kernel kills the program with it.
    """
    assert supervisor.stdin
    with supervisor:
        supervisor.stdin.close()
        supervisor.stdin = None
        try:
            said, _ = supervisor.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            return b""
    return said


def main() -> None:
    """Start the program and keep it until it ends or the starter is gone."""
    arguments, grace_s = sys.argv[1:], None
    if arguments[0] == GENTLY:
        grace_s, arguments = float(arguments[1]), arguments[2:]
    program = start(arguments, gently=grace_s is not None)
    said = bytearray()
    try:
        print(program.pid, flush=True)
        wait(program, said)
        if grace_s is not None and program.poll() is None:
            program.send_signal(signal.SIGINT)
            wait(program, said, grace_s)
    finally:
        end(program)
    if grace_s is not None:
        sys.stdout.buffer.write(said)
        status = program.returncode
        sys.exit(status if status >= 0 else 128 - status)


def start(command: Sequence[str], gently: bool = False) -> subprocess.Popen[bytes]:
    """Start the program so that it dies with this process; with `gently` its output is for `wait`.

    The starter handles a terminal's signals.
    """
    for number in _TERMINAL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    supervisor = os.getpid()
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if gently else sys.stderr,
        stderr=subprocess.STDOUT if gently else None,
        close_fds=gently,
        preexec_fn=lambda: _prepare(supervisor, gently),  # noqa: PLW1509 - no threads here
    )


def wait(
    program: subprocess.Popen[bytes], said: bytearray | None = None, limit_s: float | None = None
) -> None:
    """Wait until the program has ended, or the standard input is closed.

    With `limit_s` the standard input is not watched, and the wait ends after so many seconds.
    `said` gets the last of what the program writes meanwhile, if its output is a pipe.
    """
    ended, ours = os.pidfd_open(program.pid), sys.stdin.fileno()
    output = program.stdout.fileno() if program.stdout and said is not None else None
    until = None if limit_s is None else time.monotonic() + limit_s
    # Not select(2): whoever inherits many open files gets a number that it does not take.
    with selectors.PollSelector() as selector:
        for number in (ended, output, ours if limit_s is None else None):
            if number is not None:
                selector.register(number, selectors.EVENT_READ)
        while until is None or time.monotonic() < until:
            left_s = None if until is None else max(0.0, until - time.monotonic())
            ready = [key.fd for key, _ in selector.select(left_s)]
            if output in ready and output is not None and said is not None:
                if written := os.read(output, MAX_OUTPUT_BYTES):
                    said += written
                    del said[:-MAX_OUTPUT_BYTES]
                else:
                    selector.unregister(output)
                # Of a program that has ended the last line counts: it may have the reason.
                if ended in ready:
                    continue
            if ended in ready or (ours in ready and not os.read(ours, 4096)):
                return


def end(program: subprocess.Popen[bytes]) -> None:
    """Kill the program if it still runs, and wait until nothing of it is left."""
    program.kill()
    program.wait()


def end_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when its parent dies, which may already have died."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _prepare(parent: int, gently: bool) -> None:
    end_with_parent(parent)
    if gently:
        for number in _TERMINAL_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, _EVERY_CPU)


if __name__ == "__main__":
    main()
