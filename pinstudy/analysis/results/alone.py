"""Which cases show what a case beside a co-runner, and its co-runner, do when each runs alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from pinstudy.analysis.results.case import Case


@dataclass(frozen=True)
class Alone:
    """The case with nothing beside it, and the co-runner alone; None where there is no such case.

    The slowdowns are ratios of means, without an interval; None where a mean is not known, or where
    too many runs were lost for a comparison.
    """

    case: Case
    program: Case | None
    co_runner: Case | None

    @property
    def slowdown(self) -> float | None:
        """The program's mean time over that alone."""
        return self._ratio(self.case.time.mean, self.program)

    @property
    def co_runner_slowdown(self) -> float | None:
        """The co-runner's mean time over that alone."""
        return self._ratio(self.case.stats["co_runner_elapsed_s"].mean, self.co_runner)

    def _ratio(self, mean: float, alone: Case | None) -> float | None:
        if not (alone and alone.lost.usable and self.case.lost.usable):
            return None
        # NaN is not above 0.
        return mean / alone.time.mean if mean > 0 and alone.time.mean > 0 else None


def alone_of(cases: Iterable[Case]) -> Mapping[str, Alone]:
    """Return the cases alone of each case that something ran beside, by its case_id."""
    everyone = list(cases)
    by_id = {case.key.case_id: case for case in everyone}
    by_placing = {_placing(case): case for case in everyone if not case.key.co_runner}
    return {
        case.key.case_id: Alone(
            case, by_placing.get(_placing(case)), by_id.get(case.key.co_runner_alone or "")
        )
        for case in everyone
        if case.key.co_runner
    }


def only_alone(cases: Iterable[Case], of: Mapping[str, Alone]) -> bool:
    """Return whether all cases are co-runners, which are there to be compared with."""
    co_runners = {alone.co_runner.key.case_id for alone in of.values() if alone.co_runner}
    return all(case.key.case_id in co_runners for case in cases)


def _placing(case: Case) -> Hashable:
    """Return what a case shares with the same one beside something else."""
    where = (
        case.key.mapping,
        case.key.mechanism,
        case.key.binding,
        case.key.cpus,
        case.key.rank_cpus,
    )
    settings = case.key.governor, case.key.setting_words
    return case.key.study, case.key.node_id, case.key.table, case.key.mpi, settings, where
