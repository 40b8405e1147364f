"""Read untrusted files within bounds, and write files whole, whatever ends this process.

Digests identify what JSON describes.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pinstudy.base.errors import StudyError
from pinstudy.base.folders import OpenFolder, PlantedLinkError

# Devices, pipes and terminals are refused before they are opened: their data may never end or never
# begin, and opening alone can do harm. O_NONBLOCK is for kernel files that block until an event.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class NotAFileError(OSError):
    """The path is something else than a regular file."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


def open_regular(path: str | Path, links: bool = True) -> int:
    """Return a descriptor to read a regular file; a link to one is followed if `links`.

    Raises OSError when there is none or it cannot be read, ValueError for a name with a NUL.
    """
    if not stat.S_ISREG(os.stat(path, follow_symlinks=links).st_mode):  # noqa: PTH116
        raise NotAFileError
    descriptor = os.open(path, _FLAGS if links else _FLAGS | os.O_NOFOLLOW)
    # Checked again: the file may have been replaced since.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFileError
    return descriptor


def read_regular(path: str | Path, most: int, links: bool = True) -> bytes:
    """Return a file's first `most` + 1 bytes at most; raises as `open_regular` does."""
    descriptor = open_regular(path, links)
    try:
        return _first_bytes(lambda left, _done: os.read(descriptor, left), most)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, most: int) -> bytes:
    """Return the first `most` + 1 bytes at most of an open file, wherever it was read before."""
    return _first_bytes(lambda left, done: os.pread(descriptor, left, done), most)


def copy_content(source: int, target: int) -> None:
    """Copy the whole content of an open file into another one; raises OSError."""
    done = 0
    while piece := os.pread(source, 1 << 20, done):
        os.pwrite(target, piece, done)
        done += len(piece)


def _first_bytes(read: Callable[[int, int], bytes], most: int) -> bytes:
    pieces: list[bytes] = []
    done = 0
    while done <= most and (piece := read(min(most + 1 - done, 1 << 20), done)):
        pieces.append(piece)
        done += len(piece)
    return b"".join(pieces)


def sha256_of_json(value: object, default: Callable[[Any], object] | None = None) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal.

    `default` returns what JSON can hold in the place of an object that it cannot.
    """
    # Imported here: commands that read a node only need no digest.
    import hashlib

    text = json.dumps(value, default=default, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(fields: dict[str, object]) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of the fields in canonical JSON."""
    return sha256_of_json(fields)[:16]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file as `OpenFolder.replace` does, and sync its folder, if the file system can.

    The folder is made if it is missing. Raises OSError when it cannot be written.
    """
    with OpenFolder(path.parent, make=True) as folder:
        folder.replace(path.name, data)
        # Where it cannot, the fsync of the file has to do.
        with suppress(OSError):
            folder.sync()


def is_full(error: OSError) -> bool:
    """Return whether the disk, or the user's quota of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def not_written(path: Path, error: OSError) -> StudyError:
    """Return the error for a file that cannot be written, with what to do."""
    if isinstance(error, PlantedLinkError):
        return StudyError(f"{path}: cannot be written: {error}")
    help_ = "make room" if is_full(error) else "expected a folder that you may write to"
    return StudyError(f"{path}: cannot be written ({error.strerror}); {help_}")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    Raises StudyError when the folder cannot be written.
    """
    try:
        write_whole(path, data)
    except OSError as error:
        raise not_written(path, error) from None


def write_json(
    path: Path, value: object, indent: int | None = 2, *, sort_keys: bool = False
) -> None:
    """Write a file of JSON as `write_atomically` does; raises ValueError for what JSON lacks."""
    text = json.dumps(value, indent=indent, sort_keys=sort_keys, allow_nan=False)
    write_atomically(path, f"{text}\n".encode())
