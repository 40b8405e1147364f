"""The status of a run, in one word; docs/records.md explains each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinstudy.base.text import one_line

OK = "ok"
FAILED = "failed"
TIMEOUT = "timeout"
CHECK_FAILED = "check-failed"
PLACEMENT_VIOLATED = "placement-violated"
SETTINGS_CHANGED = "settings-changed"
CLOCK_DRIFTED = "clock-drifted"
SUSPENDED = "suspended"
INTERRUPTED = "interrupted"
SKIPPED = "skipped"
# Not a run: the record of an idle measurement.
IDLE = "idle"
# A run with one of these is part of the study; an interrupted one is made again.
FINAL = (
    OK, FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED, SETTINGS_CHANGED, CLOCK_DRIFTED,
    SUSPENDED,
)  # fmt: skip
RUN_STATUSES = frozenset((*FINAL, INTERRUPTED))


def last_words(record: Mapping[str, Any]) -> str:
    """Return ` (it said: …)` with the last line of a run's stderr; empty where there is none."""
    line = one_line((record.get("stderr_tail") or "").strip().rpartition("\n")[2])
    return f" (it said: {line})" if line else ""
