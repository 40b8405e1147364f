"""The attempt marker: a small file that shows the next command how an attempt ended.

`<node>-<attempt>.under-way` lies beside the attempt's shard while the attempt runs. The attempt
removes it when it ends well or its user stops it, and writes the reason into it when it gives up. A
marker without a reason remains when the attempt was killed from outside. The next attempt removes
old markers. They serve messages only: which runs were made is read from the records.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from base.errors import StoppedError
from base.files import read_object, sync_folder
from base.text import one_line, plural
from base.units import utc_now
from runners.host.processes import read_task
from runners.host.tree import Tree
from runners.node.node import Node
from runners.records.reader import Part, read_part
from runners.records.shard import SHARD
from runners.records.values import FINAL, NoRecord
from runners.settings.journal import boot_id_of
from runners.study.summary import PlanSummary

SUFFIX = ".under-way"
# The file has its full size from the beginning, so that the reason fits in when the disk is full.
_BYTES = 2048
_REASON_CHARACTERS = 400


class AttemptMarker:
    """Keeps the file of an attempt from `begin` to the end of the context."""

    def __init__(self, tree: Tree) -> None:
        """`tree` is that of the node: its boot and this process go into the marker."""
        self._tree = tree
        self._path: Path | None = None
        self._descriptor: int | None = None
        self._told: dict[str, Any] = {}

    def begin(self, shard: Path, node_id: str) -> None:
        """Write the marker of the attempt that owns this shard; remove those of ended attempts.

        The attempt goes on when its marker cannot be written.
        """
        task = read_task(self._tree, os.getpid())
        self._told = {
            "pid": os.getpid(),
            "started": task.started if task else 0,
            "boot_id": boot_id_of(self._tree),
            "began_at": utc_now(),
            "reason": "",
        }
        left = [ended.path for ended in ended_attempts(shard.parent, node_id, self._tree)]
        self._path = shard.with_suffix(SUFFIX)
        try:
            # An attempt without a record leaves its number free, and perhaps its marker.
            self._path.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            # Kept open: an attempt may give up for lack of descriptors.
            self._descriptor = os.open(self._path, flags, 0o644)
            self._write()
        except OSError:
            self._remove()
        with suppress(OSError):
            sync_folder(shard.parent)
        for path in left:
            if path != self._path:
                with suppress(OSError):
                    path.unlink()

    def __enter__(self) -> AttemptMarker:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._descriptor is None:
            return
        # The command itself reports an orderly stop.
        if error is None or isinstance(error, (KeyboardInterrupt, StoppedError)):
            self._remove()
            return
        self._told["reason"] = str(error)[:_REASON_CHARACTERS]
        try:
            self._write()
        except OSError:
            # Without the reason the marker would say that the attempt was killed from outside.
            self._remove()
        else:
            self._close()

    def _write(self) -> None:
        assert self._descriptor is not None
        data = json.dumps(self._told).encode().ljust(_BYTES - 1) + b"\n"
        if os.pwrite(self._descriptor, data, 0) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(self._descriptor)

    def _remove(self) -> None:
        with suppress(OSError):
            if self._path and self._descriptor is not None:
                self._path.unlink()
        self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


@dataclass(frozen=True)
class EndedAttempt:
    """An attempt that did not end well, as its marker (`path`) describes it.

    `process` and `began_at` are empty when the marker lacks them (a power cut can empty it).
    `rebooted` is whether the node was booted since. `reason` is why the attempt gave up, empty when
    it was killed from outside.
    """

    path: Path
    number: int
    process: str = ""
    began_at: str = ""
    rebooted: bool = False
    reason: str = ""

    def told(self, where: str) -> str:
        """Return in one line what happened; `where` names the run of the study, in words."""
        process = ", ".join(filter(None, (self.process, self.began_at)))
        who = f"attempt {self.number}{f' ({process})' if process else ''}"
        kept, torn = self._lines()
        lines = f", {plural(torn, 'torn line')} skipped" if torn else ""
        return f"{who} {self._how}{where}: {plural(kept, 'run')} of it kept{lines}"

    @property
    def _how(self) -> str:
        if self.reason:
            return f"gave up ({self.reason})"
        if not self.process:
            return "did not end well, and its file does not tell how,"
        since = " (the node was rebooted since)" if self.rebooted else ""
        return f"was ended from outside{since}"

    def _lines(self) -> tuple[int, int]:
        """Return how many runs the attempt's shard has, and how many lines that are no records."""
        shard = self.path.with_suffix(".jsonl")
        kept = torn = 0
        with suppress(OSError):
            for record in read_part(Part(shard, 0, shard.stat().st_size), heads=True):
                if isinstance(record, NoRecord):
                    torn += 1
                else:
                    kept += record.get("status") in FINAL
        return kept, torn


def describe_crashes(records: Path, node: Node, summary: PlanSummary) -> list[str]:
    """Return a line for each earlier attempt of a node that did not end well.

    Raises UserError when a shard cannot be read.
    """
    found = ended_attempts(records, node.node_id, Tree(node.root))
    if not found:
        return []
    *earlier, newest = found
    lines = [ended.told("") for ended in earlier]
    planned = next(summary.schedule.pending(), None)
    if planned is None:
        return [*lines, newest.told(" after its last run")]
    case = next(case for case in summary.plan.cases if case.case_id == planned.case_id)
    where = f" before run {summary.done + 1} of {summary.runs} ({case.label}) was recorded"
    return [*lines, f"{newest.told(where)}, that one is made again"]


def ended_attempts(records: Path, node_id: str, tree: Tree) -> list[EndedAttempt]:
    """Return a node's attempts that did not end well, oldest first.

    Attempts that are still running are not among them. A folder that cannot be read has none.
    """
    return sorted(_ended(records, node_id, tree), key=lambda ended: ended.number)


def _ended(records: Path, node_id: str, tree: Tree) -> Iterator[EndedAttempt]:
    for path in records.glob(f"*{SUFFIX}"):
        name = SHARD.fullmatch(path.with_suffix(".jsonl").name)
        if name is None or name["node"] != node_id:
            continue
        number, told = int(name["attempt"]), _read(path)
        pid, started = told.get("pid"), told.get("started")
        if not (isinstance(pid, int) and isinstance(started, int)):
            yield EndedAttempt(path, number)
            continue
        rebooted = told.get("boot_id") != boot_id_of(tree)
        task = None if rebooted else read_task(tree, pid)
        reason = _text(told, "reason")
        if reason or task is None or task.started != started:
            began = f"began {_text(told, 'began_at')}"
            yield EndedAttempt(path, number, f"process {pid}", began, rebooted, reason)


def _read(path: Path) -> Mapping[str, Any]:
    """Return a marker's fields; none when the file cannot be read or is no JSON object."""
    try:
        return read_object(path, _BYTES, links=False)
    except (OSError, ValueError):
        return {}


def _text(told: Mapping[str, Any], name: str) -> str:
    found = told.get(name)
    text = found if isinstance(found, str) else ""
    return one_line(text, _REASON_CHARACTERS)
