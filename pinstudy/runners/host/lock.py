"""The node's lock: one study at a time. It ends with its holder, which the kernel identifies.

The lock is a name in the kernel's table of abstract Unix sockets (unix(7)): it needs no file that
another user could plant or leave, all users share it, and the kernel removes it when its holder
ends. A process that connects gets the holder's credentials from the kernel (SO_PEERCRED).

Each network namespace has a table of its own. So the folders of the node where all users may write
are locked as well (flock(2)); containers that share none of these do not exclude each other. A file
in the folder will not do: another user could plant or remove it.

A sandbox or a file system may refuse a lock (ENOSYS, ENOLCK, EOPNOTSUPP, EIO) to one process and
grant it to another: each takes all that it can get, so that two need only one in common. Where
there are folders and none can be locked, the node is refused: the name alone would not show a study
in a container, and nobody would learn that the two have disturbed each other. A node without such
folders is locked by the name alone.

Tests of pinstudy that run side by side each name a folder of their own in $PINSTUDY_LOCK, which is
locked in place of the node, as a recorded tree is.
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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pinstudy.base.command import output_of
from pinstudy.base.errors import ShortageError, StoppedError, StudyError, is_shortage
from pinstudy.base.text import one_line
from pinstudy.runners.host.processes import read_task, tick_s
from pinstudy.runners.host.starter import LOCK_VARIABLE
from pinstudy.runners.host.tree import Tree

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
def node_lock(
    root: Path, wait_s: float = 0.0, waiting: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Hold the lock of the node whose file tree is below `root`; a recorded tree has its own.

    Waits up to `wait_s` seconds for the lock's holder, with whose description `waiting` is called
    once: to ask again and again would disturb what it measures. Raises StoppedError that names the
    holder when another process has it, StudyError when the node cannot be locked.
    """
    root = _locked(root)
    lock = _acquire(root, wait_s, waiting)
    if lock is None:
        raise StoppedError(
            f"another pinstudy is at work on this node ({_holder(root)}); two would disturb "
            "each other: wait until it has ended (`run --wait` does), or stop it"
        )
    with lock:
        yield


def is_locked(root: Path) -> bool:
    """Whether a living process holds the lock of the node."""
    lock = _acquire(_locked(root))
    if lock is None:
        return True
    lock.close()
    return False


def lock_folders(root: Path) -> list[Path]:
    """Return the folders where all users may write but not remove others' files, each once."""
    folders: dict[tuple[int, int], Path] = {}
    for name in _FOLDERS:
        with suppress(OSError):
            found = (root / name).stat()
            if stat.S_ISDIR(found.st_mode) and found.st_mode & _STICKY_SHARED == _STICKY_SHARED:
                # A process that locks a folder again by another name waits for itself.
                folders.setdefault((found.st_dev, found.st_ino), root / name)
    return list(folders.values())


def _locked(root: Path) -> Path:
    """Return the tree that is locked for a node: for this one, $PINSTUDY_LOCK if it is set."""
    name = os.environ.get(LOCK_VARIABLE)
    if not name or root != Path("/"):
        return root
    if not Path(name).is_dir():
        raise StudyError(f"${LOCK_VARIABLE}: {name} is no folder")
    return Path(name)


def _acquire(
    root: Path, wait_s: float = 0.0, waiting: Callable[[str], None] = lambda _: None
) -> ExitStack | None:
    """Take the lock within `wait_s` seconds; None when another process keeps it."""
    began_s = time.monotonic()
    attempts = 0
    told = False
    while (lock := _take(root)) is None:
        attempts += 1
        waited_s = time.monotonic() - began_s
        over = waited_s >= wait_s
        if attempts >= _ATTEMPTS and over and (waited_s >= _ORPHAN_S or not _is_orphaned(root)):
            return None
        if attempts >= _ATTEMPTS and not over and not told:
            waiting(_holder(root))
            told = True
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
    """Take the name and all folders that can be locked; None when another process has one."""
    with suppress(BlockingIOError), ExitStack() as lock:
        name = _bind(_name_of(root))
        if name is None:
            return None
        lock.enter_context(name)
        refused = [(folder, _lock(folder, lock)) for folder in lock_folders(root)]
        if refused and all(why for _, why in refused):
            folder, why = refused[0]
            raise StudyError(
                f"this node cannot be locked against another pinstudy: {folder}: {why}; allow this "
                "process to lock the folder (flock(2))"
            )
        return lock.pop_all()
    return None


def _lock(folder: Path, lock: ExitStack) -> str:
    """Lock a folder until the end of `lock`; return why that cannot be done, else an empty text.

    Raises BlockingIOError when another process has it, ShortageError where files or memory lack.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        lock.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if is_shortage(error):
            raise _short(error) from None
        return error.strerror or str(error)
    return ""


def _name_of(root: Path) -> bytes:
    if root == Path("/"):
        return b"\0pinstudy-node"
    found = root.stat()
    return b"\0pinstudy-node-%d-%d" % (found.st_dev, found.st_ino)


def _bind(name: bytes) -> socket.socket | None:
    """Take the name; None when another process has it, StudyError where none can be had."""
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        raise _not_bound(error) from None
    try:
        listener.bind(name)
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise _not_bound(error) from None
    return listener


def _not_bound(error: OSError) -> StudyError:
    if is_shortage(error):
        return _short(error)
    return StudyError(
        f"this node cannot be locked against another pinstudy ({error.strerror}); allow this "
        "process abstract Unix sockets"
    )


def _short(error: OSError) -> ShortageError:
    return ShortageError(f"this node could not be locked: {error.strerror}")


def _holder(root: Path) -> str:
    """Describe the lock's holder, as far as the kernel reports it."""
    holders = (_socket_holder(_name_of(root)), *map(_flock_holder, lock_folders(root)))
    holder = next(filter(None, holders), None)
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
        with Path("/proc/locks").open(encoding="ascii") as locks:
            for fields in map(str.split, locks):
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
