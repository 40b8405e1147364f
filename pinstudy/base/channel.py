"""JSON objects, one per line, over a byte stream whose other side is not trusted.

What a peer sends is bounded in size and in time, and never more than data.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

from pinstudy.base.waiting import readable, writable

# The other side reads at once, unless it hangs.
SEND_LIMIT_S = 60.0
# Room for a program's kept stdout and stderr, escaped.
MAX_BYTES = 16 * 1024 * 1024


class ChannelError(Exception):
    """The other side has closed the channel, or sent a message that cannot be read."""


class Channel:
    """Both directions of the stream, or one of them, over a descriptor that its owner closes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = b""

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; raises ChannelError when the other side is gone or does not read."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                if not writable(self._descriptor, SEND_LIMIT_S):
                    raise ChannelError(f"took nothing for {SEND_LIMIT_S:g} s")
                # A pipe that is ready takes PIPE_BUF bytes without blocking (pipe(7)).
                data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        except OSError as error:
            raise ChannelError(error.strerror) from error

    def receive(self, timeout_s: float | None = None) -> dict[str, Any] | None:
        """Return the next message, or None when none comes within `timeout_s` seconds.

        Raises ChannelError when the other side has closed the stream, or sends anything but
        JSON objects of at most MAX_BYTES.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._received:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not readable([self._descriptor], left):
                return None
            self._received += self._read()
        line, _, self._received = self._received.partition(b"\n")
        return _parsed(line)

    def _read(self) -> bytes:
        try:
            more = os.read(self._descriptor, 1 << 16)
        except OSError as error:
            raise ChannelError(error.strerror) from error
        if not more:
            raise ChannelError("closed")
        if len(self._received) > MAX_BYTES:
            raise ChannelError(f"a message of more than {MAX_BYTES} bytes")
        return more


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise ChannelError(f"said {line[:80]!r}, which is no JSON object")
    return message
