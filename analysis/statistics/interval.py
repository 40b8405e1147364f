"""An interval that holds a true value with a stated confidence."""

from __future__ import annotations

from dataclasses import dataclass

# The confidence of every interval that is shown.
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Both ends of an interval, in the unit of what it is of."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        """Half of the distance between the ends."""
        return (self.high - self.low) / 2
