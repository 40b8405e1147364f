"""Workers of pytest that do not meet: each on what looks to it like a node of its own.

A node measures one study at a time: its lock is a name in the network namespace and a file in a
folder of the node (runners/node_lock.py), and what studies have set is in a folder of the node too
(runners/journal.py). With a network namespace and such folders of its own, each worker has its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

# unshare(2), mount(2), netdevice(7).
_NEW_MOUNTS, _NEW_NETWORK = 0x00020000, 0x40000000
_RECURSIVE, _PRIVATE = 1 << 14, 1 << 18
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1

# For a shell in namespaces of its own, whose node's lock is then not that of others.
OWN_LOCKS = """
for folder in /run/lock /dev/shm; do
    [ ! -d $folder ] || mount -t tmpfs -o mode=1777 tmpfs $folder || exit
done
"""

_FOLDERS = ("/run/lock", "/dev/shm", "/var/lib/pinstudy")


def isolate() -> bool:
    """Give this process such a node; return whether the kernel let it, which it does for root."""
    if os.geteuid() != 0:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS | _NEW_NETWORK) != 0:
        return False
    _checked(libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None))
    for folder in _FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
        mode = f"mode={Path(folder).stat().st_mode & 0o7777:o}".encode()
        _checked(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, mode))
    _loopback_up()
    return True


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _loopback_up() -> None:
    request = struct.Struct("16sh14x")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking, _GET_FLAGS, request.pack(b"lo", 0))
        name, flags = request.unpack(answer)
        fcntl.ioctl(asking, _SET_FLAGS, request.pack(name, flags | _UP))
