"""Compares a guest's clock with the host's, because times are taken in the guest.

Both clocks are read before and after a run. The guest reads its clock somewhere between question
and answer, so the offset's uncertainty is half of the shortest round-trip time (Mills, RFC 5905,
section 8). Pure, apart from reading the clocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

QUESTIONS = 5
# A tenth of the smallest difference that a verdict reports (1%), and more than the 500 ppm by which
# the kernel slews a clock (adjtimex(2)).
MAX_DRIFT = 0.001


@dataclass(frozen=True)
class ClockReading:
    """The host's time, the offset of the guest's clock from it, and the offset's uncertainty."""

    host_s: float
    offset_s: float
    uncertainty_s: float


@dataclass(frozen=True)
class ClockCheck:
    """The drift of the guest's clock against the host's within a window, all in seconds."""

    window_s: float
    drift_s: float
    uncertainty_s: float

    @property
    def problem(self) -> str:
        """Why times of this guest cannot be trusted; empty when they can."""
        if abs(self.drift_s) <= self.uncertainty_s + MAX_DRIFT * self.window_s:
            return ""
        return (
            f"the guest's clock went {self.drift_s:+.4g} s (± {self.uncertainty_s:.2g} s) against "
            f"the host's in {self.window_s:.4g} s"
        )

    def fields(self) -> dict[str, Any]:
        """Return the record's field `clock`."""
        return {
            "window_s": self.window_s,
            "drift_s": self.drift_s,
            "uncertainty_s": self.uncertainty_s,
        }


def read_clock(ask_guest: Callable[[], float]) -> ClockReading:
    """Read the guest's monotonic time, in seconds, a few times; return the quickest reading."""
    readings = []
    for _ in range(QUESTIONS):
        before = time.monotonic()
        guest_s = ask_guest()
        after = time.monotonic()
        middle = (before + after) / 2
        readings.append(ClockReading(middle, guest_s - middle, (after - before) / 2))
    return min(readings, key=lambda reading: reading.uncertainty_s)


def compare(before: ClockReading, after: ClockReading) -> ClockCheck:
    """Return the drift of the guest's clock between two readings."""
    return ClockCheck(
        window_s=after.host_s - before.host_s,
        drift_s=after.offset_s - before.offset_s,
        uncertainty_s=before.uncertainty_s + after.uncertainty_s,
    )
