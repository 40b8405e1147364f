"""Root's part of a pinstudy that a user started by sudo, and how it is asked.

pinstudy itself works with the user's rights, and cannot regain others. What needs root's, it asks
of a small process (pinstudy/runners/root). A request is one object of JSON, and comes by a pipe,
which takes no open files: the close of a user's file may never end. The answer is another one, by a
socket that takes nothing from the user, and may come with an open file. The user owns this side, so
root's side believes nothing of a request.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pinstudy.base.command import without_interruption
from pinstudy.base.errors import SHORTAGES, ShortageError, StudyError
from pinstudy.base.waiting import readable

# A journal of 4096 CPUs with five settings each.
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# Longer than anything takes: a restore runs a site's commands, each for a minute at most.
_ANSWER_LIMIT_S = 600.0
_LENGTH = struct.Struct("=I")
_GONE = (
    "root's part of pinstudy has ended from outside: all that was measured is kept, and the next "
    "command by sudo puts back what settings it left"
)


def write_message(requests: int, message: Mapping[str, Any]) -> None:
    """Write a request to a pipe; raises OSError when nobody reads."""
    data = _framed(message)
    while data:
        data = data[os.write(requests, data) :]


def read_message(requests: int, limit_s: float) -> dict[str, Any]:
    """Return the next request of a pipe.

    Raises EOFError at the end, TimeoutError where it is not whole after `limit_s` seconds,
    ValueError for what is no object of JSON or larger than MAX_MESSAGE_BYTES.
    """
    deadline = time.monotonic() + limit_s

    def read(length: int) -> bytes:
        if not readable([requests], max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        return os.read(requests, length)

    return _message(read)


def send_answer(
    answers: socket.socket, message: Mapping[str, Any], descriptor: int | None = None
) -> None:
    """Send an answer, with an open file if there is one; raises OSError when nobody reads."""
    data = _framed(message)
    socket.send_fds(answers, [data[: _LENGTH.size]], [] if descriptor is None else [descriptor])
    answers.sendall(data[_LENGTH.size :])


def receive_answer(answers: socket.socket) -> tuple[dict[str, Any], int | None]:
    """Return the next answer, and the open file that came with it, if one did.

    Raises as `read_message` does; no open file is kept then.
    """
    head, files, _, _ = socket.recv_fds(answers, _LENGTH.size, 1)

    def read(length: int) -> bytes:
        nonlocal head
        piece, head = (head[:length], head[length:]) if head else (answers.recv(length), b"")
        return piece

    try:
        return _message(read), files[0] if files else None
    except BaseException:
        _close(files)
        raise


def _framed(message: Mapping[str, Any]) -> bytes:
    payload = json.dumps(message).encode()
    if len(payload) > MAX_MESSAGE_BYTES:
        raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
    return _LENGTH.pack(len(payload)) + payload


def _message(read: Callable[[int], bytes]) -> dict[str, Any]:
    (length,) = _LENGTH.unpack(_whole(read, _LENGTH.size))
    if length > MAX_MESSAGE_BYTES:
        raise ValueError("a message is too long")
    try:
        message = json.loads(_whole(read, length))
    except RecursionError:
        raise ValueError("a message is nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("a message is no object")
    return message


def _whole(read: Callable[[int], bytes], length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = read(min(length - len(data), 1 << 16))
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

    def __init__(self, requests: int, answers: socket.socket) -> None:
        """Keep this side of the pipe for requests, and of the sockets for answers."""
        self._requests, self._answers = requests, answers
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}
        self._programs: dict[str, str] = {}
        answers.settimeout(_ANSWER_LIMIT_S)

    def ask(self, request: str, **fields: object) -> tuple[dict[str, Any], int | None]:
        """Return the answer to a request, and the open file that came with it.

        Raises OSError where root's part met one, ShortageError for a shortage that it met,
        RefusedError with its reason where it refuses, StudyError when it has ended.
        """
        # An answer that an interruption leaves unread would be taken for the next one.
        with self._lock, without_interruption():
            try:
                write_message(self._requests, {"request": request} | fields)
                answer, received = receive_answer(self._answers)
            except (OSError, EOFError, ValueError):
                # The next request must not meet a late answer either.
                self._hang_up()
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
        self._hang_up()
        _close(list(self._files.values()))
        self._files.clear()

    def _hang_up(self) -> None:
        if self._requests >= 0:
            os.close(self._requests)
        self._requests = -1
        self._answers.close()
