"""What the looks at a thread found, and the CPU time of all threads over the course of a run. Pure.

A thread's CPU time between two looks (pinstudy/runners/placement/sampler.py) counts for the CPU on
which the later look found it. That is exact for a thread that stays on one CPU.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.decoding import Amount, Count, Cpu
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


Mask = tuple[Cpu, ...]


@dataclass
class Stay:
    """Consecutive looks at a thread that found the same affinity mask.

    `ran_on` counts the looks by the CPU on which the thread ran last; `cpu_s` is its CPU time in
    seconds at the last of these looks. `used_s` is what it used of that meanwhile, and since the
    look before where the first one found it at work; None where that is not known. `spent_s` is
    what it used of that meanwhile and since the look before, whose part is `entering_s`: a look
    before found the thread elsewhere, or not at all.
    """

    allowed: Mask
    looks: Count = 0
    ran_on: dict[Cpu, Count] = field(default_factory=dict)
    cpu_s: Amount = 0.0
    used_s: Amount | None = None
    spent_s: Amount | None = None
    entering_s: Amount = 0.0


@dataclass
class ThreadTrace:
    """One thread: its process and its stays, from the first look that found it to the last.

    `gone_s` estimates how long it lived after the last look that found it: half of the time until
    the next look, or all of it if it was at work, or that look was at the program's end. `runnable`
    has the looks at which it worked or waited for a CPU only, each with the time since the look
    before. `cpu_s_on` has its CPU time by CPU, without the look at the program's end. `pace` is the
    share of the time that it worked when it was last looked at: 1 where it was at work, else that
    since the look before. `team` is that of its process, 0 of the only one.
    Times are in seconds, looks are numbered.
    """

    tid: Count
    pid: Count
    stays: list[Stay] = field(default_factory=list)
    first_look: Count = 0
    last_look: Count = 0
    gone_s: Amount = 0.0
    runnable: dict[Count, Amount] = field(default_factory=dict)
    cpu_s_on: dict[Cpu, Amount] = field(default_factory=dict)
    team: Count = 0
    pace: Amount = 1.0

    @property
    def allowed(self) -> Mask:
        """The mask at the last look."""
        return self.stays[-1].allowed if self.stays else ()

    @property
    def masks(self) -> Counter[Mask]:
        """The looks by mask, in the order in which the masks were first seen."""
        return sum((Counter({stay.allowed: stay.looks}) for stay in self.stays), Counter())

    @property
    def ran_on(self) -> Counter[int]:
        """The looks by the CPU on which the thread ran last."""
        return sum((Counter(stay.ran_on) for stay in self.stays), Counter())

    @property
    def looks(self) -> int:
        """How many looks found the thread."""
        return sum(stay.looks for stay in self.stays)

    @property
    def runnable_s(self) -> float:
        """How long it worked or waited for a CPU only, in seconds."""
        return sum(self.runnable.values())

    @property
    def cpu_s(self) -> float:
        """Its CPU time at the last look, in seconds."""
        return self.stays[-1].cpu_s if self.stays else 0.0

    @property
    def spent_s(self) -> list[float]:
        """The CPU time of each stay, in seconds; of one that does not tell, until its last look."""
        before_s, times = 0.0, []
        for stay in self.stays:
            known_s = stay.cpu_s - before_s if stay.spent_s is None else stay.spent_s
            times.append(known_s)
            before_s = stay.cpu_s
        return times


def seen_fields(trace: ThreadTrace) -> dict[str, Any]:
    """Return what records have of the looks at a thread: its last mask, and the looks by CPU."""
    seen = {str(cpu): count for cpu, count in sorted(trace.ran_on.items())}
    return {"allowed": format_cpulist(trace.allowed), "seen": seen}
