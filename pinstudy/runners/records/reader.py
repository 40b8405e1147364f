"""Reads the records of a results folder, shard by shard, in the order of their attempts.

Lines that are no records are skipped: those torn by a power cut, changed since they were written,
or with impossible values.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line
from pinstudy.runners.records.line import TORN, InvalidLine, SchemaError, record_in
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import SHARD

# No record is longer. A longer line is read in pieces, so that it does not fill the memory.
LONGEST_LINE = 16 << 20
_MAX_SHOWN = 60
# Some hundred records at a time.
_BUFFER_BYTES = 1 << 20

Line = dict[str, Any] | InvalidLine


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of all shards of a folder, oldest attempt first.

    Raises UserError when a shard cannot be read or was written by another version of pinstudy.
    """
    for shard in shards_of(folder):
        for line in read_lines(shard):
            if not isinstance(line, InvalidLine):
                yield line


def shards_of(folder: Path) -> list[Path]:
    """Return the shards of a folder, oldest attempt first; none where there is no folder.

    Attempts of the same number are in the order of their nodes' names. Raises UserError when the
    folder cannot be read.
    """
    try:
        # Not glob(), which takes a folder that may not be read for an empty one.
        found = [path for path in folder.iterdir() if path.name.endswith(".jsonl")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UserError(f"{folder}: cannot be read ({error.strerror})") from None
    return sorted(found, key=_by_attempt)


def sizes_of(folder: Path) -> dict[Path, int]:
    """Return the size of each shard of a folder in bytes.

    Raises UserError when the folder, or the size of a shard, cannot be read.
    """
    sizes = {}
    for path in shards_of(folder):
        try:
            sizes[path] = path.stat().st_size
        except OSError as error:
            raise _unreadable(path, error) from None
    return sizes


def _by_attempt(path: Path) -> tuple[int, str]:
    # Sorted by name, 10000 would precede 9999, and all attempts of one node those of the next.
    shard = SHARD.fullmatch(path.name)
    return int(shard["attempt"]) if shard else 0, path.name


def read_lines(shard: Path) -> Iterator[Line]:
    """Yield the record of each line of a shard; an InvalidLine for a line that is no record.

    Lines that were added since the call began are left out. Errors are as for `read_records`.
    """
    number = 0
    try:
        size = shard.stat().st_size
        if not size:
            # A file without a size may be a FIFO, and opening that may block for ever.
            return
        with shard.open("rb", buffering=_BUFFER_BYTES) as stream:
            while stream.tell() < size and (line := stream.readline(LONGEST_LINE)):
                number += 1
                if len(line) == LONGEST_LINE:
                    # One torn line, even if the rest of it looks like a record.
                    yield TORN
                    if line[-1:] != b"\n":
                        _skip_line(stream, size)
                elif not line.isspace():
                    yield record_in(line)
    except OSError as error:
        raise _unreadable(shard, error) from None
    except SchemaError as error:
        raise UserError(
            f"{_shown(shard)}:{number}: record schema {repr(error.schema)[:_MAX_SHOWN]}; this "
            f"pinstudy reads schema {SCHEMA}: use the pinstudy that wrote it, or another folder"
        ) from None


def _skip_line(stream: IO[bytes], size: int) -> None:
    """Go to the end of a line of any length, or of the file."""
    while (at := stream.seek(_next_data(stream, stream.tell(), size))) < size:
        piece = stream.readline(min(_BUFFER_BYTES, size - at))
        if not piece or piece.endswith(b"\n"):
            return


def _next_data(stream: IO[bytes], at: int, size: int) -> int:
    """Return the first byte from `at` on that is in no hole of the file, or `size`.

    A hole is read as NULs (lseek(2)), without a line break, and may be of terabytes.
    """
    descriptor = stream.fileno()
    # The stream does not know that its descriptor is moved.
    here = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        return min(os.lseek(descriptor, at, os.SEEK_DATA), size)
    except OSError as error:
        # Nothing but a hole follows, or the file system does not tell.
        return size if error.errno == errno.ENXIO else at
    finally:
        os.lseek(descriptor, here, os.SEEK_SET)


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(f"{_shown(path)}: cannot be read ({error.strerror})")


def _shown(path: Path) -> str:
    """Return a path for a message of one line: anybody may have named the file."""
    return one_line(str(path), None)
