"""The time as records and files tell it."""

from __future__ import annotations

from datetime import datetime, timezone


def utc_now(timespec: str = "seconds") -> str:
    """Return the time in UTC, in ISO 8601 format; `timespec` is that of `datetime.isoformat`."""
    return datetime.now(timezone.utc).isoformat(timespec=timespec)
