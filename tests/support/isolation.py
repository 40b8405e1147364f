"""Isolated workers of pytest: each sees a node of its own.

A node measures one study at a time: its lock is a name in the network namespace and a file in a
folder of the node (runners/host/lock.py), the journal is in such a folder too
(runners/settings/journal.py), and a study ends the processes that a killed one left
(runners/host/interference.py). Each worker has its own namespaces and folders. Its temporary files
are in memory: to make files on a disk, and to wait until they are there, took a third of all time.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import struct
import sys
import tempfile
from pathlib import Path

from tests.support.tools import ROOT

# netdevice(7).
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1

# Commands for a shell in a mount namespace: give it its own folders of node locks.
OWN_LOCKS = """
for folder in /run/lock /dev/shm; do
    [ ! -d $folder ] || mount -t tmpfs -o mode=1777 tmpfs $folder || exit
done
"""
# This shell is the first process of its namespace: it has to wait for orphans.
_NODE = f"""{OWN_LOCKS}
mkdir -p /var/lib/pinstudy && mount -t tmpfs -o mode=755 tmpfs /var/lib/pinstudy || exit
"$@"
exit $?
"""
_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def worker() -> str:
    """Return pytest-xdist's specification of a worker in its own namespaces; it needs root."""
    # A relative path: a first process with a folder `pinstudy` in its path looks like pinstudy.
    python = os.path.relpath(sys.executable)
    start = ["sh", "-c", _temporary_files_in_memory() + _NODE, "sh", python]
    return f"popen//python={shlex.join(['unshare', *_NAMESPACES, *start])}"


def _temporary_files_in_memory() -> str:
    """Return the command for it; an empty text where the checkout itself is a temporary one."""
    folder = tempfile.gettempdir()
    if ROOT.is_relative_to(Path(folder).resolve()):
        return ""
    return f"mount -t tmpfs -o mode=1777 tmpfs {shlex.quote(folder)} || exit\n"


def loopback_up() -> None:
    """Switch on the loopback device of this network namespace; it is off at first."""
    request = struct.Struct("16sh14x")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        reply = fcntl.ioctl(device, _GET_FLAGS, request.pack(b"lo", 0))
        name, flags = request.unpack(reply)
        fcntl.ioctl(device, _SET_FLAGS, request.pack(name, flags | _UP))
