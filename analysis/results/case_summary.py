"""A case in numbers: what was run, means and deviations of its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from analysis.records.fields import MAX_RANKS_SHOWN, METRIC, RANK_SEPARATOR, TableKey
from analysis.records.metrics import Metric
from configs.scheduling import words_of
from runners.records.lost_runs import LostRuns, lost_runs
from runners.records.placed_runs import PlacedRuns

if TYPE_CHECKING:
    from analysis.statistics.difference import Difference

Item = TypeVar("Item")


# What is placed in a run, by the record's field, whose reason stands there as well.
PLACEMENTS = {
    "placement": "placement",
    "vcpu_placement": "placement of vCPUs",
    "beside_placement": "placement of the co-runner",
}


@dataclass(frozen=True)
class Moments:
    """A measure over a case's runs, in the measure's unit.

    `n` runs have it, None where the source of imported means does not say how many. `mean`, and
    `sd` with n - 1, are NaN where they are not known. `mean_text` and `sd_text` are the texts of
    imported ones, whose digits tables keep.
    """

    n: int | None = 0
    mean: float = math.nan
    sd: float = math.nan
    mean_text: str = ""
    sd_text: str = ""

    @property
    def is_known(self) -> bool:
        """Whether any run has it."""
        return not math.isnan(self.mean)


class Neighbour(NamedTuple):
    """Another task: in how many runs it took most CPU time of all others, and how much at most."""

    runs: int
    most_s: float


class Placing(NamedTuple):
    """A mapping: its name, which CPUs it selects, and how it binds; None where it is unknown."""

    mapping: str
    selection: str | None
    binding: str | None


@dataclass(frozen=True)
class Stated:
    """How a case differs from the case `against` (its case_id), as a source without runs says.

    `across_attempts`: no attempt made runs of both.
    """

    against: str
    difference: Difference
    across_attempts: bool = False


@dataclass(frozen=True)
class CaseSummary:
    """One row of a table of means.

    `number` is the row's. `n` runs are averaged (status ok, no warm-up), None where the source of
    imported means does not say how many. `measures` has all of MEASURES and MORE_MEASURES, and the
    fields of `metrics`, the numbers that the program prints, in the app's order; `time_median_s`,
    `time_min_s` and `time_max_s` are NaN where they are not known. `residency`, `cpu_share`
    (shares) and `freq_ghz` are means by core kind, and so are `waited` and `energy_by_kind`, joules
    of the kind's cores. `team_cpu_s` has the mean CPU seconds of each thread of the team by core
    kind, `course` those of each quarter of a run. `drivers`, `governors_read` and
    `implementations` are the distinct ones of the averaged runs; so are `energy_aware_read`, the
    states of energy-aware scheduling, and `schedulers_read`, those of sched_ext
    (runners.node.scheduler). `scheduler`, `energy_aware` and `itmt` are what the study asks for,
    None where a case takes what is in force. With `no_schedule` the program takes no loop schedule,
    and that of its table means nothing.

    `mpi` is the launcher of ranks, `ranks_by` how their mapping's CPUs were divided among them, and
    `rank_cpus` the CPUs of each rank (RANK_SEPARATOR between two); None without ranks.

    `excluded` counts the other runs by status; `unexplained` more were lost by causes that a source
    of means does not tell, None where it tells nothing of lost runs. `reasons` are by status or
    measure. `skip_reason` is why the case was not run, None for one that was. `placed` counts the
    runs by whether the placement of threads, of a guest's CPUs and of a co-runner was proved;
    `unproved` counts the averaged runs in which it is not, by the names of PLACEMENTS.
    `beside` names what ran beside the program, `beside_alone` is the case_id of that alone; None
    where nothing did. `disturbed` counts averaged runs by DISTURBANCES of
    runners.records.disturbances; `neighbours` are the tasks that took most CPU time of all others
    in the runs that shared their CPUs.
    `stated` has comparisons by objective, where a card states them. `out_of_turn`: its runs were
    not made in turn with its baseline's (analysis.results.turns). `unclear` has what a card says of
    modes, by the objectives that have no outcome because of them.
    """

    case_id: str
    table: TableKey
    number: int
    mapping: str
    governor: str
    n: int | None
    measures: Mapping[str, Moments]
    study: str | None = None
    node_id: str | None = None
    selection: str | None = None
    binding: str | None = None
    mechanism: str | None = None
    cpus: str | None = None
    engine: str | None = None
    vcpu_mapping: str | None = None
    vcpu_selection: str | None = None
    vcpu_binding: str | None = None
    vcpu_cpus: str | None = None
    scheduler: str | None = None
    energy_aware: str | None = None
    itmt: str | None = None
    algorithm: str | None = None
    no_schedule: bool = False
    mpi: str | None = None
    ranks_by: str | None = None
    rank_cpus: str | None = None
    beside: str | None = None
    beside_cpus: str | None = None
    beside_alone: str | None = None
    metrics: Sequence[Metric] = ()
    time_median_s: float = math.nan
    time_min_s: float = math.nan
    time_max_s: float = math.nan
    residency: Mapping[str, float] = field(default_factory=dict)
    freq_ghz: Mapping[str, float] = field(default_factory=dict)
    cpu_share: Mapping[str, float] = field(default_factory=dict)
    waited: Mapping[str, Moments] = field(default_factory=dict)
    energy_by_kind: Mapping[str, Moments] = field(default_factory=dict)
    team_cpu_s: Sequence[Mapping[str, float]] = ()
    course: Sequence[Mapping[str, float]] = ()
    drivers: Sequence[str] = ()
    governors_read: Sequence[str] = ()
    energy_aware_read: Sequence[str] = ()
    schedulers_read: Sequence[str] = ()
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

    @property
    def has_runs(self) -> bool:
        """Whether any run is averaged; imported means are of some unless they say 0."""
        return self.n != 0

    @property
    def lost(self) -> LostRuns:
        """The runs that were lost, by cause, and whether the case may be compared."""
        return lost_runs(
            self.n,
            self.excluded,
            unproved=self.placed.unproved,
            violated=self.placed.violated,
            unexplained=self.unexplained,
        )

    @property
    def of_threads(self) -> Placing:
        """The mapping of the threads, in a guest that of its threads to virtual CPUs."""
        return Placing(self.mapping, self.selection, self.binding)

    @property
    def of_vcpus(self) -> Placing | None:
        """The mapping of a guest's virtual CPUs; None of a case on the node itself."""
        if not self.vcpu_mapping:
            return None
        return Placing(self.vcpu_mapping, self.vcpu_selection, self.vcpu_binding)

    @property
    def guest(self) -> str:
        """The kind of guest in words, `a guest` or `an emulated guest`; empty on the node."""
        if not self.vcpu_mapping:
            return ""
        return "an emulated guest" if self.table.is_emulated else "a guest"

    @property
    def placing(self) -> Placing:
        """The mapping onto the node's CPUs: of the threads, or of the guest's virtual CPUs."""
        return self.of_vcpus or self.of_threads

    @property
    def setting(self) -> tuple[object, ...]:
        """What a case shares with the baseline that it is compared with."""
        of_case = self.mpi, self.governor, self.beside, self.engine
        return self.study, self.node_id, self.table, *of_case

    @property
    def scheduling(self) -> str:
        """Who places threads, in words: `scx_lavd, EAS off`; empty where a study does not say."""
        return words_of(self.scheduler, self.energy_aware, self.itmt)

    def moments(self, measure: str) -> Moments:
        """Return a measure; no values for what only the programs of other cases have printed."""
        return self.measures.get(measure, Moments())

    @property
    def time(self) -> Moments:
        """The program's time, in seconds."""
        return self.measures["elapsed_s"]

    @property
    def shown_cpus(self) -> str | None:
        """The CPUs of the mapping for readers, rank by rank where there are ranks: `0-1 | 4-5`."""
        if not self.rank_cpus:
            return self.cpus
        ranks = self.rank_cpus.split(RANK_SEPARATOR)
        if len(ranks) > 1 and len(set(ranks)) == 1:
            return f"{ranks[0]} each"
        more = [f"{len(ranks) - MAX_RANKS_SHOWN} more"] if len(ranks) > MAX_RANKS_SHOWN else []
        return RANK_SEPARATOR.join([*ranks[:MAX_RANKS_SHOWN], *more])

    @property
    def divided_by(self) -> str | None:
        """How CPUs were divided among several ranks; None where each rank may use all of them."""
        return self.ranks_by if (self.table.ranks or 0) > 1 and self.binding != "none" else None

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts cases as tables have them."""
        return (*self.table.order, self.number, self.case_id)


_UNITS = ("_s", "_j", "_js", "_js2", "_w", "_ghz", "_hz", "_bytes")


def grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Return the items of each key together, in the order of the keys' first items."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def with_unit_last(measure: str, statistic: str) -> str:
    """Return `elapsed_sd_s` for the sd of `elapsed_s`, `freq_sd_ghz` for that of a mean's."""
    stem, _, unit = measure.rpartition("_") if measure.endswith(_UNITS) else (measure, "", "")
    return "_".join(filter(None, (stem.removesuffix("_mean"), statistic, unit)))


def count_column(measure: str) -> str:
    """Return the column of how many runs have a measure: `energy_pkg_n`; counts have no unit."""
    stem = measure.rpartition("_")[0] if measure.endswith(_UNITS) else measure
    return f"{stem.removesuffix('_mean')}_n"


def of_metric(name: str, what: str) -> str:
    """Return the column of tables.csv that has one of OF_METRIC of a metric: `metric_rate_mean`."""
    return f"{METRIC.format(name)}_{what}"
