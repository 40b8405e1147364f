"""Reads records: whole, or only the fields that show a study's progress.

Shards are read in the order of their attempts, each in parts of any size, line by line. Lines that
are no records are skipped: those torn by a power cut, changed since they were written, or with
impossible values.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from base.errors import UserError
from base.text import one_line
from runners.records.shard import (
    CHECKED_FROM,
    CHECKSUM,
    SCHEMA,
    SHARD,
    head_of,
    is_unchanged,
)
from runners.records.values import ALTERED, FINAL, TORN, InvalidLine, without_impossible_numbers

# No record is longer. A longer line is read in pieces, so that it does not fill the memory.
LONGEST_LINE = 16 << 20
_MAX_SHOWN = 60
# Some hundred records at a time.
_BUFFER_BYTES = 1 << 20
# Of a shard. A file with holes may claim to have exabytes.
_MOST_PARTS = 10_000

Line = dict[str, Any] | InvalidLine


def read_records(folder: Path, heads: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the records of all shards of a folder, oldest attempt first.

    With `heads` those of runs that ended have only the fields in runners.records.shard.HEAD, which
    takes a fifth of the time. Raises UserError when a shard cannot be read or was written by a
    newer pinstudy.
    """
    for part in parts_of(folder):
        for record in read_part(part, heads):
            if not isinstance(record, InvalidLine):
                yield record


@dataclass(frozen=True)
class Part:
    """The lines of a shard that begin at a byte from `start` on and before `stop`."""

    path: Path
    start: int
    stop: int


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


def parts_of(folder: Path, most_bytes: int | None = None) -> list[Part]:
    """Return the shards of a folder, oldest attempt first, in parts of at most `most_bytes` bytes.

    Of a shard with more than 10 000 such parts the parts are larger. A part may begin and end
    inside a line; `read_part` decides which lines belong to it. Raises
    UserError when the folder, or the size of a shard, cannot be read.
    """
    parts = []
    for path in shards_of(folder):
        try:
            size = path.stat().st_size
        except OSError as error:
            raise UserError(f"{_shown(path)}: cannot be read ({error.strerror})") from None
        step = max(most_bytes or size, -(-size // _MOST_PARTS), 1)
        parts += [Part(path, at, min(at + step, size)) for at in range(0, size, step)]
    return parts


def _by_attempt(path: Path) -> tuple[int, str]:
    # Sorted by name, 10000 would precede 9999, and all attempts of one node those of the next.
    shard = SHARD.fullmatch(path.name)
    return int(shard["attempt"]) if shard else 0, path.name


def read_part(part: Part, heads: bool = False) -> Iterator[Line]:
    """Yield the record of each line of a part; an InvalidLine for a line that is no record.

    `heads` and errors are as for `read_records`.
    """
    parse = _parse_head if heads else _parse
    if part.start >= part.stop:
        # A file without a size may be a FIFO, and opening that may block for ever.
        return
    try:
        with part.path.open("rb", buffering=_BUFFER_BYTES) as stream:
            # A line belongs to the part that has its first byte.
            at = _after_line(stream, part.start - 1, part.stop) if part.start else 0
            while at < part.stop and (line := stream.readline(LONGEST_LINE)):
                if len(line) == LONGEST_LINE:
                    # One torn line, even if the rest of it looks like a record.
                    yield TORN
                elif not line.isspace():
                    yield parse(line, part.path, at)
                at += len(line)
                if len(line) == LONGEST_LINE and line[-1:] != b"\n":
                    at = _after_line(stream, at, part.stop)
    except OSError as error:
        raise UserError(f"{_shown(part.path)}: cannot be read ({error.strerror})") from None


def _after_line(stream: IO[bytes], at: int, stop: int) -> int:
    """Go to the end of a line of any length, from the byte `at` in it; return where it ends.

    Return `stop` if it goes on there: if each part read a line that lasts for many to its end, the
    time would grow with the square of its length.
    """
    while (at := stream.seek(_next_data(stream, at, stop))) < stop:
        piece = stream.readline(min(_BUFFER_BYTES, stop - at))
        at += len(piece)
        if piece.endswith(b"\n"):
            return at
        if not piece:
            break
    return stop


def _next_data(stream: IO[bytes], at: int, stop: int) -> int:
    """Return the first byte from `at` on that is in no hole of the file, or `stop`.

    A hole is read as NULs (lseek(2)), without a line break, and may be of terabytes.
    """
    descriptor = stream.fileno()
    # The stream does not know that its descriptor is moved.
    here = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        return min(os.lseek(descriptor, at, os.SEEK_DATA), stop)
    except OSError as error:
        # Nothing but a hole follows, or the file system does not tell.
        return stop if error.errno == errno.ENXIO else at
    finally:
        os.lseek(descriptor, here, os.SEEK_SET)


def _parse(line: bytes, path: Path, at: int) -> Line:
    # A line that lacks only its line break is whole.
    unchanged = is_unchanged(line if line.endswith(b"\n") else line + b"\n")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return TORN
    if not isinstance(record, dict):
        return TORN
    # Checked before any of its fields is used, the schema included.
    if unchanged is False or (CHECKSUM in record and not unchanged):
        return ALTERED
    found = _checked(record, path, at)
    lacks_checksum = unchanged is None and record["schema"] >= CHECKED_FROM
    return ALTERED if lacks_checksum else found


def _parse_head(line: bytes, path: Path, at: int) -> Line:
    head = head_of(line)
    if head is None or head.get("status") not in FINAL:
        return _parse(line, path, at)
    return _checked(head, path, at)


def _checked(record: dict[str, Any], path: Path, at: int) -> Line:
    schema = record.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise UserError(
            f"{_shown(path)}:{_line_number(path, at)}: record schema {repr(schema)[:_MAX_SHOWN]}; "
            f"this pinstudy reads schemas up to {SCHEMA}: use the pinstudy that wrote it, or a "
            "newer one"
        )
    return without_impossible_numbers(record)


def _shown(path: Path) -> str:
    """Return a path for a message of one line: anybody may have named the file."""
    return one_line(str(path), None)


def _line_number(path: Path, at: int) -> int:
    """Return the number of the line that begins at a byte, counted from 1."""
    number = 1
    with path.open("rb") as stream:
        while stream.tell() < at and (line := stream.readline(LONGEST_LINE)):
            number += line.endswith(b"\n")
    return number
