"""What a meter of a run is, and meters that tell how the node's state differs after a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

State = TypeVar("State")


class Meter(Protocol):
    """Measures something around a run: energy, temperature.

    Meters nest: the first of several starts first and stops last, farthest from the program.
    """

    def start(self) -> None:
        """Read the state before the program is released."""

    def sample(self) -> None:
        """Called now and then while the program runs, so that counters cannot wrap unseen."""

    def stop(self) -> None:
        """Read the state after the program has ended."""


class BeforeAfterMeter(ABC, Generic[State]):
    """Keeps the states at both ends of a run; one serves many runs."""

    def __init__(self, nothing: State) -> None:
        """`nothing` is the state of what was not read."""
        self._nothing = self._before = self._after = nothing

    def start(self) -> None:
        """Take the state before a run."""
        self._before, self._after = self._read(), self._nothing

    def sample(self) -> None:
        """Nothing to follow: what is counted does not wrap within a run."""

    def stop(self) -> None:
        """Take the state after a run."""
        self._after = self._read()

    @abstractmethod
    def _read(self) -> State:
        """Return the state now."""
