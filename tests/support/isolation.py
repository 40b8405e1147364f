"""Workers of pytest that do not meet: each on what looks to it like a node of its own.

A node measures one study at a time: its lock is a name in the network namespace and a file in a
folder of the node (runners/host/lock.py), what studies have set is in a folder of the node too
(runners/settings/journal.py), and what a killed one has left running is ended by the next
(runners/host/interference.py). With namespaces and such folders of its own, each worker has its
own.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import struct
import sys

# netdevice(7).
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1

# For a shell in namespaces of its own, whose node's lock is then not that of others.
OWN_LOCKS = """
for folder in /run/lock /dev/shm; do
    [ ! -d $folder ] || mount -t tmpfs -o mode=1777 tmpfs $folder || exit
done
"""
# This shell is the first process of its namespace, and has to wait for what others leave.
_NODE = f"""{OWN_LOCKS}
mkdir -p /var/lib/pinstudy && mount -t tmpfs -o mode=755 tmpfs /var/lib/pinstudy || exit
"$@"
exit $?
"""
_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def worker() -> str:
    """Return what pytest-xdist starts for a worker in namespaces of its own, which root may."""
    # By its name from here: a first process of which a folder is called pinstudy looks like one.
    python = os.path.relpath(sys.executable)
    return f"popen//python={shlex.join(['unshare', *_NAMESPACES, 'sh', '-c', _NODE, 'sh', python])}"


def loopback_up() -> None:
    """Switch on the loopback device of this network namespace, where it is off at first."""
    request = struct.Struct("16sh14x")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking, _GET_FLAGS, request.pack(b"lo", 0))
        name, flags = request.unpack(answer)
        fcntl.ioctl(asking, _SET_FLAGS, request.pack(name, flags | _UP))
