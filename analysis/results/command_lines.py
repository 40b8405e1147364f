"""What was started in a run, as one would type it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from runners.records.reader import read_records

# The records of a case agree in these fields, so that the first records are enough.
MAX_RECORDS = 10_000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


def command_line(record: Mapping[str, Any]) -> str:
    """Return a record's command line with its variables before it; empty where it has none.

    Records may come from anybody: every word is quoted for a shell.
    """
    command, environment = record.get("command"), record.get("environment")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return ""
    variables = environment.get("set") if isinstance(environment, dict) else None
    words = [
        f"{name}={shlex.quote(str(value))}"
        for name, value in (variables.items() if isinstance(variables, dict) else ())
        if _VARIABLE.fullmatch(name)
    ]
    return " ".join([*words, *(shlex.quote(word) for word in command)])


def command_lines(folder: Path, case_ids: Collection[str]) -> dict[str, str]:
    """Return the command lines of cases by case_id, as far as the first records have them.

    Raises UserError when a shard cannot be read.
    """
    lines: dict[str, str] = {}
    for record in islice(read_records(folder / "records"), MAX_RECORDS):
        case_id = record.get("case_id")
        if case_id in case_ids and case_id not in lines and (line := command_line(record)):
            lines[str(case_id)] = line
            if len(lines) == len(case_ids):
                break
    return lines
