"""The number of threads that a program was told to start, and the number seen. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.reading import number_or_nan

# A run that used more than this multiple of one process's possible CPU time had several processes
# at work. Errors of clocks and the rounding of short runs are within a tenth.
MORE_THAN_ONE = 1.1


@dataclass(frozen=True)
class SeenTeam:
    """The threads that a run was told to start, and those that were seen.

    `threads` is the largest number in one process, 0 where none was seen; `processes` is how many
    processes had threads. `several` is set when more than one process worked at a time, because the
    threads of the largest cannot have used so much CPU time; a script that waits does not count.
    """

    told: int
    threads: int
    processes: int
    several: bool


def seen_team(record: Mapping[str, Any]) -> SeenTeam:
    """Return the team in a run's record, whose fields may have any JSON values."""
    by_process = Counter(_processes(record))
    threads = max(by_process.values(), default=0)
    told = record.get("threads")
    elapsed_s, user_s, system_s = (
        number_or_nan(record.get(name)) for name in ("elapsed_s", "user_s", "system_s")
    )
    used_more = user_s + system_s > MORE_THAN_ONE * threads * elapsed_s > 0
    return SeenTeam(
        told if type(told) is int else 0,
        threads,
        len(by_process),
        len(by_process) > 1 and used_more,
    )


def _processes(record: Mapping[str, Any]) -> list[int]:
    """Return the number of each seen thread's process."""
    placement = record.get("placement")
    threads = placement.get("threads") if isinstance(placement, dict) else None
    return [
        process
        for thread in (threads if isinstance(threads, list) else ())
        if isinstance(thread, dict) and type(process := thread.get("process")) is int
    ]
