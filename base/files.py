"""Reading files that anybody may have made: regular ones only, without waiting, up to a size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# What never ends or never begins (devices, pipes, terminals) is refused before it is opened, since
# opening alone can do harm; without waiting, for files of the kernel that wait for news.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class NotAFileError(OSError):
    """Something else than a file stands there."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


def open_given(path: str | Path, links: bool = True) -> int:
    """Return a descriptor of a regular file to read from, also behind a link if `links`.

    Raises OSError when there is none or it cannot be read, ValueError for a name with a NUL.
    """
    if not stat.S_ISREG(os.stat(path, follow_symlinks=links).st_mode):  # noqa: PTH116
        raise NotAFileError
    descriptor = os.open(path, _FLAGS if links else _FLAGS | os.O_NOFOLLOW)
    # Looked at again, for it may have been exchanged meanwhile.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFileError
    return descriptor


def read_given(path: str | Path, most: int, links: bool = True) -> bytes:
    """Return a file's bytes, at most one more than `most` of them; raises as `open_given` does."""
    descriptor = open_given(path, links)
    try:
        pieces: list[bytes] = []
        left = most + 1
        while left and (piece := os.read(descriptor, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)
