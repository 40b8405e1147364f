"""Marks the regions of a Python program that pinstudy measures one by one (docs/regions.md).

    from pinstudy_regions import region

    with region("solve"):
        ...

One file without dependencies, to be put beside the program. Without pinstudy a mark does nothing.
Mark regions in the main thread.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_VARIABLE = "PINSTUDY_REGIONS"
_MOST = 256


class _Marks:
    """The conversation with pinstudy; `connection` is None without one."""

    def __init__(self) -> None:
        text = os.environ.pop(_VARIABLE, None)
        self.connection = None  # type: socket.socket | None
        # The program runs all the same where the variable names no socket that it has.
        with suppress(OSError, ValueError, OverflowError):
            if text is not None:
                descriptor = int(text)
                os.set_inheritable(descriptor, False)
                self.connection = socket.socket(fileno=descriptor)
        self.process = os.getpid()
        self.answered_ns = 0

    def mark(self, what: str, name: str) -> None:
        """Tell pinstudy of a mark, and wait until it has read its instruments."""
        if self.connection is None:
            return
        if os.getpid() != self.process or threading.get_native_id() != self.process:
            what = "w"
        text = f"{what} {self.answered_ns} {time.monotonic_ns()} {name}"
        try:
            self.connection.send(text.encode()[:_MOST], socket.MSG_NOSIGNAL)
            answer = b"k" if what == "w" else self.connection.recv(_MOST)
        except OSError:
            answer = b""
        if not answer:
            self.connection = None
        elif answer[:1] != b"k":
            print(f"pinstudy: region {name}: {answer.decode(errors='replace')}", file=sys.stderr)
        self.answered_ns = time.monotonic_ns()


_marks = _Marks()


@contextmanager
def region(name: str) -> "Iterator[None]":
    """Mark a region with this name around the block."""
    _marks.mark("b", name)
    try:
        yield
    finally:
        _marks.mark("e", name)
