"""Root's part of a pinstudy that a user started by sudo, and how it is asked.

pinstudy itself works with the user's rights, and cannot regain others. What needs root's, it asks
of a small process (runners/root), by a pair of sockets: a request is one object of JSON, the answer
another one, which may come with an open file. The user owns this side, so root's side believes
nothing of a request.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from base.command import without_interruption
from base.errors import SHORTAGES, ShortageError, StudyError

# A journal of 4096 CPUs with five settings each.
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# Longer than anything takes: a restore runs a site's commands, each for a minute at most.
_ANSWER_LIMIT_S = 600.0
_LENGTH = struct.Struct("=I")
_GONE = (
    "root's part of pinstudy has ended from outside: all that was measured is kept, and the next "
    "command by sudo puts back what settings it left"
)


def send_message(
    channel: socket.socket, message: Mapping[str, Any], descriptor: int | None = None
) -> None:
    """Send a message, with an open file if there is one; raises OSError when nobody reads."""
    payload = json.dumps(message).encode()
    if len(payload) > MAX_MESSAGE_BYTES:
        raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
    files = [] if descriptor is None else [descriptor]
    socket.send_fds(channel, [_LENGTH.pack(len(payload))], files)
    channel.sendall(payload)


def receive_message(
    channel: socket.socket, limit_s: float, files: int = 0
) -> tuple[dict[str, Any], int | None]:
    """Return the next message, and the open file that came with it where `files` is 1.

    Otherwise the kernel drops what was sent: a user's file may have a close that never ends. Raises
    EOFError at the end, TimeoutError where the message is not whole after `limit_s` seconds,
    ValueError for what is no object of JSON or larger than MAX_MESSAGE_BYTES; no open file is kept
    then.
    """
    deadline = time.monotonic() + limit_s
    channel.settimeout(limit_s)
    received: list[int] = []
    if files:
        head, received, _, _ = socket.recv_fds(channel, _LENGTH.size, files)
    else:
        head = channel.recv(_LENGTH.size)
    try:
        head += _received(channel, _LENGTH.size - len(head), deadline)
        (length,) = _LENGTH.unpack(head)
        if length > MAX_MESSAGE_BYTES:
            raise ValueError("a message is too long")
        message = json.loads(_received(channel, length, deadline))
        if not isinstance(message, dict):
            raise ValueError("a message is no object")
    except RecursionError:
        _close(received)
        raise ValueError("a message is nested too deeply") from None
    except BaseException:
        _close(received)
        raise
    return message, received[0] if received else None


def _received(channel: socket.socket, length: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < length:
        channel.settimeout(max(0.001, deadline - time.monotonic()))
        piece = channel.recv(min(length - len(data), 1 << 16))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class RefusedError(StudyError):
    """Root's part does not do what it was asked; the text says why."""


class RootHelper:
    """Asks root's part; one request at a time, from any thread."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}
        self._programs: dict[str, str] = {}

    def ask(self, request: str, **fields: object) -> tuple[dict[str, Any], int | None]:
        """Return the answer to a request, and the open file that came with it.

        Raises OSError where root's part met one, ShortageError for a shortage that it met,
        RefusedError with its reason where it refuses, StudyError when it has ended.
        """
        # An answer that an interruption leaves unread would be taken for the next one.
        with self._lock, without_interruption():
            try:
                send_message(self._channel, {"request": request} | fields)
                answer, received = receive_message(self._channel, _ANSWER_LIMIT_S, files=1)
            except (OSError, EOFError, ValueError):
                # The next request must not meet a late answer either.
                self._channel.close()
                raise StudyError(_GONE) from None
        if number := answer.get("errno"):
            if number in SHORTAGES:
                raise ShortageError(f"root's part could not answer: {os.strerror(number)}")
            raise OSError(number, os.strerror(number))
        if short := answer.get("short"):
            raise ShortageError(str(short))
        if refused := answer.get("refused"):
            raise RefusedError(str(refused))
        return answer, received

    def program(self, name: str) -> str:
        """Return the path of a program that root's part starts; empty where it starts none."""
        if name not in self._programs:
            try:
                self._programs[name] = self.ask("program", name=name)[0]["path"]
            except (OSError, RefusedError):
                self._programs[name] = ""
        return self._programs[name]

    def opened(self, path: str) -> int:
        """Return a descriptor of a kernel's file that root alone may read.

        It stays open: energy is read before and after each run. Raises OSError.
        """
        if path not in self._files:
            _, descriptor = self.ask("open", path=path)
            assert descriptor is not None
            self._files[path] = descriptor
        return self._files[path]

    def forget(self, path: str) -> None:
        """Close a kernel's file: its CPU may have gone, and may come back with another one."""
        if path in self._files:
            os.close(self._files.pop(path))

    def close(self) -> None:
        """Let root's part end."""
        with suppress(OSError):
            self._channel.close()
        _close(list(self._files.values()))
        self._files.clear()
