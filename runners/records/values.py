"""Valid records of runs, and their possible numbers: the same for every reader.

A line with an impossible status, case, repetition, warm-up flag or time is no record. Any other
impossible number is removed, and `unavailable` gives the reason, as for what was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.text import one_line
from base.units import MAX_DURATION_S
from runners.records.fields import NUMBERS, NUMBERS_BY_NAME, Range

# The status of a run, in one word; docs/records.md explains each.
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
# Not a run: the record of an idle baseline.
BASELINE = "baseline"
# A run with one of these is part of the study; an interrupted one is made again.
FINAL = (
    OK, FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED, SETTINGS_CHANGED, CLOCK_DRIFTED,
    SUSPENDED,
)  # fmt: skip
_RUN_STATUSES = frozenset((*FINAL, INTERRUPTED))

# From here on, floats cannot represent every whole number.
_MAX_COUNT = 2**53


def last_words(record: Mapping[str, Any]) -> str:
    """Return ` (it said: …)` with the last line of a run's stderr; empty where there is none."""
    line = one_line(str(record.get("stderr_tail") or "").strip().rpartition("\n")[2])
    return f" (it said: {line})" if line else ""


@dataclass(frozen=True)
class InvalidLine:
    """A line of a shard that is no record; `why` is one of a few texts, which contain no values."""

    why: str


TORN = InvalidLine("cut off or damaged")
ALTERED = InvalidLine("changed since they were written (their checksum is another)")


# Times are read from a clock that counts nanoseconds.
_TIME = (1e-9, MAX_DURATION_S)

# Without the value, which may differ in each of a thousand records.
_WRONG = "what the record says is impossible"


def without_impossible_numbers(record: dict[str, Any]) -> dict[str, Any] | InvalidLine:
    """Return a record without its impossible numbers, or why it is no record.

    `record` may be the head of a record only (runners.records.shard.HEAD).
    """
    if why := _invalid_reason(record):
        return InvalidLine(why)
    wrong = [
        name
        for name in NUMBERS.keys() & record.keys()
        if record[name] is not None and not _is_within(record[name], NUMBERS[name])
    ]
    mended = {
        name: inner
        for name in NUMBERS_BY_NAME.keys() & record.keys()
        if (inner := _possible(record[name], NUMBERS_BY_NAME[name])) is not None
    }
    if not (wrong or mended):
        return record
    recorded = record.get("unavailable")
    inside = (f"{of}.{key}" for of in mended for key in record[of].keys() - mended[of].keys())
    names = sorted([*wrong, *mended, *inside])
    reasons = (recorded if isinstance(recorded, dict) else {}) | dict.fromkeys(names, _WRONG)
    rest = {name: value for name, value in record.items() if name not in wrong}
    return rest | mended | {"unavailable": reasons}


def _invalid_reason(record: Mapping[str, Any]) -> str:
    """Return why this is no record; empty when it is one.

    Only runs must have a case and a repetition.
    """
    get = record.get
    status, case_id, repetition = get("status"), get("case_id"), get("repetition")
    if not isinstance(status, (str, type(None))):
        return "with a status that is no word"
    is_run = status in _RUN_STATUSES
    if (is_run or case_id is not None) and not (isinstance(case_id, str) and case_id):
        return "without a case"
    is_count = type(repetition) is int and 0 < repetition < _MAX_COUNT
    if (is_run or repetition is not None) and not is_count:
        return "with a repetition that is no number from 1"
    if not isinstance(get("warmup"), (bool, type(None))):
        return "with a warmup that is neither true nor false"
    if get("elapsed_s") is not None and not _is_within(get("elapsed_s"), _TIME):
        return "with a time (elapsed_s) that no run can take"
    return ""


def _possible(value: object, possible: Range) -> dict[str, Any] | None:
    """Return an object without its impossible numbers; None when there is nothing to change."""
    if not isinstance(value, dict) or all(_is_within(item, possible) for item in value.values()):
        return None
    return {key: item for key, item in value.items() if _is_within(item, possible)}


def _is_within(value: object, possible: Range) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return possible[0] <= value <= possible[1]
