"""Where the threads of `threadmap` were seen, added up over a case's runs while records are read.

A thread's looks are a table in its record, which has no column. The records may come from anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from base.cpulist import MAX_CPU
from runners.records.placed_runs import threads_of
from runners.records.values import OK

THREADMAP = "threadmap"
# A results folder of this study has some hundred records; of a larger one only the first are read.
MAX_RECORDS = 10_000
# No node runs larger teams.
MAX_THREADS = 8192


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

    def add(self, others: Looks) -> None:
        """Add runs that were made after these."""
        self.runs += others.runs
        self.threads = self.threads or [ThreadLooks("", Counter()) for _ in others.threads]
        for thread, other in zip(self.threads, others.threads, strict=True):
            thread.allowed = other.allowed
            thread.seen.update(other.seen)


class TeamLooks:
    """The looks at the teams of cases, by their number of threads."""

    def __init__(self) -> None:
        self._records = 0
        self._by_size: dict[str, dict[int, Looks]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the threads of a record if it is of a good run of `threadmap`."""
        good = record.get("status") == OK and record.get("warmup") is not True
        if not good or record.get("app") != THREADMAP or self._records >= MAX_RECORDS:
            return
        self._records += 1
        case_id, threads = record.get("case_id"), list(_threads(record))
        if isinstance(case_id, str) and threads:
            self._add(case_id, Looks(1, threads))

    def _add(self, case_id: str, looks: Looks) -> None:
        sizes = self._by_size.setdefault(case_id, {})
        sizes.setdefault(len(looks.threads), Looks()).add(looks)

    def merge(self, others: TeamLooks) -> None:
        """Add the looks of others, whose records were read after these."""
        self._records += others._records
        for case_id, sizes in others._by_size.items():
            for looks in sizes.values():
                self._add(case_id, looks)

    def of(self, case_id: str) -> Looks | None:
        """Return the looks at a case's runs that have the most frequent number of threads."""
        sizes = self._by_size.get(case_id, {})
        return max(sizes.values(), key=lambda looks: looks.runs, default=None)


def _threads(record: Mapping[str, Any]) -> Iterator[ThreadLooks]:
    for thread in threads_of(record)[:MAX_THREADS]:
        if thread.get("process", 0) == 0:
            allowed = thread.get("allowed")
            seen = Counter(dict(_seen(thread.get("seen"))))
            yield ThreadLooks(allowed if isinstance(allowed, str) else "", seen)


def _seen(value: object) -> Iterator[tuple[int, int]]:
    for cpu, looks in value.items() if isinstance(value, dict) else ():
        known = cpu.isascii() and cpu.isdigit() and len(cpu) < 6 and int(cpu) <= MAX_CPU
        if known and type(looks) is int and 0 < looks < 2**53:
            yield int(cpu), looks
