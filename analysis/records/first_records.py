"""What all runs of a case in an attempt agree in: its command line, and the versions of all parts.

It is kept of the first record of each, while the records are read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from base.reading import table_in

Record = Mapping[str, Any]

# Of a study there are as many as it has cases, times the attempts; a record may come from anybody.
MAX_KEPT = 10_000
# A record whose case ended otherwise lacks some of what is kept.
_OF = ("node_id", "attempt", "case_id", "status")
_KEPT = (
    *_OF, "imported", "kernel", "microcode", "versions", "runtime", "build", "program_digest",
    "environment_digest", "repetition_rule", "command", "environment",
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


class FirstRecords:
    """The first record of each case in each attempt, in the order in which they were read."""

    def __init__(self) -> None:
        self._records: dict[tuple[object, ...], Record] = {}

    def add(self, record: Record) -> None:
        """Keep parts of a record if it is the first of its case."""
        of = tuple(map(record.get, _OF))
        # A case that is a list or an object is no case.
        with suppress(TypeError):
            if of not in self._records and len(self._records) < MAX_KEPT:
                self._records[of] = {name: record[name] for name in _KEPT if name in record}

    def merge(self, others: FirstRecords) -> None:
        """Add the records of others, which were read after these."""
        for record in others:
            self.add(record)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())


def command_line(record: Record) -> str:
    """Return a record's command line with its variables before it; empty where it has none.

    Records may come from anybody: every word is quoted for a shell.
    """
    command = record.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return ""
    variables = table_in(table_in(record, "environment"), "set")
    words = [
        f"{name}={shlex.quote(str(value))}"
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
