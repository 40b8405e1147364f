"""Files that are there whole or not at all, whatever ends the process that writes them."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a temporary name beside it, then rename it; its folder is made.

    Its content is on the disk before its name is, as some file systems would otherwise have an
    empty file there after a power cut. Raises OSError when the folder cannot be written; nothing is
    left behind then.
    """
    # Not the process number: on a shared file system two nodes may have the same.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    # Where a file system cannot tell, the file's own fsync has to do.
    with suppress(OSError):
        sync_folder(path.parent)


def is_full(error: OSError) -> bool:
    """Return whether the disk is full, or what a user may have of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; fsync(2) of new files is not enough.

    Raises OSError, also on a file system that cannot do it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
