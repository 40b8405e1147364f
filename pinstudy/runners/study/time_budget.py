"""A time budget for an attempt: after the first run none starts that would end after it."""

from __future__ import annotations

import time

from pinstudy.base.errors import StoppedError
from pinstudy.base.units import duration


class TimeIsUpError(StoppedError):
    """The budget is spent; what was measured is on the disk."""


class TimeBudget:
    """Seconds from now on; an Assignment's `may_start`."""

    def __init__(self, budget_s: float) -> None:
        self._text = duration(budget_s)
        self._ends_s = time.monotonic() + budget_s
        self._started = False

    def __call__(self, expected_s: float | None) -> None:
        """Raise TimeIsUpError when a run of so many seconds would end too late.

        Never for the first one: an attempt that makes none would never come to an end.
        """
        first, self._started = not self._started, True
        if not first and time.monotonic() + (expected_s or 0.0) > self._ends_s:
            raise TimeIsUpError(f"the time is up ({self._text}); a second start goes on")
