"""The samples of a race: values by case and block, times, and how many runs were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from statistics import fmean, variance

from pinstudy.runners.records.placed_runs import VIOLATED, PlacedRuns
from pinstudy.runners.records.race.confirmation import Typical
from pinstudy.runners.records.race_state import OVERHEAD_S, RaceRun


@dataclass(frozen=True)
class Value:
    """A good run's value as a logarithm, less is better."""

    block: int
    repetition: int
    number: float


def took(run: RaceRun) -> float:
    """Return the seconds of a run with its overhead, estimated where it was not recorded."""
    return max(run.took_s, run.elapsed_s + OVERHEAD_S)


@dataclass
class RaceSamples:
    """The runs of a race; with `higher`, higher values are better."""

    higher: bool
    runs: int = 0
    spent_s: float = 0.0
    _values: dict[str, list[Value]] = field(default_factory=dict)
    _times: dict[str, list[float]] = field(default_factory=dict)
    _took: dict[str, list[float]] = field(default_factory=dict)
    _run_counts: dict[str, int] = field(default_factory=dict)
    _placed: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, case_id: str, block: int, repetition: int, run: RaceRun) -> None:
        """Add a run of a block."""
        self.runs += 1
        self._run_counts[case_id] = repetition
        # Good runs, and those whose only fault is their placement.
        if run.placed and (run.value is not None or run.placed == VIOLATED):
            self._placed.setdefault(case_id, Counter())[run.placed] += 1
        self.add_time(case_id, run)
        if run.value is not None:
            number = -log(run.value) if self.higher else log(run.value)
            self._values.setdefault(case_id, []).append(Value(block, repetition, number))

    def add_time(self, case_id: str, run: RaceRun) -> None:
        """Add the time of a run, which may be a warm-up run."""
        took_s = took(run)
        self.spent_s += took_s
        if run.elapsed_s > 0:
            self._took.setdefault(case_id, []).append(took_s)
            self._times.setdefault(case_id, []).append(run.elapsed_s)

    def run_count(self, case_id: str) -> int:
        """Return how many runs a case has made, good or not."""
        return self._run_counts.get(case_id, 0)

    def placed(self, case_id: str) -> PlacedRuns:
        """Return how many of a case's runs had their placement proved, unproved and violated."""
        return PlacedRuns(**self._placed.get(case_id, Counter()))

    def values(self, case_id: str) -> Sequence[Value]:
        """Return a case's values, in the order of its runs."""
        return self._values.get(case_id, [])

    def typical(self, case_id: str) -> Typical:
        """Return a case's typical logarithm; it has one value at least."""
        return Typical.of(value.number for value in self.values(case_id))

    def rank(self, case_id: str) -> float:
        """Return what cases are ranked by: the typical value and its standard error.

        The error prefers the steadier of two cases that cannot be told apart; two values have none
        to speak of. Infinite without a value.
        """
        if not self.values(case_id):
            return inf
        typical = self.typical(case_id)
        return typical.mean + (typical.error if len(self.values(case_id)) > 2 else 0.0)

    def one_s(self, case_id: str) -> float:
        """Return the mean seconds of a case's runs with their overhead, 0 when unknown."""
        times = self._took.get(case_id, [])
        return fmean(times) if times else 0.0

    def shortest_s(self) -> float | None:
        """Return the seconds of the shortest run of all; None before there is one."""
        return min(map(min, self._times.values()), default=None)

    def noise(self) -> float | None:
        """Return the deviation of one value, pooled over cases; None without two of any."""
        several = [[run.number for run in runs] for runs in self._values.values() if len(runs) > 1]
        df = sum(len(numbers) - 1 for numbers in several)
        squares = sum((len(numbers) - 1) * variance(numbers) for numbers in several)
        return sqrt(squares / df) if df else None
