"""What a table is about, on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.table import joined
from base.text import one_line, plural


def caption(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return the caption of the table that has these rows of `summarise`."""
    case = cases[0]
    program = f"{_implementation(cases)}{case['app']} ({case['variant']})"
    threads = plural(case["threads"], "thread")
    return one_line(
        f"{program}, size {case['size']}, {threads}, schedule {case['schedule']}, "
        f"wait policy {case['wait_policy']}{_guest(case)}"
    )


def _implementation(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return whose programs were run, where their records tell it."""
    told = dict.fromkeys(name for case in cases for name in case["implementations"])
    return f"{joined(told)}: " if told else ""


def _guest(case: Mapping[str, Any]) -> str:
    if not case["vcpu_mapping"]:
        return ""
    size = [plural(case["vm_cpus"], "vCPU")] if case["vm_cpus"] else []
    size += [f"{case['vm_memory_mib']} MiB"] if case["vm_memory_mib"] else []
    return ", in a guest" + (f" with {' and '.join(size)}" if size else "")
