"""What is gathered while records are read, for which frames have no column.

The first record of each case, the values of settings, and where the threads of `threadmap` were.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pinstudy.runners.records.placed_runs import threads_of
from pinstudy.runners.records.settings_of_runs import FIELDS, settings_in
from pinstudy.runners.records.status import OK

Record = Mapping[str, Any]

# Of a study there are as many as it has cases, times the attempts.
MAX_KEPT = 10_000
# A record whose case ended otherwise lacks some of what is kept.
_KEY = ("node_id", "attempt", "case_id", "status")
_KEPT = (
    *_KEY, "imported", "kernel", "microcode", "versions", "runtime", "built_with", "program_digest",
    "environment_digest", "repetition_rule", "command", "environment",
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


class FirstRecords:
    """The first record of each case in each attempt, in the order in which they were read."""

    def __init__(self) -> None:
        self._records: dict[tuple[object, ...], Record] = {}

    def add(self, record: Record) -> None:
        """Keep parts of a record if it is the first of its case."""
        key = tuple(map(record.get, _KEY))
        if key not in self._records and len(self._records) < MAX_KEPT:
            self._records[key] = {name: record[name] for name in _KEPT if name in record}

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())


def command_line(record: Record) -> str:
    """Return a record's command line with its variables before it; empty where it has none.

    Records may come from anybody: every word is quoted for a shell.
    """
    command = record.get("command")
    if not command:
        return ""
    variables = (record.get("environment") or {}).get("set") or {}
    words = [
        f"{name}={shlex.quote(value)}"
        for name, value in variables.items()
        if _VARIABLE.fullmatch(name)
    ]
    return " ".join([*words, *(shlex.quote(word) for word in command)])


def command_lines(records: Iterable[Record], case_ids: Collection[str]) -> dict[str, str]:
    """Return the first command line of each of these cases, by case_id."""
    lines: dict[str, str] = {}
    for record in records:
        case_id = record.get("case_id")
        if case_id in case_ids and case_id not in lines and (line := command_line(record)):
            lines[str(case_id)] = line
    return lines


# Values of a setting; those of a setting that moves by itself are many.
MAX_VALUES = 5

# The attempts by the values of a setting, both in the order in which they were read.
Values = Mapping[str, list[object]]


class SettingsSeen:
    """The values of settings by case."""

    def __init__(self) -> None:
        self._by_case: dict[str, dict[str, dict[str, list[object]]]] = {}
        self._latest: dict[str, tuple[object, ...]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the settings of a record if it is of a good run."""
        if record.get("status") != OK or record.get("warmup"):
            return
        case_id, attempt = record["case_id"], record.get("attempt")
        # Of many records most have the settings of the one before.
        fields = (attempt, *map(record.get, FIELDS))
        if self._latest.get(case_id) == fields:
            return
        self._latest[case_id] = fields
        for name, value in settings_in(record).items():
            values = self._by_case.setdefault(case_id, {}).setdefault(name, {})
            if value in values or len(values) < MAX_VALUES:
                attempts = values.setdefault(value, [])
                if attempt not in attempts:
                    attempts.append(attempt)

    def __iter__(self) -> Iterator[Mapping[str, Values]]:
        return iter(self._by_case.values())

    def of(self, case_id: str) -> Mapping[str, Values]:
        """Return the values of each setting in a case's runs, by the setting's words."""
        return self._by_case.get(case_id, {})


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
