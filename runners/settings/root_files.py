"""Files of this user or of root that nobody else can have written, for what root puts back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UnsafeError(Exception):
    """Another user may have written a file, or could write it; the text says why."""


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Let nobody else write the files that the block makes, and everybody read them.

    The umask is replaced: even with root's 077 other users have to find root's journal, which says
    why the node is not as it was.
    """
    before = os.umask(_BY_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def check_roots_folder(folder: Path) -> None:
    """Raise UnsafeError when anybody but root could rename a folder or the files in it.

    Raises OSError when the folder, or one above it, cannot be read.
    """
    folder = folder.resolve()
    # In a container with its own user namespace, `/` may belong to another user than 0.
    trusted = {0, Path("/").stat().st_uid}
    for path in (folder, *folder.parents):
        found = path.stat()
        if found.st_uid not in trusted:
            raise UnsafeError(f"{path} is not root's")
        # In a sticky folder such as /tmp nobody else can rename root's files.
        sticky = found.st_mode & stat.S_ISVTX and path != folder
        if found.st_mode & _BY_OTHERS and not sticky:
            raise UnsafeError(f"others may write {path}")


def read_own(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """Return at most `most_bytes` + 1 bytes of this user's or root's file, and its owner's uid.

    No link is followed, and opening does not block. Raises UnsafeError when the file belongs to
    somebody else or others may write it, OSError when it cannot be read.
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

    A file that has the name already is incomplete, or somebody's trap: it is removed.
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, 0o644)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
