"""What a table is about, on one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.table import one_line
from configs.words import plural


def caption(case: Mapping[str, Any]) -> str:
    """Return the caption of the table that a row of `summarise` belongs to."""
    threads = plural(case["threads"], "thread")
    return one_line(
        f"{case['app']} ({case['variant']}), size {case['size']}, {threads}, "
        f"schedule {case['schedule']}, wait policy {case['wait_policy']}{_guest(case)}"
    )


def _guest(case: Mapping[str, Any]) -> str:
    if not case["vcpu_mapping"]:
        return ""
    return f", in a guest with {case['vm_cpus']} vCPUs and {case['vm_memory_mib']} MiB"
