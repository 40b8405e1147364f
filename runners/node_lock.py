"""One study at a time on a node: a lock that dies with its holder, and knows who that is.

The lock is a name in the kernel's table of abstract Unix sockets (unix(7)): it needs no file that
somebody else could plant or leave, is shared by all users, and is gone as soon as its holder is,
however that ended. Who connects is told the holder's process by the kernel (SO_PEERCRED).
"""

from __future__ import annotations

import os
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from runners.ask import ask
from runners.share import StoppedError

_MAX_COMMAND_CHARACTERS = 120
_MAX_COMMAND_BYTES = 4096
_COMMAND_LIMIT_S = 1.0
# Somebody who only looks whether the lock is taken holds it for some microseconds.
_ATTEMPTS = 3
_PAUSE_S = 0.02
_LONG_PAUSE_S = 1.0


class NodeLock:
    """Held from `acquire` on, until `release` or the end of the process."""

    def __init__(self, root: Path, wait_s: float = 0.0) -> None:
        """`root` is the node's file tree; a recorded tree is locked apart from this machine.

        Who has the lock is given `wait_s` seconds to end.
        """
        self._name = _name_of(root)
        self._wait_s = wait_s
        self._socket: socket.socket | None = None

    def acquire(self) -> None:
        """Take the lock; raises StoppedError that names the holder when somebody has it."""
        end_s = time.monotonic() + self._wait_s
        attempts = 0
        while True:
            taken = _bind(self._name)
            if taken is not None:
                self._socket = taken
                return
            attempts += 1
            if attempts >= _ATTEMPTS and time.monotonic() >= end_s:
                break
            time.sleep(_PAUSE_S if attempts < _ATTEMPTS else _LONG_PAUSE_S)
        raise StoppedError(
            f"another pinstudy is at work on this node ({_holder(self._name)}); two would disturb "
            "each other: wait until it has ended, or stop it"
        )

    def release(self) -> None:
        """Give the lock back, if it is held."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> NodeLock:
        self.acquire()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()


def is_locked(root: Path) -> bool:
    """Whether a living process holds the lock of the node."""
    taken = _bind(_name_of(root))
    if taken is None:
        return True
    taken.close()
    return False


def _name_of(root: Path) -> bytes:
    if root == Path("/"):
        return b"\0pinstudy-node"
    found = root.stat()
    return b"\0pinstudy-node-%d-%d" % (found.st_dev, found.st_ino)


def _bind(name: bytes) -> socket.socket | None:
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        taken.bind(name)
        taken.listen(socket.SOMAXCONN)
    except OSError:
        taken.close()
        return None
    return taken


def _holder(name: bytes) -> str:
    """Return who holds the lock, as far as the kernel tells it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name)
            size = struct.calcsize("3i")
            credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        except OSError:
            return "the kernel does not tell which process"
    pid, uid, _ = struct.unpack("3i", credentials)
    return f"process {pid} of user {_user(uid)}{_command(pid)}"


def _user(uid: int) -> str:
    with suppress(KeyError, ImportError):
        import pwd

        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _command(pid: int) -> str:
    # Not read by this process: who holds the lock to annoy can have his arguments in memory that
    # never answers.
    cmdline = ["head", "-c", str(_MAX_COMMAND_BYTES), f"/proc/{pid}/cmdline"]
    text = ask(cmdline, limit_s=_COMMAND_LIMIT_S) or ""
    try:
        # proc(5): the name, in parentheses, may hold blanks; starttime is the 20th field after it.
        ticks = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return ""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    started = time.localtime(time.time() - age_s)
    text = " ".join(text.rstrip("\0").split("\0"))
    shown = "".join(c if c.isprintable() else "?" for c in text)[:_MAX_COMMAND_CHARACTERS]
    return f", since {time.strftime('%Y-%m-%d %H:%M', started)}: {shown}"
