"""The name of an event that is handed to perf."""

from __future__ import annotations

import re

# The name of an event as perf takes it, perf-list(1): a name, `tracepoint:name` or `pmu/terms/`,
# then modifiers. No braces: perf splits groups on hybrid nodes. A comma elsewhere would make two
# events of one.
_EVENT = re.compile(r"[A-Za-z][\w.-]*(?::[\w.-]+){0,2}|[A-Za-z][\w.-]*/[\w.:=,@%+-]+/\w*", re.ASCII)
# perf up to Linux 6.4 takes what ends so for the file of a BPF program, which it compiles, or loads
# into the kernel, wherever that stands (tools/perf/util/parse-events.l).
BPF_FILE = re.compile(r"\.(?:c|o|bpf)(?![A-Za-z])", re.ASCII)
_MAX_EVENT_CHARACTERS = 200


def event_problem(name: str) -> str | None:
    """Return why a text is no event that may be handed to perf, or None."""
    if len(name) <= _MAX_EVENT_CHARACTERS and _EVENT.fullmatch(name) and not BPF_FILE.search(name):
        return None
    return (
        f"{name[:_MAX_EVENT_CHARACTERS]!r} is not an event; expected a name of 'perf list', "
        "such as branch-misses or cpu_core/cycles/"
    )
