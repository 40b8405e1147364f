"""Changes of a node's clocks while a study runs: its clock is set, or the node sleeps.

All durations are measured with CLOCK_MONOTONIC, which cannot be set. Only `started_at` comes from
CLOCK_REALTIME, which can be set. CLOCK_BOOTTIME goes on while the node sleeps, CLOCK_MONOTONIC does
not (clock_gettime(2)).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pinstudy.base.reading import Reading
from pinstudy.base.units import duration

# Slewing moves a clock too, but keeps times in order: adjtime(3) by at most 0.5 ms/s.
_SLEWED_PER_S = 0.001
_MIN_STEP_S = 1.0
# No node falls asleep and wakes up within this time. The clocks must be read within less, or a
# delay between two reads would look like sleep.
_MIN_SLEEP_S = 0.1
_READ_WITHIN_S = 0.02
_READ_ATTEMPTS = 20


@dataclass(frozen=True)
class Moment:
    """One moment by three clocks, in seconds."""

    realtime_s: float
    boottime_s: float
    monotonic_s: float

    @classmethod
    def now(cls) -> Moment:
        """Read the clocks, again if this process was delayed between two of them."""
        for _ in range(_READ_ATTEMPTS):
            monotonic_s = time.clock_gettime(time.CLOCK_MONOTONIC)
            boottime_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            realtime_s = time.clock_gettime(time.CLOCK_REALTIME)
            if time.clock_gettime(time.CLOCK_MONOTONIC) - monotonic_s < _READ_WITHIN_S:
                break
        return cls(realtime_s, boottime_s, monotonic_s)

    def set_since(self, before: Moment) -> float:
        """Return by how many seconds the clock was set since; negative is back, 0 is not set."""
        passed_s = self.boottime_s - before.boottime_s
        moved_s = self.realtime_s - before.realtime_s - passed_s
        return moved_s if abs(moved_s) > _MIN_STEP_S + _SLEWED_PER_S * passed_s else 0.0

    def slept_since(self, before: Moment) -> float:
        """Return for how many seconds the node slept since; 0 when it did not."""
        passed_s = self.boottime_s - before.boottime_s
        slept_s = passed_s - (self.monotonic_s - before.monotonic_s)
        return slept_s if slept_s > _MIN_SLEEP_S else 0.0


class ClockWatch:
    """Reads the clocks between the runs of an attempt.

    `set_s` is by how many seconds the clock was set since the attempt began.
    """

    def __init__(self, now: Callable[[], Moment] = Moment.now) -> None:
        self.now = now
        self.set_s = 0.0
        self._last = now()

    def look(self) -> list[str]:
        """Return what happened since the last look, one line each."""
        before, self._last = self._last, self.now()
        lines = []
        if set_s := self._last.set_since(before):
            self.set_s += set_s
            way = "back" if set_s < 0 else "forward"
            lines.append(
                f"the node's clock was set {way} by {duration(abs(set_s))}: started_at of the "
                "records jumps with it, what is measured does not"
            )
        if slept_s := self._last.slept_since(before):
            lines.append(f"the node slept for {duration(slept_s)}")
        return lines

    def measured(self) -> Reading:
        """Return `clock_set_s` as of the last look; nothing when the clock was not set."""
        return Reading({"clock_set_s": round(self.set_s, 3)} if self.set_s else {})
