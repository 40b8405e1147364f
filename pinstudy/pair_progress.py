"""The progress of measuring pairs of CPUs: a bar on the terminal."""

from __future__ import annotations

import time

from base.units import duration
from pinstudy.progress import open_bar

# Drawing takes time of a CPU whose latency may just be measured.
REDRAWN_EVERY_S = 0.5


class PairProgress:
    """Shows how many pairs are done and how long the others take."""

    def __init__(self, pairs: int) -> None:
        self._pairs = pairs
        self._shown_s = 0.0

    def __enter__(self) -> PairProgress:
        self._bar, self._task = open_bar(self._pairs)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar:
            self._bar.stop()

    def done(self, pairs: int, _of: int, left_s: float | None) -> None:
        """Show so many pairs as done."""
        now_s = time.monotonic()
        if self._bar and (now_s - self._shown_s > REDRAWN_EVERY_S or pairs == self._pairs):
            self._shown_s = now_s
            text = "pairs" if left_s is None else f"pairs, about {duration(left_s)} left"
            self._bar.update(self._task, completed=pairs, description=text, refresh=True)
