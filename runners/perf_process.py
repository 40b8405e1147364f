"""One `perf stat` attached to one program that waits before exec.

perf attaches by process number instead of starting the program itself, so that neither launchers
nor our own helper are counted, and the program's exit status is seen by its real parent. Counters
start disabled and are enabled, with perf's acknowledgement, before the program is released.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable, Sequence

ATTACH_LIMIT_S = 20.0
FINISH_LIMIT_S = 20.0

# Builds perf's command line from: process number, output path, control and acknowledge descriptors.
CommandBuilder = Callable[[int, str, int, int], Sequence[str]]


class PerfProcess:
    """A running `perf stat`; `finish` gives its output, `close` ends it in any case."""

    def __init__(self, build_command: CommandBuilder, pid: int) -> None:
        """Attach to the process; `problem` says why not, and is empty when it worked."""
        self.problem = ""
        self.command: tuple[str, ...] = ()
        self._output = os.memfd_create("perf-output")
        self._errors = os.memfd_create("perf-errors")
        control_read, control_write = os.pipe()
        ack_read, ack_write = os.pipe()
        passed = (control_read, ack_write, self._output)
        self.command = tuple(
            build_command(pid, f"/proc/self/fd/{self._output}", control_read, ack_write)
        )
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=passed,
                start_new_session=True,
                env=dict(os.environ) | {"LC_ALL": "C"},
            )
        except OSError as error:
            self.problem = f"{self.command[0]}: {error.strerror}"
        os.close(control_read)
        os.close(ack_write)
        try:
            if self._process:
                self._enable(control_write, ack_read)
        finally:
            os.close(control_write)
            os.close(ack_read)

    def _enable(self, control: int, acknowledge: int) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(control, b"enable\n")
        ready = select.select([acknowledge], [], [], ATTACH_LIMIT_S)[0]
        if ready and os.read(acknowledge, 16).startswith(b"ack"):
            return
        self._stop()
        said = " ".join(self._text(self._errors).split())
        self.problem = f"perf could not attach: {said or 'no answer'}"

    def finish(self) -> str:
        """Stop counting and return what perf wrote; empty when it never worked."""
        if self._process and not self.problem:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(FINISH_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.problem = f"perf did not end within {FINISH_LIMIT_S:g} s"
                self._stop()
                return ""
            return self._text(self._output)
        return ""

    def close(self) -> None:
        """End perf if it still runs, and free its buffers."""
        self._stop()
        for descriptor in (self._output, self._errors):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    @staticmethod
    def _text(descriptor: int) -> str:
        # perf opened the file anew, so this descriptor's own position is still at the start.
        return os.pread(descriptor, 1 << 20, 0).decode(errors="replace")
