"""Files that root, or a user, must have written himself, because what they hold is acted on."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UnsafeError(Exception):
    """Somebody else may have written, or could write, what would be believed; says why."""


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Let nobody else write what is made in the block, whatever the umask."""
    before = os.umask(_BY_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def check_roots_folder(folder: Path) -> None:
    """Raise UnsafeError when somebody but root could rename files of a folder, or the folder.

    Raises OSError when it cannot be looked at.
    """
    folder = folder.resolve()
    # In a container with users of its own nothing but its files may be its root's.
    trusted = {0, Path("/").stat().st_uid}
    for path in (folder, *folder.parents):
        found = path.stat()
        if found.st_uid not in trusted:
            raise UnsafeError(f"{path} is not root's")
        # In a folder such as /tmp nobody else can rename what is root's.
        sticky = found.st_mode & stat.S_ISVTX and path != folder
        if found.st_mode & _BY_OTHERS and not sticky:
            raise UnsafeError(f"others may write {path}")


def read_own(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """Return up to one byte more than `most_bytes` of a file of this user or of root, and whose.

    No link is followed, and nothing is waited for. Raises UnsafeError when the file is somebody
    else's or others may write it, OSError when it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
            raise UnsafeError("it is not a file of this user")
        if found.st_mode & _BY_OTHERS:
            raise UnsafeError("others may write it")
        return stream.read(most_bytes + 1), found.st_uid


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file that everybody may read, and wait until it is on the disk.

    What is there under this name is a torn one, or somebody's trap: it is removed.
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, 0o644)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
