"""Which texts may be handed to perf as the name of an event, perf-list(1)."""

from __future__ import annotations

import re

# A name, `tracepoint:name` or `pmu/terms/`, then modifiers. No braces: perf splits groups on
# hybrid nodes. A comma elsewhere would make two events of one.
_EVENT = re.compile(r"[A-Za-z][\w.-]*(?::[\w.-]+){0,2}|[A-Za-z][\w.-]*/[\w.:=,@%+-]+/\w*", re.ASCII)
# perf takes these for BPF programs to be compiled, or loaded, into the kernel.
_BPF_FILE = re.compile(r".*\.(c|o|bpf)(:.*)?", re.ASCII | re.DOTALL)
_MAX_NAME_CHARACTERS = 200


def event_problem(name: str) -> str:
    """Say why a text is no event that may be handed to perf; empty when it is one."""
    if len(name) > _MAX_NAME_CHARACTERS or not _EVENT.fullmatch(name) or _BPF_FILE.fullmatch(name):
        return (
            f"{name[:_MAX_NAME_CHARACTERS]!r} is not an event; expected a name of 'perf list', "
            "such as branch-misses or cpu_core/cycles/"
        )
    return ""
