"""Reading records: all of them, or of each run only what tells of a study's progress.

Shards are read in the order of their attempts, each in parts of any size, line by line. A line that
is no record, such as one torn by a power cut, is told from the others and skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from configs.errors import UserError
from runners.record_line import head_of
from runners.shards import SCHEMA, SHARD
from runners.statuses import FINAL

# No record is longer: what is must not fill the memory, and is read in pieces that are no records.
LONGEST_LINE = 16 << 20
_MOST_SHOWN = 60
# Some hundred records at a time.
_BUFFER_BYTES = 1 << 20

_Parse = Callable[[bytes, Path, int], "dict[str, Any] | None"]


def read_lines(folder: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the record of each line of all shards of a folder, oldest attempt first.

    A line that is no record, such as one torn by a power cut, is None. Raises UserError when a
    shard cannot be read or was written by a newer pinstudy.
    """
    for part in parts_of(folder):
        yield from read_part(part)


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a folder as `read_lines` does, without the torn lines."""
    return (record for record in read_lines(folder) if record is not None)


def read_progress(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a folder as `read_records` does, of runs that ended only the head.

    That is some of their fields, runners.record_line.HEAD, and takes a fifth of the time.
    """
    for part in parts_of(folder):
        yield from filter(None, read_part_progress(part))


@dataclass(frozen=True)
class Part:
    """The lines of a shard that begin at a byte from `start` on and before `stop`."""

    path: Path
    start: int
    stop: int


def parts_of(folder: Path, most_bytes: int | None = None) -> list[Part]:
    """Return the shards of a folder, oldest attempt first, in parts of at most so many bytes.

    Attempts of the same number are in the order of their nodes' names. Parts begin and end anywhere
    in a line; which lines they have is `read_part`'s business. Raises UserError when a shard cannot
    be looked at.
    """
    parts = []
    for path in sorted(folder.glob("*.jsonl"), key=_by_attempt):
        try:
            size = path.stat().st_size
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        step = most_bytes or max(size, 1)
        parts += [Part(path, at, min(at + step, size)) for at in range(0, size, step)]
    return parts


def _by_attempt(path: Path) -> tuple[int, str]:
    # By name 10000 would come before 9999, and all of one node's before another's first.
    shard = SHARD.fullmatch(path.name)
    return int(shard["attempt"]) if shard else 0, path.name


def read_part(part: Part) -> Iterator[dict[str, Any] | None]:
    """Yield the records of a part as `read_lines` does."""
    return _parsed(part, _parse)


def read_part_progress(part: Part) -> Iterator[dict[str, Any] | None]:
    """Yield the records of a part as `read_progress` does, and None for lines that are none."""
    return _parsed(part, _parse_for_progress)


def _parsed(part: Part, parse: _Parse) -> Iterator[dict[str, Any] | None]:
    try:
        with part.path.open("rb", buffering=_BUFFER_BYTES) as stream:
            if part.start:
                # A line belongs to the part in which its first byte is.
                stream.seek(part.start - 1)
                _end_line(stream)
            at = stream.tell()
            while at < part.stop and (line := stream.readline(LONGEST_LINE)):
                if len(line) == LONGEST_LINE:
                    # One torn line, also where what follows on it looks like a record.
                    yield None
                    at += _end_line(stream) if line[-1:] != b"\n" else 0
                elif not line.isspace():
                    yield parse(line, part.path, at)
                at += len(line)
    except OSError as error:
        raise UserError(f"{part.path}: cannot be read ({error.strerror})") from None


def _end_line(stream: IO[bytes]) -> int:
    """Read on to the end of a line, however far it is; return how many bytes that was."""
    length = 0
    while piece := stream.readline(_BUFFER_BYTES):
        length += len(piece)
        if piece.endswith(b"\n"):
            break
    return length


def _parse(line: bytes, path: Path, at: int) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _checked(record, path, at) if isinstance(record, dict) else None


def _parse_for_progress(line: bytes, path: Path, at: int) -> dict[str, Any] | None:
    head = head_of(line)
    if head is None or head.get("status") not in FINAL:
        return _parse(line, path, at)
    return _checked(head, path, at)


def _checked(record: dict[str, Any], path: Path, at: int) -> dict[str, Any]:
    schema = record.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise UserError(
            f"{path}:{_line_number(path, at)}: record schema {repr(schema)[:_MOST_SHOWN]}; this "
            f"pinstudy reads schemas up to {SCHEMA}: use the pinstudy that wrote it, or a newer one"
        )
    return record


def _line_number(path: Path, at: int) -> int:
    """Return the number of the line that begins at a byte, counted from 1."""
    number = 1
    with path.open("rb") as stream:
        while stream.tell() < at and (line := stream.readline(LONGEST_LINE)):
            number += line.endswith(b"\n")
    return number
