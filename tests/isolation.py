"""Workers of pytest that do not meet: each on what looks to it like a node of its own.

A node measures one study at a time: its lock is a name in the network namespace and a file in a
folder of the node (runners/host/lock.py), what studies have set is in a folder of the node too
(runners/settings/journal.py), and what a killed one has left running is ended by the next
(runners/host/orphans.py). With namespaces and such folders of its own, each worker has its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

# netdevice(7).
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1

# The shell is the first process of its namespace, which has to wait for what others leave.
_NODE = "unshare --net --mount --pid --fork --kill-child --mount-proc sh -c '\"$@\"; exit $?' sh"

# For a shell in namespaces of its own, whose node's lock is then not that of others.
OWN_LOCKS = """
for folder in /run/lock /dev/shm; do
    [ ! -d $folder ] || mount -t tmpfs -o mode=1777 tmpfs $folder || exit
done
"""

_FOLDERS = ("/run/lock", "/dev/shm", "/var/lib/pinstudy")


def worker() -> str:
    """Return what pytest-xdist starts for a worker in namespaces of its own, which root may."""
    # By its name from here: a first process of which a folder is called pinstudy looks like one.
    return f"popen//python={_NODE} {os.path.relpath(sys.executable)}"


def isolate() -> None:
    """Give this process, in such namespaces, folders and a loopback device of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    for folder in _FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
        mode = f"mode={Path(folder).stat().st_mode & 0o7777:o}".encode()
        _checked(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, mode))
    _loopback_up()


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _loopback_up() -> None:
    request = struct.Struct("16sh14x")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking, _GET_FLAGS, request.pack(b"lo", 0))
        name, flags = request.unpack(answer)
        fcntl.ioctl(asking, _SET_FLAGS, request.pack(name, flags | _UP))
