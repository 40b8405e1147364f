"""Where the threads of `threadmap` were seen, added up over a case's runs while records are read.

A thread's looks are a table in its record, which has no column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pinstudy.runners.records.placed_runs import threads_of
from pinstudy.runners.records.status import OK

THREADMAP = "threadmap"
# A results folder of this study has some hundred records; of a larger one only the first are read.
MAX_RECORDS = 10_000
# No node runs larger teams.
MAX_THREADS = 8192
_CPU = re.compile(r"[0-9]{1,5}", re.ASCII)


@dataclass
class ThreadLooks:
    """A thread: the list of CPUs it was last allowed, empty if unknown, and how often on which."""

    allowed: str
    seen: Counter[int]


@dataclass
class Looks:
    """The threads of a case's good runs with as many threads, in the order of their creation."""

    runs: int = 0
    threads: list[ThreadLooks] = field(default_factory=list)

    def add(self, threads: list[ThreadLooks]) -> None:
        """Add a run that was made after these."""
        self.runs += 1
        self.threads = self.threads or [ThreadLooks("", Counter()) for _ in threads]
        for thread, other in zip(self.threads, threads, strict=True):
            thread.allowed = other.allowed
            thread.seen.update(other.seen)


class TeamLooks:
    """The looks at the teams of cases, by their number of threads."""

    def __init__(self) -> None:
        self._records = 0
        self._by_size: dict[str, dict[int, Looks]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the threads of a record if it is of a good run of `threadmap`."""
        good = record.get("status") == OK and not record.get("warmup")
        if not good or record.get("app") != THREADMAP or self._records >= MAX_RECORDS:
            return
        self._records += 1
        threads = list(_threads(record))
        if threads:
            sizes = self._by_size.setdefault(record["case_id"], {})
            sizes.setdefault(len(threads), Looks()).add(threads)

    def of(self, case_id: str) -> Looks | None:
        """Return the looks at a case's runs that have the most frequent number of threads."""
        sizes = self._by_size.get(case_id, {})
        return max(sizes.values(), key=lambda looks: looks.runs, default=None)


def _threads(record: Mapping[str, Any]) -> Iterator[ThreadLooks]:
    for thread in threads_of(record)[:MAX_THREADS]:
        if thread.get("process", 0) == 0:
            seen = thread.get("seen") or {}
            known = {int(cpu): looks for cpu, looks in seen.items() if _CPU.fullmatch(cpu)}
            yield ThreadLooks(thread.get("allowed") or "", Counter(known))
