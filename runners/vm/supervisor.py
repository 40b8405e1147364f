"""Runs one QEMU and ends it when the starter ends, in whatever way.

usage: supervisor.py COMMAND...

Standard library only. The first line on the standard output is QEMU's process number. QEMU is
killed when the standard input is closed, which the kernel does when the starter dies; and it dies
with this process by PR_SET_PDEATHSIG (prctl(2)). QEMU inherits all open descriptors but the
standard input and output.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Start QEMU and keep it until it ends or the starter is gone."""
    qemu = start(sys.argv[1:])
    try:
        print(qemu.pid, flush=True)
        wait(qemu)
    finally:
        end(qemu)


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start QEMU so that it dies with this process; the starter handles a terminal's signals."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    supervisor = os.getpid()
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        close_fds=False,
        preexec_fn=lambda: _die_with(supervisor),  # noqa: PLW1509 - no threads here
    )


def wait(qemu: subprocess.Popen[bytes]) -> None:
    """Return when QEMU has ended or the standard input is closed."""
    ended = os.pidfd_open(qemu.pid)
    while True:
        ready, _, _ = select.select([ended, sys.stdin], [], [])
        if ended in ready or not os.read(sys.stdin.fileno(), 4096):
            return


def end(qemu: subprocess.Popen[bytes]) -> None:
    """Kill QEMU if it still runs, and wait until nothing of it is left."""
    qemu.kill()
    qemu.wait()


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, which may already have died."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
