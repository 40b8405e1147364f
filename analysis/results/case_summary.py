"""A case in numbers: what was run, means and deviations of its runs, and what is not in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runners.records.placed_runs import PlacedRuns


class TableKey(NamedTuple):
    """What the cases of a table share; `number` is None where the source does not number tables."""

    number: int | None
    app: str
    variant: str
    size: str
    threads: int
    schedule: str
    wait_policy: str


@dataclass(frozen=True)
class Moments:
    """A measure over a case's runs, in the measure's unit.

    `n` runs have it, None where the source of imported means does not say how many. `mean`, and
    `sd` with n - 1, are NaN where they are not known. `mean_given` and `sd_given` are the texts of
    imported ones, whose digits tables keep.
    """

    n: int | None = 0
    mean: float = math.nan
    sd: float = math.nan
    mean_given: str = ""
    sd_given: str = ""


class Placing(NamedTuple):
    """A mapping: its name, which CPUs it selects, and how it binds; None where nobody tells."""

    mapping: str
    selection: str | None
    binding: str | None


@dataclass(frozen=True)
class CaseSummary:
    """One row of a table of means.

    `number` is the row's. `n` runs are averaged (status ok, no warm-up), None where the source of
    imported means does not say how many. `measures` has all of MEASURES and MORE_MEASURES
    (analysis.results.fields); `time_median_s`, `time_min_s` and `time_max_s` are NaN where they are
    not known. `residency` (shares) and `freq_ghz` are means by core kind. `drivers`,
    `governors_read` and `implementations` are the distinct ones of the averaged runs.

    `excluded` counts the other runs by status; `reasons` are given by status or measure. `left_out`
    is why the case was not run, None for one that was. `placed` counts the runs by whether the
    placement of threads, and of a guest's CPUs, was proved; `unproved` and `vcpus_unproved` tell
    the two apart. `disturbed` counts averaged runs by runners.records.disturbances.DISTURBANCES.
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
    vm_cpus: int | None = None
    vm_memory_mib: int | None = None
    vm_accelerator: str | None = None
    algorithm: str | None = None
    time_median_s: float = math.nan
    time_min_s: float = math.nan
    time_max_s: float = math.nan
    residency: Mapping[str, float] = field(default_factory=dict)
    freq_ghz: Mapping[str, float] = field(default_factory=dict)
    drivers: Sequence[str] = ()
    governors_read: Sequence[str] = ()
    implementations: Sequence[str] = ()
    excluded: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left_out: str | None = None
    unproved: int = 0
    vcpus_unproved: int = 0
    placed: PlacedRuns = field(default_factory=PlacedRuns)
    disturbed: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_runs(self) -> bool:
        """Whether any run is averaged; imported means are of some unless they say 0."""
        return self.n != 0

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
    def time(self) -> Moments:
        """The program's time, in seconds."""
        return self.measures["elapsed_s"]

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts cases as tables have them; tables without a number come first."""
        return (self.table.number or 0, *self.table[1:], self.number, self.case_id)
