"""The files of records: one shard an attempt, one fsynced line a run, nothing rewritten.

An attempt is one process on one node. It owns `records/<node>-<attempt>.jsonl`, which it creates
exclusively; a newer attempt's shard fences it, so that two runners on one directory cannot both
continue. The last record of a fenced attempt is kept in `late/`, beside the records. A process that
dies in the middle of a line leaves a torn last line, which readers skip.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pinstudy.base.errors import StoppedError, StudyError, UserError
from pinstudy.base.files import is_full
from pinstudy.base.folders import OpenFolder
from pinstudy.runners.records.line import line_of

LATE = "late"

SHARD = re.compile(r"(?P<node>.+)-(?P<attempt>[0-9]{4,18})\.jsonl")
_MAX_ATTEMPT = 10**18 - 1


class Shard:
    """One attempt's file of records, open for appending."""

    def __init__(
        self,
        folder: Path,
        node_id: str,
        attempt: int | None = None,
        fenced: Callable[[], str] = str,
        option: str = "--results",
    ) -> None:
        """Create the shard of an attempt, by default of the node's next one.

        `fenced` returns why records are refused, empty as long as they are accepted; `option` is
        the one by which a user chooses the folder. Raises UserError when the folder is not
        writable, StudyError when the disk is full.
        """
        self._folder = folder
        self._node_id = node_id
        self._fenced = fenced
        self._option = option
        self._torn = False
        self._size = 0
        try:
            self._open = OpenFolder(folder, make=True)
        except OSError as error:
            raise self._not_writable(error) from None
        try:
            self.attempt = self._next() if attempt is None else attempt
            self._descriptor = self._open.create(self.path.name, 0o644, os.O_APPEND)
            # Where a file system cannot sync folders, its fsync of the file has to do.
            with suppress(OSError):
                self._open.sync()
        except BaseException as error:
            self._open.close()
            if isinstance(error, FileExistsError):
                raise StudyError(
                    f"{folder}: another pinstudy has just started here; let it finish"
                ) from None
            if isinstance(error, OSError):
                raise self._not_writable(error) from None
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Write one record as one line and wait until it is on the disk.

        Raises StudyError when the disk refuses it and when something else has moved, removed,
        replaced, shortened or written to the file. Raises StoppedError when the attempt is fenced,
        and keeps the record in `late/`.
        """
        line = line_of(record)
        if why := self.fenced_reason():
            place = self._save_late(line)
            raise StoppedError(f"{self._folder}: {why}; this one stops. Its last record is {place}")
        try:
            other_bytes = self._write(line)
        except OSError as error:
            remedy = "raise the limit (ulimit -f)" if error.errno == errno.EFBIG else "make room"
            raise StudyError(
                f"{self.path}: cannot write the record ({error.strerror}); {remedy} and start the "
                "same command again, it continues"
            ) from None
        if why := self._moved_problem() or _size_problem(other_bytes):
            raise StudyError(f"{self.path}: {why}")

    def fenced_reason(self) -> str:
        """Return why records are refused; empty as long as they are accepted."""
        if self._path(self.attempt + 1).exists():
            return f"a newer pinstudy run works here (this is attempt {self.attempt})"
        return self._fenced()

    def _save_late(self, line: bytes) -> str:
        """Write a record to `late/`, where it does not count; return where, or why it is lost."""
        path = self._folder.with_name(LATE) / self._path(self.attempt).name
        try:
            with OpenFolder(path.parent, make=True) as folder:
                descriptor = folder.append_to(path.name)
            try:
                _write_line(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            return f"lost, because {path} cannot be written ({error.strerror})"
        return f"kept in {path}"

    def close(self) -> None:
        """Close the file, and remove a shard without a record.

        It stays if there is a newer one: an attempt is fenced by its direct successor only.
        """
        mine = os.fstat(self._descriptor)
        os.close(self._descriptor)
        with suppress(OSError), self._open as folder:
            here = os.path.samestat(self.path.lstat(), mine)
            if here and mine.st_size == 0 and self._newest() == self.attempt:
                folder.remove(self.path.name)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path(self.attempt)

    def _write(self, line: bytes) -> int:
        """Append a line; return how many bytes something else has added (< 0: removed) meanwhile.

        Only this attempt writes to its file.
        """
        # A line that did not fit, or was cut, must not be continued by this one.
        cut = self._torn or os.fstat(self._descriptor).st_size != self._size
        data = b"\n" + line if cut else line
        expected, self._torn = self._size + len(data), True
        try:
            _write_line(self._descriptor, data)
        finally:
            self._size = os.fstat(self._descriptor).st_size
        self._torn = False
        return self._size - expected

    def _moved_problem(self) -> str:
        """Return a message if the file was removed or moved, else an empty text."""
        mine = os.fstat(self._descriptor)
        with suppress(OSError):
            if os.path.samestat(self.path.stat(), mine):
                return ""
        instead = _kind_of(self.path)
        replaced = f"; {instead} has taken its place, remove it" if instead else ""
        if mine.st_nlink == 0:
            return (
                f"was removed while the study ran, and its records with it{replaced}; start the "
                "same command again, it makes those runs again"
            )
        now = Path(f"/proc/self/fd/{self._descriptor}").readlink()
        return (
            f"was moved to {now} while the study ran, with all its records{replaced}; move it back "
            "before you start the same command again, or the study begins anew"
        )

    def _not_writable(self, error: OSError) -> UserError:
        if is_full(error):
            return StudyError(
                f"{self._folder}: cannot write results here ({error.strerror}); make room and "
                "start the same command again"
            )
        return UserError(
            f"{self._folder}: cannot write results here ({error.strerror}); "
            f"name a writable folder with {self._option}"
        )

    def _path(self, attempt: int) -> Path:
        return self._folder / f"{self._node_id}-{attempt:04d}.jsonl"

    def _next(self) -> int:
        """Return the number of the next attempt; raises UserError when there can be none."""
        newest = self._newest()
        if newest >= _MAX_ATTEMPT:
            raise UserError(
                f"{self._path(newest)}: no attempt has a number so high, and none can follow it; "
                "move the file elsewhere, and start the same command again"
            )
        return newest + 1

    def _newest(self) -> int:
        names = (SHARD.fullmatch(path.name) for path in self._folder.iterdir())
        mine = (match for match in names if match and match["node"] == self._node_id)
        return max((int(match["attempt"]) for match in mine), default=0)


def _size_problem(other_bytes: int) -> str:
    """Return a message if something else changed the file's size, else an empty text."""
    if not other_bytes:
        return ""
    if other_bytes > 0:
        return (
            f"{other_bytes} bytes were written to it by something else while the study ran; find "
            "out by what, and start the same command again, it continues"
        )
    return (
        f"was cut by {-other_bytes} bytes while the study ran; find out by what, and start the "
        "same command again, it makes the runs again whose records are gone"
    )


_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFREG: "another file",
}


def _kind_of(path: Path) -> str:
    """Return the kind of file at a path; empty when there is none."""
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
        return f"a link to {path.readlink()}" if kind == stat.S_IFLNK else _KINDS[kind]
    except OSError:
        return ""


def _write_line(descriptor: int, line: bytes) -> None:
    # A write at a limit takes what fits; only the next one has the reason (ENOSPC, EFBIG, EDQUOT).
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)
