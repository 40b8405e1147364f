"""Measuring goes on when stdout or stderr is closed, full or not read.

Only the records count. Text that cannot be written is dropped, and the other stream says why.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pinstudy.base.waiting import writable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STANDARD = {0: "stdin", 1: "stdout", 2: "stderr"}
# A non-blocking pipe may be full for a moment.
_WAIT_S = 1.0


class _Lenient(io.FileIO):
    """A descriptor to which every write succeeds; `lost` says why text was dropped."""

    lost = ""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write the data; count data that must be dropped as written."""
        try:
            written = super().write(data)
            if written is None and not self.lost:
                writable(self, _WAIT_S)
                written = super().write(data)
            if written is not None:
                return written
            self.lost = self.lost or "nobody reads it"
        except OSError as error:
            self.lost = error.strerror or str(error)
            # Direct writes to the descriptor, by Python or a library, must not fail either.
            with suppress(OSError):
                os.dup2(_nowhere(), self.fileno())
        return memoryview(data).nbytes


def prepare_streams(measuring: bool) -> None:
    """Let every write to stderr, and to stdout of a command that measures, succeed.

    Closed standard descriptors are opened on /dev/null: otherwise the next files would get their
    numbers, and be written to.
    """
    for number, name in _STANDARD.items():
        try:
            os.fstat(number)
        except OSError:
            # It gets the lowest free number, which is this one.
            _nowhere()
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # A caller of pinstudy as a function may have streams in memory here.
        if not isinstance(stream, io.TextIOWrapper) or isinstance(stream.buffer, io.BytesIO):
            continue
        if name == "stdout" and not measuring:
            # A character that the terminal's encoding lacks becomes a question mark.
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
    """Return why text for `stdout` or `stderr` was dropped; empty if none was."""
    stream = getattr(sys, name)
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    if not isinstance(raw, _Lenient):
        return ""
    stream.flush()
    return raw.lost


def stdin_is_file() -> bool:
    """Return whether stdin was redirected from a file."""
    return stat.S_ISREG(os.fstat(0).st_mode)


def _nowhere() -> int:
    """Return a descriptor of /dev/null that programs started by this one inherit."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    os.set_inheritable(descriptor, True)
    return descriptor
