"""A program's output, in a file of bounded size that keeps its beginning and its end.

A file, not a pipe: nothing has to read it during the measurement, and the program never waits. The
middle is deallocated while the program runs (fallocate(2), FALLOC_FL_PUNCH_HOLE).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from pinstudy.base.errors import ShortageError, StudyError, is_shortage
from pinstudy.base.files import read_regular
from pinstudy.runners.host.starter import folder_prefix

# Metrics and messages are at the beginning and at the end.
KEPT_BYTES = 512 * 1024
# A program that writes more results than this writes them for itself.
MAX_FILES = 16
# The middle is deallocated again after this many more bytes.
SLACK_BYTES = 16 << 20
# The limit of one run where a file system cannot punch holes (NFS before 4.2).
MAX_BYTES = 1 << 30

# Holes begin and end at blocks; no file system has larger blocks.
_BLOCK = 1 << 16
# Linux include/uapi/linux/falloc.h
_KEEP_SIZE, _PUNCH_HOLE = 0x01, 0x02


class OutputFile:
    """The output of one stream of a run; call `trim` regularly while the program runs."""

    def __init__(self) -> None:
        """Raises StudyError when there is no room for the file."""
        try:
            self.file = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115
        except OSError as error:
            raise _storage_error(error) from None
        self._trim_at = 2 * KEPT_BYTES + SLACK_BYTES

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def trim(self) -> None:
        """Deallocate the middle of a long file.

        Raises StudyError when the file is too long and the file system cannot punch holes.
        """
        status = os.fstat(self.file.fileno())
        if status.st_size < self._trim_at:
            return
        begin = -(-KEPT_BYTES // _BLOCK) * _BLOCK
        end = (status.st_size - KEPT_BYTES) // _BLOCK * _BLOCK
        try:
            _punch_hole(self.file.fileno(), begin, end - begin)
        except OSError as error:
            # st_blocks counts units of 512 bytes, whatever the file system's are (stat(2)).
            if status.st_blocks * 512 > MAX_BYTES:
                raise StudyError(
                    f"{_where()}: a program has printed more than {MAX_BYTES >> 30} GiB, and what "
                    f"is not kept of it cannot be removed ({error.strerror}); name a folder on a "
                    "local file system in $TMPDIR, and start the same command again, it continues"
                ) from None
        self._trim_at = status.st_size + SLACK_BYTES

    def text(self) -> str:
        """Return the output; raises StudyError when the disk may have refused part of it."""
        stream = self.file
        size = stream.seek(0, 2)
        try:
            # Few programs check that their output was written: one more byte shows it.
            os.write(stream.fileno(), b"\n")
            os.ftruncate(stream.fileno(), size)
        except OSError as error:
            raise _storage_error(error) from None
        stream.seek(0)
        if size <= 2 * KEPT_BYTES:
            return stream.read().decode(errors="replace")
        # Whole lines only: a number that is cut would be another number.
        head, _, _ = stream.read(KEPT_BYTES).rpartition(b"\n")
        stream.seek(-KEPT_BYTES, 2)
        _, _, tail = stream.read().partition(b"\n")
        return (head + b"\n[...]\n" + tail).decode(errors="replace")


@contextmanager
def working_folder(pattern: str | None) -> Iterator[Path | None]:
    """Yield a folder of a run's own while the context lasts; None without a pattern.

    Raises StudyError when there is no room for it.
    """
    if pattern is None:
        yield None
        return
    with temporary_folder() as folder:
        yield folder


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder for temporary files while the context lasts.

    Its name says whose it is, so that the next run removes it if this process is killed.

    Raises StudyError when there is no room for it.
    """
    try:
        folder = tempfile.mkdtemp(prefix=folder_prefix())
    except OSError as error:
        raise _storage_error(error) from None
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def written_text(folder: Path | None, pattern: str | None) -> str:
    """Return the beginnings of a folder's files that match a pattern, in the order of their names.

    Empty without a folder or a pattern.
    """
    if folder is None or pattern is None:
        return ""
    texts = []
    for path in sorted(folder.glob(pattern))[:MAX_FILES]:
        with suppress(OSError):
            texts.append(read_regular(path, KEPT_BYTES, links=False).decode(errors="replace"))
    return "".join(f"{text.rstrip()}\n" for text in texts)


def _punch_hole(descriptor: int, begin: int, length: int) -> None:
    # Imported here: few programs print so much.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    fallocate = getattr(libc, "fallocate64", libc.fallocate)
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if fallocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, begin, length):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _where() -> str:
    return tempfile.tempdir or "the folder for temporary files"


def _storage_error(error: OSError) -> StudyError:
    problem = f"{_where()}: what programs print cannot be kept ({error.strerror})"
    if is_shortage(error):
        return ShortageError(problem)
    return StudyError(
        f"{problem}; make room, or name another folder in $TMPDIR, and start the same command "
        "again, it continues"
    )
