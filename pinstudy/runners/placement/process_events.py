"""Reports new threads and children of a program at once, where the kernel permits that.

Events come from the kernel's process events connector (Linux drivers/connector/cn_proc.c,
include/uapi/linux/cn_proc.h and connector.h). It serves only the initial network, process and user
namespaces, and before Linux 6.6 only processes with CAP_NET_ADMIN.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterable

_NETLINK_CONNECTOR = 11
_GROUP = 1
_DONE = 3
# nlmsghdr, then cn_msg: the connector's index and value, sequence, acknowledgement, length, flags.
_HEAD = struct.Struct("=IHHII IIIIHH")
_ACKNOWLEDGEMENT = 8
_LISTEN = 1
# proc_event: type, CPU, time stamp; then thread and process of the parent and of the child.
_EVENT = struct.Struct("=IIQ IIII")
_ANSWER = struct.Struct("=IIQ I")
_NOTHING, _FORK = 0, 1
# The build of a large program starts some thousand processes a second.
_BUFFER_BYTES = 1 << 20
_ANSWER_LIMIT_S = 0.2
# More threads than this are not tracked one by one.
_MAX_BORN = 1 << 16


class ProcessEvents:
    """Counts new threads and processes among a program's descendants."""

    def __init__(self, pids: Collection[int]) -> None:
        """Follow these processes and all their future descendants."""
        self._followed = set(pids)
        self._born: set[int] = set()
        self._socket = _connect()
        # False when the kernel sends no events, has dropped some, or too many threads.
        self._complete = self._socket is not None

    def __enter__(self) -> ProcessEvents:
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket:
            self._socket.close()

    def read(self) -> bool:
        """Read the pending events; return whether the program has started a thread."""
        started = False
        while self._complete and self._socket:
            try:
                message = self._socket.recv(4096)
            except BlockingIOError:
                break
            except OSError:  # ENOBUFS: events were lost
                self._complete = False
                break
            started = self._handle(message) or started
        return started

    def unmet(self, tids: Iterable[int]) -> int | None:
        """Return how many new threads are not among `tids`; None if births are not reported."""
        return len(self._born.difference(tids)) if self._complete else None

    def _handle(self, message: bytes) -> bool:
        if len(message) < _HEAD.size + _EVENT.size:
            return False
        event, *_, parent, thread, process = _EVENT.unpack_from(message, _HEAD.size)
        # For a new thread, the kernel reports the parent of its process.
        if event != _FORK or self._followed.isdisjoint((parent, process)):
            return False
        self._followed.add(process)
        self._born.add(thread)
        self._complete = len(self._born) <= _MAX_BORN
        return True


def _connect() -> socket.socket | None:
    """Return a socket that receives process events, or None if the kernel sends none."""
    try:
        connection = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_CONNECTOR)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        connection.bind((0, _GROUP))
        number = secrets.randbits(32)
        body = struct.pack("=I", _LISTEN)
        head = (_HEAD.size + len(body), _DONE, 0, 0, os.getpid(), _GROUP, 1, 0, number)
        connection.send(_HEAD.pack(*head, len(body), 0) + body)
        if is_answered(connection, number):
            connection.setblocking(False)
            return connection
    connection.close()
    return None


def is_answered(
    connection: socket.socket, number: int, clock: Callable[[], float] = time.monotonic
) -> bool:
    """Return whether the kernel accepts in time the request that has this acknowledgement number.

    In other namespaces it ignores the request, but the answers to other programs arrive here too:
    the kernel sends each to all listeners, with the request's number plus 1 (cn_proc_ack). Raises
    OSError when messages were lost.
    """
    deadline = clock() + _ANSWER_LIMIT_S
    # One deadline for all messages: events of other processes come before the answer, without end
    # on a busy node.
    while (left_s := deadline - clock()) > 0:
        connection.settimeout(left_s)
        try:
            message = connection.recv(4096)
        except TimeoutError:
            break
        if len(message) >= _HEAD.size + _ANSWER.size:
            acknowledged = _HEAD.unpack_from(message)[_ACKNOWLEDGEMENT]
            event, *_, error = _ANSWER.unpack_from(message, _HEAD.size)
            if event == _NOTHING and acknowledged == (number + 1) % (1 << 32):
                return int(error) == 0
    return False
