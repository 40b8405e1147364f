"""Meters that read the node's state before a run and after it, and tell the difference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

State = TypeVar("State")


class BeforeAfterMeter(ABC, Generic[State]):
    """Keeps the states at both ends of a run, as a meter of execution; one serves many runs."""

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
