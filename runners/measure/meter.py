"""The interface of meters, and the base class of meters that compare the states around a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

State = TypeVar("State")


class Meter(Protocol):
    """Measures something around a run: energy, temperature.

    Meters nest: the first one starts first and stops last, so it is farthest from the program.
    """

    def start(self) -> None:
        """Read the state before the program is released."""

    def sample(self) -> None:
        """Called regularly while the program runs, so that no counter wraps around unseen."""

    def stop(self) -> None:
        """Read the state after the program has ended."""


class BeforeAfterMeter(ABC, Generic[State]):
    """Keeps the states before and after a run; one meter serves many runs."""

    def __init__(self, nothing: State) -> None:
        """`nothing` stands for a state that was not read."""
        self._nothing = self._before = self._after = nothing

    def start(self) -> None:
        """Read the state before a run."""
        self._before, self._after = self._read(), self._nothing

    def sample(self) -> None:
        """Do nothing: these counters do not wrap around within a run."""

    def stop(self) -> None:
        """Read the state after a run."""
        self._after = self._read()

    @abstractmethod
    def _read(self) -> State:
        """Return the state now."""
