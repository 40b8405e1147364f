"""The attempt marker: a small file that shows the next command how an attempt ended.

`<node>-<attempt>.under-way` lies beside the attempt's shard while the attempt runs. The attempt
removes it when it ends well or its user stops it, and writes the reason into it when it gives up. A
marker without a reason remains when the attempt was killed from outside. The next attempt removes
old markers. They serve messages only: which runs were made is read from the records.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from pinstudy.base.decoding import Text, decoded
from pinstudy.base.errors import StoppedError
from pinstudy.base.files import read_regular
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import one_line, plural
from pinstudy.base.units import utc_now
from pinstudy.runners.host.processes import read_task
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.node import Node
from pinstudy.runners.records.shard import SHARD
from pinstudy.runners.settings.journal import boot_id_of
from pinstudy.runners.study.history import ShardLines
from pinstudy.runners.study.summary import PlanSummary

SUFFIX = ".under-way"
# The file has its full size from the beginning, so that the reason, of at most four bytes a
# character, fits in when the disk is full.
_BYTES = 2048
_REASON_CHARACTERS = 400


class Marker(Struct, frozen=True):
    """A marker's content: the attempt's process with its start in clock ticks, and its end.

    `reason` is why it gave up; empty as long as it has not.
    """

    pid: Annotated[int, Meta(ge=1, le=2**31)]
    started: Annotated[int, Meta(ge=0, le=2**53)]
    boot_id: Text
    began_at: Text
    reason: Text = ""


@contextmanager
def attempt_marker(shard: Path, node_id: str, tree: Tree) -> Iterator[None]:
    """Keep the marker of the attempt that owns this shard; remove those of ended attempts.

    The node's boot and this process, which `tree` shows, go into the marker. The attempt goes on
    when its marker cannot be written.
    """
    try:
        # Kept open, as the marker is: an attempt may give up for lack of descriptors.
        folder = OpenFolder(shard.parent)
    except OSError:
        yield
        return
    with folder:
        yield from _marked(folder, shard.with_suffix(SUFFIX).name, node_id, tree)


def _marked(folder: OpenFolder, name: str, node_id: str, tree: Tree) -> Iterator[None]:
    task = read_task(tree, os.getpid())
    marker = Marker(os.getpid(), task.started if task else 0, boot_id_of(tree), utc_now())
    old_markers = [ended.path.name for ended in ended_attempts(folder.path, node_id, tree)]
    descriptor = _create(folder, name, marker)
    with suppress(OSError):
        folder.sync()
    for old in old_markers:
        if old != name:
            with suppress(OSError):
                folder.remove(old)
    try:
        yield
    except BaseException as error:
        # The command itself reports an orderly stop.
        stopped = isinstance(error, (KeyboardInterrupt, StoppedError))
        reason = one_line(str(error), _REASON_CHARACTERS)
        gave_up = msgspec.structs.replace(marker, reason=reason)
        _end(folder, name, descriptor, None if stopped else gave_up)
        raise
    _end(folder, name, descriptor, None)


def _create(folder: OpenFolder, name: str, marker: Marker) -> int | None:
    """Write a new marker; return its descriptor, None when it cannot be written."""
    try:
        # An attempt without a record leaves its number free, and perhaps its marker.
        with suppress(FileNotFoundError):
            folder.remove(name)
        descriptor = folder.create(name, 0o644)
    except OSError:
        return None
    try:
        _write(descriptor, marker)
    except OSError:
        _end(folder, name, descriptor, None)
        return None
    return descriptor


def _end(folder: OpenFolder, name: str, descriptor: int | None, marker: Marker | None) -> None:
    """Write the marker of an attempt that gave up; without one remove it."""
    if descriptor is None:
        return
    try:
        if marker:
            _write(descriptor, marker)
    except OSError:
        # Without the reason the marker would say that the attempt was killed from outside.
        marker = None
    if not marker:
        with suppress(OSError):
            folder.remove(name)
    os.close(descriptor)


def _write(descriptor: int, marker: Marker) -> None:
    data = msgspec.json.encode(marker).ljust(_BYTES - 1) + b"\n"
    if os.pwrite(descriptor, data, 0) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


@dataclass(frozen=True)
class EndedAttempt:
    """An attempt that did not end well, as its marker (`path`) describes it.

    `who` is its number and process in words, `how` is how it ended.
    """

    path: Path
    number: int
    who: str
    how: str

    def describe(self, where: str, shards: Mapping[str, ShardLines]) -> str:
        """Return in one line what happened; `where` names the run of the study, in words."""
        kept = shards.get(self.path.with_suffix(".jsonl").name, ShardLines())
        lines = f", {plural(kept.torn, 'torn line')} skipped" if kept.torn else ""
        return f"{self.who} {self.how}{where}: {plural(kept.runs, 'run')} of it kept{lines}"


def describe_crashes(records: Path, node: Node, summary: PlanSummary) -> list[str]:
    """Return a line for each earlier attempt of a node that did not end well."""
    attempts = ended_attempts(records, node.node_id, Tree(node.root))
    if not attempts:
        return []
    *earlier, newest = attempts
    shards = summary.history.shards
    lines = [ended.describe("", shards) for ended in earlier]
    planned = next(summary.agenda.pending(), None)
    if planned is None:
        return [*lines, newest.describe(" after its last run", shards)]
    case = next(case for case in summary.plan.cases if case.case_id == planned.case_id)
    where = f" before run {summary.done + 1} of {summary.runs} ({case.label}) was recorded"
    return [*lines, f"{newest.describe(where, shards)}, that one is made again"]


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
        number = int(name["attempt"])
        who = f"attempt {number}"
        try:
            marker = decoded(read_regular(path, _BYTES, links=False), Marker)
        except (OSError, ValueError):
            # A power cut can empty the file.
            how = "did not end well, and its file does not tell how,"
            yield EndedAttempt(path, number, who, how)
            continue
        rebooted = marker.boot_id != boot_id_of(tree)
        task = None if rebooted else read_task(tree, marker.pid)
        reason, began_at = (
            one_line(text, _REASON_CHARACTERS) for text in (marker.reason, marker.began_at)
        )
        if reason or task is None or task.started != marker.started:
            since = " (the node was rebooted since)" if rebooted else ""
            how = f"gave up ({reason})" if reason else f"was ended from outside{since}"
            who = f"{who} (process {marker.pid}, began {began_at})"
            yield EndedAttempt(path, number, who, how)
