"""The course of a run: how much CPU time its threads had used on which CPU, look by look. Pure.

A thread's CPU time between two looks (pinstudy/runners/placement/sampler.py) counts for the CPU on
which the later look found it. That is exact for a thread that stays on one CPU.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pinstudy.base.decoding import Amount, Cpu
from pinstudy.runners.records.placed_runs import QUARTERS

# How many points of a run's course are kept, at most twice as many; a quarter's end between two of
# them is interpolated.
POINTS = 64


@dataclass(frozen=True)
class Point:
    """The CPU time that all threads had used until a look: seconds by CPU.

    `at_s` is the time of the look, in seconds of a monotonic clock.
    """

    at_s: Amount
    cpu_s_on: dict[Cpu, Amount]


@dataclass
class Course:
    """The points of a run, evenly thinned when there are many."""

    points: list[Point] = field(default_factory=list)
    _step: int = 1
    _looks: int = 0

    def add(self, at_s: float, cpu_s_on: Mapping[int, float]) -> None:
        """Add a look; the latest one is always kept."""
        if self.points and (self._looks - 1) % self._step:
            self.points.pop()
        self.points.append(Point(at_s, dict(cpu_s_on)))
        self._looks += 1
        if len(self.points) == 2 * POINTS:
            del self.points[1:-1:2]
            self._step *= 2


def quarters(points: Sequence[Point]) -> list[dict[int, float]]:
    """Return the CPU time by CPU in each quarter of the time from the first look to the last."""
    first_s, last_s = points[0].at_s, points[-1].at_s
    quarter_s = (last_s - first_s) / QUARTERS
    ends = [_until(points, first_s + quarter_s * part) for part in range(QUARTERS + 1)]
    return [
        {cpu: after[cpu] - before.get(cpu, 0.0) for cpu in after}
        for before, after in pairwise(ends)
    ]


def _until(points: Sequence[Point], at_s: float) -> dict[int, float]:
    """Return the CPU time by CPU until a time, which may be between two points."""
    later = bisect_left(points, at_s, key=lambda point: point.at_s)
    after = points[min(later, len(points) - 1)]
    before = points[max(later - 1, 0)]
    span_s = after.at_s - before.at_s
    share = min(1.0, (at_s - before.at_s) / span_s) if span_s else 1.0
    return {
        cpu: (done := before.cpu_s_on.get(cpu, 0.0)) + share * (seconds - done)
        for cpu, seconds in after.cpu_s_on.items()
    }
