"""Name the candidates of a race by what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from base.cpulist import format_cpulist, parse_cpulist
from base.text import one_line, plural
from configs.study import CURRENT_GOVERNOR

_SAID_BEFORE = ("app", "variant", "size")
_SAID_AFTER = {
    "schedule": "schedule {}",
    "wait_policy": "wait policy {}",
    "governor": "governor {}",
}

Facts = Mapping[str, Any]


def names_of(cases: Sequence[Facts]) -> dict[str, str]:
    """Return the name of each case by its case_id: `8 threads, pcores-pin, schedule dynamic`."""
    differ = {
        key for key in (*_SAID_BEFORE, *_SAID_AFTER) if len({str(case[key]) for case in cases}) > 1
    }
    return {str(case["case_id"]): _name(case, differ) for case in cases}


def _name(case: Facts, differ: set[str]) -> str:
    before = [str(case[key]) for key in _SAID_BEFORE if key in differ]
    # A case under the governor in force asks for none.
    after = [
        text.format(case[key])
        for key, text in _SAID_AFTER.items()
        if key in differ and case[key] != CURRENT_GOVERNOR
    ]
    parts = [" ".join(before), plural(int(case["threads"]), "thread"), str(case["mapping"]), *after]
    return one_line(", ".join(filter(None, parts)))


def cpus_of(case: Facts) -> str:
    """Return the CPUs of a case: `CPUs 0-7`; empty where they are not known."""
    try:
        cpus = format_cpulist(parse_cpulist(str(case["cpus"])))
    except ValueError:
        return ""
    return f"CPU{'' if cpus.isdecimal() else 's'} {cpus}" if cpus else ""
