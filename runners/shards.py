"""Where records are kept: one shard an attempt, one fsynced line a run, nothing rewritten.

An attempt is one process on one node. It owns `records/<node>-<attempt>.jsonl`, which it creates
exclusively; a newer attempt's shard fences it, so that two runners on one directory cannot both
go on. What a fenced attempt has still measured is kept aside, in `late/` beside the records. A
process that dies in the middle of a line leaves a torn last line, which readers skip.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from configs.errors import StudyError, UserError
from configs.whole_file import is_full, sync_folder, write_whole
from runners.record_line import head_of, line_of
from runners.share import StoppedError
from runners.statuses import FINAL

# The history of the record's schema; a reader refuses what is newer than itself.
# 1: the first.
# 2: `baseline` records, which are of no run; net energy, power and energy-delay products.
# 3: runs in guests (`engine: vm`), with where their virtual CPUs were; status `clock-drifted`.
SCHEMA = 3

LATE = "late"

_SHARD = re.compile(r"(?P<node>.+)-(?P<attempt>[0-9]{4,18})\.jsonl")
# No record is longer: what is must not fill the memory, and is read in pieces that are no records.
LONGEST_LINE = 16 << 20
_MOST_SHOWN = 60
# Some hundred records at a time.
_BUFFER_BYTES = 1 << 20

_Parse = Callable[[bytes, Path, int], "dict[str, Any] | None"]


class Shard:
    """One attempt's file of records, open for appending."""

    def __init__(
        self,
        folder: Path,
        node_id: str,
        attempt: int | None = None,
        fenced: Callable[[], str] = str,
    ) -> None:
        """Create the shard of an attempt, by default of the node's next one.

        `fenced` says why records are no longer accepted; empty as long as they are. Raises
        UserError when the folder is not writable, StudyError when the disk is full.
        """
        self._folder = folder
        self._node_id = node_id
        self._fenced = fenced
        self._torn = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._not_writable(error) from None
        try:
            self.attempt = self._newest() + 1 if attempt is None else attempt
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, 0o644)
            # Where a file system cannot tell, its fsync of the file has to do.
            with suppress(OSError):
                sync_folder(folder)
        except FileExistsError:
            raise StudyError(
                f"{folder}: another pinstudy has just started here; let it finish"
            ) from None
        except OSError as error:
            raise self._not_writable(error) from None

    def append(self, record: dict[str, Any]) -> None:
        """Write one record as one line and wait until it is on the disk.

        Raises StudyError when the disk refuses it and when the file was moved or removed,
        StoppedError when a newer attempt has taken over: the record is kept aside then.
        """
        line = line_of(record)
        if why := self.why_fenced():
            aside = self._keep_aside(line)
            raise StoppedError(f"{self._folder}: {why}; this one stops. Its last record is {aside}")
        try:
            self._write(line)
        except OSError as error:
            raise StudyError(
                f"{self.path}: cannot write the record ({error.strerror}); "
                "make room and start the same command again, it continues"
            ) from None
        if why := self._why_elsewhere():
            raise StudyError(f"{self.path}: {why}")

    def why_fenced(self) -> str:
        """Return why records are no longer accepted; empty as long as they are."""
        if self._path(self.attempt + 1).exists():
            return f"a newer pinstudy run works here (this is attempt {self.attempt})"
        return self._fenced()

    def _keep_aside(self, line: bytes) -> str:
        """Keep a record where it does not count; return where, or why it is lost."""
        path = self._folder.with_name(LATE) / self._path(self.attempt).name
        try:
            path.parent.mkdir(exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o644)
            try:
                _write_line(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            return f"lost, because {path} cannot be written ({error.strerror})"
        return f"kept in {path}"

    def close(self) -> None:
        """Close the file; a shard without a record is removed.

        Not where there is a newer one: what is fenced by this one would then be by none.
        """
        empty = os.fstat(self._descriptor).st_size == 0
        os.close(self._descriptor)
        with suppress(OSError):
            if empty and self._newest() == self.attempt:
                self.path.unlink()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path(self.attempt)

    def _write(self, line: bytes) -> None:
        # A line that did not fit must not become the beginning of this one.
        data = b"\n" + line if self._torn else line
        self._torn = True
        _write_line(self._descriptor, data)
        self._torn = False

    def _why_elsewhere(self) -> str:
        """Return what became of the file when it is no longer where readers look for it."""
        mine = os.fstat(self._descriptor)
        with suppress(OSError):
            if os.path.samestat(self.path.stat(), mine):
                return ""
        if mine.st_nlink == 0:
            return (
                "was removed while the study ran, and its records with it; start the same command "
                "again, it makes those runs again"
            )
        now = Path(f"/proc/self/fd/{self._descriptor}").readlink()
        return (
            f"was moved to {now} while the study ran, with all its records; move it back before "
            "you start the same command again, or the study begins anew"
        )

    def _not_writable(self, error: OSError) -> UserError:
        if is_full(error):
            return StudyError(
                f"{self._folder}: cannot write results here ({error.strerror}); make room and "
                "start the same command again"
            )
        return UserError(
            f"{self._folder}: cannot write results here ({error.strerror}); "
            "name a writable folder with --results"
        )

    def _path(self, attempt: int) -> Path:
        return self._folder / f"{self._node_id}-{attempt:04d}.jsonl"

    def _newest(self) -> int:
        names = (_SHARD.fullmatch(path.name) for path in self._folder.iterdir())
        mine = (match for match in names if match and match["node"] == self._node_id)
        return max((int(match["attempt"]) for match in mine), default=0)


def _write_line(descriptor: int, line: bytes) -> None:
    if os.write(descriptor, line) != len(line):
        raise OSError(28, "No space left on device")
    os.fsync(descriptor)


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
    shard = _SHARD.fullmatch(path.name)
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


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file beside the records so that it is there whole or not at all.

    Raises StudyError when the folder cannot be written.
    """
    try:
        write_whole(path, data)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written ({error.strerror}); make room") from None
