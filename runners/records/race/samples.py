"""The samples of a race: values by case and block, times, and how many runs were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log, sqrt

from runners.records.placed_runs import VIOLATED, PlacedRuns
from runners.records.race.elimination import SampleMatrix
from runners.records.race.student_t import Moments
from runners.records.race_state import OVERHEAD_S, RaceRun


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

    def numbers(self, case_id: str) -> list[float]:
        """Return the logarithms of a case's values."""
        return [value.number for value in self.values(case_id)]

    def one_s(self, case_id: str) -> float:
        """Return the mean seconds of a case's runs with their overhead, 0 when unknown."""
        times = self._took.get(case_id, [])
        return sum(times) / len(times) if times else 0.0

    def shortest_s(self) -> float | None:
        """Return the seconds of the shortest run of all; None before there is one."""
        return min(map(min, self._times.values()), default=None)

    def first_values(self, cases: Iterable[str], block: int) -> dict[str, float]:
        """Return the values of the cases whose only value is of this block."""
        values_of = {case_id: self.values(case_id) for case_id in cases}
        return {
            case_id: values[0].number
            for case_id, values in values_of.items()
            if len(values) == 1 and values[0].block == block
        }

    def field(self, cases: Sequence[str]) -> SampleMatrix | None:
        """Return the blocks in which all these cases have a value; None below two of either."""
        if len(cases) < 2:
            return None
        by_block = {
            case_id: {value.block: value.number for value in self.values(case_id)}
            for case_id in cases
        }
        blocks = sorted(set.intersection(*map(set, by_block.values())))
        if len(blocks) < 2:
            return None
        return SampleMatrix(
            {case_id: [of[block] for block in blocks] for case_id, of in by_block.items()}
        )

    def noise(self) -> float | None:
        """Return the deviation of one value, pooled over cases; None without two of any."""
        moments = [Moments.of(of) for of in map(self.numbers, self._values) if len(of) > 1]
        df = sum(of.count - 1 for of in moments)
        return sqrt(sum((of.count - 1) * of.variance for of in moments) / df) if df else None
