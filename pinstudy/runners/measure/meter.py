"""The interface of meters, a run's nested meters, and the base class of before-after meters."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

# How often meters are sampled while the program runs.
METER_S = 1.0

State = TypeVar("State")


class Meter(Protocol):
    """Measures something around a run: energy, temperature."""

    def start(self) -> None:
        """Read the state before the program is released."""

    def sample(self) -> None:
        """Called regularly while the program runs, so that no counter wraps around unseen."""

    def stop(self) -> None:
        """Read the state after the program has ended."""


class Meters:
    """The meters of one run, nested: the first one is farthest from the program."""

    def __init__(self, meters: Iterable[Meter]) -> None:
        self._meters = tuple(meters)
        self._next_s = 0.0

    def start(self) -> None:
        """Start all of them, the first one first."""
        for meter in self._meters:
            meter.start()
        self._next_s = time.monotonic() + METER_S

    def sample_if_due(self, now_s: float) -> bool:
        """Sample all of them every METER_S seconds; return whether it was time for that."""
        if now_s < self._next_s:
            return False
        self._next_s = now_s + METER_S
        for meter in self._meters:
            meter.sample()
        return True

    def stop(self) -> None:
        """Stop all of them, the first one last."""
        for meter in reversed(self._meters):
            meter.stop()


class BeforeAfterMeter(ABC, Generic[State]):
    """Keeps the states before and after a run; one meter serves many runs."""

    _before: State
    _after: State

    def start(self) -> None:
        """Read the state before a run."""
        self._before = self._read()

    def sample(self) -> None:
        """Do nothing: these counters do not wrap around within a run."""

    def stop(self) -> None:
        """Read the state after a run."""
        self._after = self._read()

    @abstractmethod
    def _read(self) -> State:
        """Return the state now."""
