"""What a meter of a run is, whatever it measures."""

from __future__ import annotations

from typing import Protocol


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
