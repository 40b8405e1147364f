"""A case in numbers: what was run, the statistics of its runs, and what happened to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pinstudy.analysis.measures import BY_FIELD, UNMEASURED, Measure, Stats, fields_of
from pinstudy.analysis.objectives import Objective, of_printed, of_scope
from pinstudy.analysis.records.keys import CaseKey
from pinstudy.analysis.records.metrics import Metric, merged
from pinstudy.base.text import one_line
from pinstudy.configs.values import HIGHER
from pinstudy.runners.records.energy import SCOPES
from pinstudy.runners.records.lost_runs import LostRuns, lost_runs
from pinstudy.runners.records.placed_runs import PlacedRuns

if TYPE_CHECKING:
    from pinstudy.analysis.statistics.difference import Difference


Item = TypeVar("Item")


# What is placed in a run, by the record's field, whose reason stands there as well.
PLACEMENTS = {
    "placement": "placement",
    "vcpu_placement": "placement of vCPUs",
    "co_runner_placement": "placement of the co-runner",
}


class Neighbour(NamedTuple):
    """Another task: in how many runs it took most CPU time of all others, and how much at most."""

    runs: int
    most_s: float


@dataclass(frozen=True)
class Stated:
    """How a case differs from the case `against` (its case_id), as a source without runs says.

    `across_attempts`: no attempt made runs of both.
    """

    against: str
    difference: Difference
    across_attempts: bool = False


@dataclass(frozen=True)
class Circumstances:
    """What happened to the runs of a case.

    `drivers`, `governors_read` and `implementations` are the distinct ones of the averaged runs; so
    are `energy_aware_read`, the states of energy-aware scheduling, `schedulers_read`, those of
    sched_ext, and `power_supplies`, what the node ran from.

    `excluded` counts the runs that are not averaged by status; `unexplained` more were lost by
    causes that a source of means does not tell, None where it tells nothing of lost runs. `reasons`
    are by status or by field of the record. `skip_reason` is why the case was not run, None for one
    that was. `placed` counts the runs by whether the placement of threads, of a guest's CPUs and of
    a co-runner was proved; `unproved` counts the averaged runs in which it is not, by the names of
    PLACEMENTS. `disturbed` counts averaged runs by DISTURBANCES of runners.records.disturbances;
    `neighbours` are the tasks that took most CPU time of all others in the runs that shared their
    CPUs. `stated` has comparisons by objective, where a card states them. `out_of_turn`: its runs
    were not made in turn with its baseline's (results.baselines). `unclear` has what a card
    says of modes, by the objectives that have no outcome because of them.
    """

    drivers: Sequence[str] = ()
    governors_read: Sequence[str] = ()
    energy_aware_read: Sequence[str] = ()
    schedulers_read: Sequence[str] = ()
    power_supplies: Sequence[str] = ()
    implementations: Sequence[str] = ()
    excluded: Mapping[str, int] = field(default_factory=dict)
    unexplained: int | None = 0
    reasons: Mapping[str, Sequence[str]] = field(default_factory=dict)
    skip_reason: str | None = None
    unproved: Mapping[str, int] = field(default_factory=dict)
    placed: PlacedRuns = field(default_factory=PlacedRuns)
    disturbed: Mapping[str, int] = field(default_factory=dict)
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    stated: Mapping[str, Stated] = field(default_factory=dict)
    out_of_turn: bool = False
    unclear: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One row of a table of means.

    `n` runs are averaged (status ok, no warm-up), None where the source of imported means does not
    say how many. `stats` has their statistics by the columns of `pinstudy.analysis.measures`: all
    that are not by core kind, those by core kind that any run has, and the fields of `metrics`, the
    numbers that the program prints, in the app's order. `profiles` has means by core kind for each
    thread of the team, or each quarter of a run (PROFILES).
    """

    key: CaseKey
    n: int | None
    stats: Mapping[str, Stats]
    metrics: Sequence[Metric] = ()
    profiles: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    circumstances: Circumstances = field(default_factory=Circumstances)

    @property
    def has_runs(self) -> bool:
        """Whether any run is averaged; imported means are of some unless they say 0."""
        return self.n != 0

    @property
    def was_skipped(self) -> bool:
        """Whether the case was not run."""
        return self.circumstances.skip_reason is not None

    @property
    def lost(self) -> LostRuns:
        """The runs that were lost, by cause, and whether the case may be compared."""
        return lost_runs(
            self.n,
            self.circumstances.excluded,
            unproved=self.circumstances.placed.unproved,
            violated=self.circumstances.placed.violated,
            unexplained=self.circumstances.unexplained,
        )

    def lost_of(self, measure: str) -> LostRuns:
        """Return the runs that were lost to a measure; a case without any value of it lost none."""
        with_it = self.stat(measure).n
        missing = self.n - with_it if self.n and with_it else 0
        return self.lost.for_measure(missing)

    def stat(self, column: str) -> Stats:
        """Return the statistics of a column; no values for what other programs alone print."""
        found = (self.stats.get(name, UNMEASURED) for name in fields_of(column))
        return next((stats for stats in found if stats.is_known), UNMEASURED)

    def reasons_of(self, column: str) -> Sequence[str]:
        """Return why runs lack a column; of energy, that of the widest scope that has reasons."""
        reasons = (self.circumstances.reasons.get(name, ()) for name in fields_of(column))
        return next(filter(None, reasons), ())

    @property
    def energy_scope(self) -> str | None:
        """The scope of which the case has an energy; None without any."""
        return next((s for s, name in SCOPES.items() if self.stat(name).is_known), None)

    def by_kind(self, field: str) -> dict[str, Stats]:
        """Return those of a measure by core kind, of the kinds that have it, best kind first."""
        columns = BY_FIELD[field].columns
        return {
            kind: self.stats[column] for column, kind in columns.items() if column in self.stats
        }

    def means_by_kind(self, field: str) -> dict[str, float]:
        """Return the means of a measure by core kind."""
        return {kind: stats.mean for kind, stats in self.by_kind(field).items()}

    @property
    def time(self) -> Stats:
        """The program's time, in seconds."""
        return self.stats["elapsed_s"]


def grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Return the items of each key together, in the order of the keys' first items."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def metrics_of(cases: Iterable[Case]) -> list[Metric]:
    """Return the metrics of a table's cases in the app's order."""
    return merged(metric for case in cases for metric in case.metrics)


def objective_of(metric: Metric) -> Objective:
    """Return a metric as what cases are compared by."""
    name, unit = one_line(metric.name), one_line(metric.unit)
    return of_printed(name, metric.field, unit, higher=metric.better == HIGHER)


def objectives_of(cases: Sequence[Case]) -> tuple[Objective, ...]:
    """Return what the cases of a table are compared by: that of every program, then its own.

    These are the metrics of which the app says what is better, if all rows have one unit.
    """
    asked = [metric for metric in metrics_of(cases) if metric.better and len(metric.units) == 1]
    scope = _scope(cases)
    return (*of_scope(scope), *map(objective_of, asked))


def _scope(cases: Iterable[Case]) -> str:
    """Return the scope of cases' energy; where none has any, the widest that says why."""
    found = list(cases)
    known = (case.energy_scope for case in found)
    wider = (
        scope
        for scope, name in reversed(SCOPES.items())
        if any(case.circumstances.reasons.get(name) for case in found)
    )
    return next(filter(None, (*known, *wider)), "package")


def energy_measure(cases: Iterable[Case]) -> Measure:
    """Return the measure of cases' energy: of packages where no other scope has any or says why."""
    scope = _scope(cases)
    return BY_FIELD[SCOPES[scope]]


def why_not_averaged(metric: Metric) -> list[str]:
    """Return why a case has no mean of a metric: its runs have it in several units."""
    if len(metric.units) < 2:
        return []
    return [f"runs have it {in_units(metric)}, and numbers of several units have no mean"]


def in_units(metric: Metric) -> str:
    """Return the units of a metric in words: `in MB/s and in GB/s`."""
    return " and ".join(f"in {unit or 'an unknown unit'}" for unit in metric.units)
