"""The node's lock: one study at a time. It ends with its holder, which the kernel identifies.

The lock is a name in the kernel's table of abstract Unix sockets (unix(7)): it needs no file that
another user could plant or leave, all users share it, and the kernel removes it when its holder
ends. A process that connects gets the holder's credentials from the kernel (SO_PEERCRED).

Each network namespace has a table of its own. So a folder of the node where all users may write is
locked as well (flock(2)); containers that share neither do not exclude each other. A file in the
folder will not do: another user could plant or remove it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from base.command import output_of
from base.errors import StoppedError, StudyError
from base.text import one_line
from runners.host.processes import read_task, tick_s
from runners.host.tree import Tree

_MAX_COMMAND_CHARACTERS = 120
_MAX_COMMAND_BYTES = 4096
_COMMAND_LIMIT_S = 1.0
# In memory, cleared by a boot, writable for all (file-hierarchy(7), Filesystem Hierarchy Standard).
_FOLDERS = ("run/lock", "dev/shm")
_STICKY_SHARED = stat.S_ISVTX | 0o777
# A process that only tests the lock holds it for some microseconds.
_ATTEMPTS = 3
_PAUSE_S = 0.02
_LONG_PAUSE_S = 1.0
# A new process has its parent's files until it starts its program, which may take on a busy node.
_ORPHAN_S = 5.0


@contextmanager
def node_lock(root: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of the node whose file tree is below `root`; a recorded tree has its own.

    Waits up to `wait_s` seconds for the lock's holder. Raises StoppedError that names the holder
    when another process has it, StudyError when the node cannot be locked.
    """
    lock = _acquire(root, wait_s)
    if lock is None:
        raise StoppedError(
            f"another pinstudy is at work on this node ({_holder(root)}); two would disturb "
            "each other: wait until it has ended, or stop it"
        )
    with lock:
        yield


def is_locked(root: Path) -> bool:
    """Whether a living process holds the lock of the node."""
    lock = _acquire(root)
    if lock is None:
        return True
    lock.close()
    return False


def lock_folder(root: Path) -> Path | None:
    """Return a folder where all users may write but not remove others' files, or None."""
    for name in _FOLDERS:
        with suppress(OSError):
            mode = (root / name).stat().st_mode
            if stat.S_ISDIR(mode) and mode & _STICKY_SHARED == _STICKY_SHARED:
                return root / name
    return None


def _acquire(root: Path, wait_s: float = 0.0) -> ExitStack | None:
    """Take the lock within `wait_s` seconds; None when another process keeps it."""
    began_s = time.monotonic()
    attempts = 0
    while (lock := _take(root)) is None:
        attempts += 1
        waited_s = time.monotonic() - began_s
        over = waited_s >= wait_s
        if attempts >= _ATTEMPTS and over and (waited_s >= _ORPHAN_S or not _is_orphaned(root)):
            return None
        time.sleep(_PAUSE_S if attempts < _ATTEMPTS or over else _LONG_PAUSE_S)
    return lock


def _is_orphaned(root: Path) -> bool:
    """Whether the holder was killed and a process that it was starting still has the lock."""
    holder = _socket_holder(_name_of(root))
    if holder is None or holder[0] == 0:
        return False
    try:
        os.kill(holder[0], 0)
    except OSError as error:
        return error.errno == errno.ESRCH
    return False


def _take(root: Path) -> ExitStack | None:
    """Take both name and folder; None when another process has one of them."""
    with suppress(BlockingIOError), ExitStack() as lock:
        name = _bind(_name_of(root))
        if name is None:
            return None
        lock.enter_context(name)
        if folder := lock_folder(root):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            lock.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock.pop_all()
    return None


def _name_of(root: Path) -> bytes:
    if root == Path("/"):
        return b"\0pinstudy-node"
    found = root.stat()
    return b"\0pinstudy-node-%d-%d" % (found.st_dev, found.st_ino)


def _bind(name: bytes) -> socket.socket | None:
    """Take the name; None when another process has it, StudyError where none can be had."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(name)
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise StudyError(
            f"this node cannot be locked against another pinstudy ({error.strerror}); allow this "
            "process abstract Unix sockets"
        ) from None
    return listener


def _holder(root: Path) -> str:
    """Describe the lock's holder, as far as the kernel reports it."""
    folder = lock_folder(root)
    holder = _socket_holder(_name_of(root)) or (_flock_holder(folder) if folder else None)
    if holder is None:
        return "the kernel does not tell which process"
    pid, uid = holder
    return f"process {pid} of user {_user(uid)}{_command(pid)}"


def _socket_holder(name: bytes) -> tuple[int, int] | None:
    """Return the process and user that hold the name in this network namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        try:
            client.connect(name)
            size = struct.calcsize("3i")
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        except OSError:
            return None
    pid, uid, _ = struct.unpack("3i", credentials)
    return pid, uid


def _flock_holder(folder: Path) -> tuple[int, int] | None:
    """Return the process and user that locked the folder; None if in another PID namespace."""
    with suppress(OSError, ValueError, IndexError):
        found = folder.stat()
        inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            # `->` marks a process that waits for the lock (proc(5)).
            if fields[1] == "FLOCK" and fields[5] == inode and int(fields[4]) > 0:
                return int(fields[4]), Path(f"/proc/{fields[4]}").stat().st_uid
    return None


def _user(uid: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _command(pid: int) -> str:
    # A child reads it: a hostile holder can keep its arguments in memory that blocks every reader.
    cmdline = ["head", "-c", str(_MAX_COMMAND_BYTES), f"/proc/{pid}/cmdline"]
    text = output_of(cmdline, limit_s=_COMMAND_LIMIT_S) or ""
    task = read_task(Tree(Path("/")), pid)
    if task is None:
        return ""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - task.started * tick_s()
    started = time.localtime(time.time() - age_s)
    shown = one_line(text.replace("\0", " "), _MAX_COMMAND_CHARACTERS)
    return f", since {time.strftime('%Y-%m-%d %H:%M', started)}: {shown}"
