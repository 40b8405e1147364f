"""stdout and stderr that are closed, full or read by nobody: measuring goes on without them.

Records are what counts. What could not be said is dropped, and why is said on the other stream.
"""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STANDARD = {0: "stdin", 1: "stdout", 2: "stderr"}
# A pipe that must not block its writer may be full for a moment.
_WAIT_S = 1.0


class _Lenient(io.FileIO):
    """A descriptor that takes whatever is written; `lost` says why it is going nowhere."""

    lost = ""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written and count all of it as such."""
        try:
            written = super().write(data)
            if written is None and not self.lost:
                select.select([], [self], [], _WAIT_S)
                written = super().write(data)
            if written is not None:
                return written
            self.lost = self.lost or "nobody reads it"
        except OSError as error:
            self.lost = error.strerror or str(error)
            # What Python or a library writes by itself must not fail either.
            with suppress(OSError):
                os.dup2(_nowhere(), self.fileno())
        return memoryview(data).nbytes


def prepare_streams(measuring: bool) -> None:
    """Let stderr, and stdout of a command that measures, take whatever is written.

    Standard descriptors that are closed are opened on /dev/null: the next files would have their
    numbers, and be written to.
    """
    for number, name in _STANDARD.items():
        try:
            os.fstat(number)
        except OSError:
            # It gets the lowest number that is free.
            _nowhere()
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # Who calls pinstudy as a function may have streams in memory there.
        if not isinstance(stream, io.TextIOWrapper) or isinstance(stream.buffer, io.BytesIO):
            continue
        if name == "stdout" and not measuring:
            # A terminal that lacks a sign gets a question mark for it.
            stream.reconfigure(errors="replace")
            continue
        lenient = io.TextIOWrapper(
            io.BufferedWriter(_Lenient(stream.fileno(), "w", closefd=False)),
            encoding=stream.encoding,
            errors="replace",
            line_buffering=stream.line_buffering,
        )
        setattr(sys, name, lenient)


def lost_reason(name: str) -> str:
    """Return why what was written to `stdout` or `stderr` has gone nowhere; empty if it has not."""
    stream = getattr(sys, name)
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    if not isinstance(raw, _Lenient):
        return ""
    stream.flush()
    return raw.lost


def _nowhere() -> int:
    """Return a descriptor of /dev/null that programs started by this one inherit."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    os.set_inheritable(descriptor, True)
    return descriptor
