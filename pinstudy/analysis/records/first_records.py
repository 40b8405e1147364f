"""What all runs of a case in an attempt agree in: its command line, and the versions of all parts.

It is kept of the first record of each, while the records are read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

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
