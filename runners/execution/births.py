"""Tells at once when a program starts threads or children, where the kernel permits that.

Events come from the kernel's process events connector (Linux drivers/connector/cn_proc.c,
include/uapi/linux/cn_proc.h and connector.h). It answers in the first network, process and user
name spaces only, and before Linux 6.6 only to a process with CAP_NET_ADMIN.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Collection, Iterable
from types import TracebackType

_NETLINK_CONNECTOR = 11
_GROUP = 1
_DONE = 3
# nlmsghdr, then cn_msg: the connector's index and value, sequence, acknowledgement, length, flags.
_HEAD = struct.Struct("=IHHII IIIIHH")
_LISTEN = 1
# Of a proc_event: what, CPU, time stamp; then the parent's and the child's thread and process.
_EVENT = struct.Struct("=IIQ IIII")
_ANSWER = struct.Struct("=IIQ I")
_NOTHING, _FORK = 0, 1
# A node on which a large program is built starts some thousand processes a second.
_BUFFER_BYTES = 1 << 20
_ANSWER_LIMIT_S = 0.2
# Beyond this many nothing can be said of single threads.
_MAX_UNMET = 4096


class Births:
    """The births of threads and processes among a program's descendants.

    `told` is False where the kernel does not say, or has said more than could be heard.
    """

    def __init__(self, pids: Collection[int]) -> None:
        """Follow these processes and all that they start from now on."""
        self._followed = set(pids)
        self._unmet: set[int] = set()
        self._socket = _connect()
        self.told = self._socket is not None

    def __enter__(self) -> Births:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._socket:
            self._socket.close()

    def hear(self) -> bool:
        """Take what the kernel has said; return whether a thread of the program was born."""
        born = False
        while self.told and self._socket:
            try:
                message = self._socket.recv(4096)
            except BlockingIOError:
                break
            except OSError:  # ENOBUFS: events were lost
                self.told = False
                break
            born = self._take(message) or born
        return born

    def met(self, tids: Iterable[int]) -> None:
        """These threads were looked at."""
        self._unmet.difference_update(tids)

    @property
    def unmet(self) -> int | None:
        """How many threads were born that nobody has looked at; None where births are not told."""
        return len(self._unmet) if self.told else None

    def _take(self, message: bytes) -> bool:
        if len(message) < _HEAD.size + _EVENT.size:
            return False
        what, *_, parent, thread, process = _EVENT.unpack_from(message, _HEAD.size)
        # The parent of a thread is told to be that of its process.
        if what != _FORK or self._followed.isdisjoint((parent, process)):
            return False
        self._followed.add(process)
        self._unmet.add(thread)
        self.told = len(self._unmet) <= _MAX_UNMET
        return True


def _connect() -> socket.socket | None:
    """Return a socket on which the kernel tells of processes, or None where it does not."""
    try:
        connection = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_CONNECTOR)
    except OSError:
        return None
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            connection.bind((0, _GROUP))
            connection.send(_listen())
        except OSError:
            return None
        if not _is_answered(connection):
            return None
        connection.setblocking(False)
        undo.pop_all()
        return connection
    return None


def _listen() -> bytes:
    body = struct.pack("=I", _LISTEN)
    head = (_HEAD.size + len(body), _DONE, 0, 0, os.getpid(), _GROUP, 1, 0, 0, len(body), 0)
    return _HEAD.pack(*head) + body


def _is_answered(connection: socket.socket) -> bool:
    """Say whether the kernel takes the request: it is silent in another name space."""
    connection.settimeout(_ANSWER_LIMIT_S)
    with contextlib.suppress(OSError):
        # Events of other processes may come before the answer.
        for _ in range(1000):
            message = connection.recv(4096)
            if len(message) >= _HEAD.size + _ANSWER.size:
                what, *_, error = _ANSWER.unpack_from(message, _HEAD.size)
                if what == _NOTHING:
                    return int(error) == 0
    return False
