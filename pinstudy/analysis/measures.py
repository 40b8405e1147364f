"""What is averaged over the runs of a case, and how tables, files and comparisons name it.

A measure is declared here and nowhere else. `column` names it in the frame of runs and among the
means of a case; `csv_column` names its statistics in `tables.csv` and `summaries.csv`. A program's
own metrics, which are declared by its app, are named by `pinstudy.analysis.records.metrics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from pinstudy.analysis.format.numbers import ENERGY_DECIMALS, FREQUENCY_DECIMALS, TIME_DECIMALS
from pinstudy.configs.site import METER_SCOPES
from pinstudy.runners.node.topology import KIND_ORDER
from pinstudy.runners.records.energy import SCOPES
from pinstudy.runners.records.placed_runs import QUARTERS

MEAN_AND_SD = ("mean", "sd")
# All that `Stats` has, in its order.
NUMBERS = (*MEAN_AND_SD, "median", "min", "max")
# A share is named as it is: `residency_P`.
SHARE_ALONE = ("",)
# Of a run's CPU time; parts may have been rounded up.
MAX_SHARE = 1.01


@dataclass(frozen=True)
class Measure:
    """A number of a run that is averaged over those of a case.

    `field` is that of the record, with the unit last; `name` is what people type for it. With
    `by_kind` the record has an object of numbers by core kind. `statistics` are those that files
    have. A measure with a `heading` (in which `{}` is a core kind) is a column of tables, and where
    runs lack it the reason stands under them; `short` is the heading with the unit where there is
    little space. `decimals` are those of the column, None where it is a count. Nobody misses a
    measure whose column `only_with` is empty.

    Cases are compared by a measure with an `objective`, the name of what has to be small; `counted`
    says that there is less of it rather than a lower one. `signed` numbers may be below 0; one with
    `never_zero` is of an instrument that did not move where it is 0.
    """

    field: str
    name: str
    unit: str = ""
    noun: str = ""
    heading: str = ""
    short: str = ""
    decimals: int | None = None
    by_kind: bool = False
    statistics: tuple[str, ...] = MEAN_AND_SD
    only_with: str = "app"
    objective: str = ""
    counted: bool = True
    share: bool = False
    signed: bool = False
    never_zero: bool = False

    def column(self, kind: str = "") -> str:
        """Return its column in the frame: `elapsed_s`, `freq_P_ghz` of a core kind."""
        return with_unit_last(self.field, kind) if kind else self.field

    @property
    def columns(self) -> dict[str, str]:
        """Its columns in the frame with the core kind of each, empty for a plain number."""
        return {self.column(kind): kind for kind in self.kinds or ("",)}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The core kinds by which it is measured; none of a plain number."""
        return KIND_ORDER if self.by_kind else ()


def fields_of(column: str) -> tuple[str, ...]:
    """Return the record's fields that a column may be of, a wider scope of energy first."""
    return tuple(reversed(SCOPES.values())) if column == COMPARED_ENERGY else (column,)


_UNITS = ("_s", "_j", "_js", "_js2", "_w", "_ghz", "_hz", "_bytes")


def with_unit_last(field: str, word: str) -> str:
    """Return `elapsed_sd_s` for the sd of `elapsed_s`, `freq_sd_ghz` for that of a mean's."""
    stem, _, unit = field.rpartition("_") if field.endswith(_UNITS) else (field, "", "")
    return "_".join(filter(None, (stem.removesuffix("_mean"), word, unit)))


# In the order of the tables; those without a heading follow in files.
MEASURES = (
    Measure(
        "elapsed_s",
        "time",
        unit="s",
        noun="time",
        heading="time mean",
        short="time s",
        decimals=TIME_DECIMALS,
        statistics=NUMBERS,
        objective="time",
    ),
    Measure(
        "freq_mean_ghz",
        "frequency",
        unit="GHz",
        noun="frequency",
        heading="frequency",
        short="GHz",
        decimals=FREQUENCY_DECIMALS,
    ),
    Measure("migrations", "migrations", noun="migrations", heading="migrations", short="migr."),
    Measure(
        "vcpu_migrations",
        "vcpu_migrations",
        heading="vCPU migrations",
        short="vCPU migr.",
        only_with="vcpu_mapping",
    ),
    Measure(
        "context_switches",
        "switches",
        noun="context switches",
        heading="context switches",
        short="switches",
    ),
    Measure("cache_misses", "misses", noun="cache misses", heading="cache misses"),
    Measure(
        "energy_pkg_j",
        "energy",
        unit="J",
        noun="package energy",
        heading="energy package",
        short="pkg J",
        decimals=ENERGY_DECIMALS,
        objective="energy",
        never_zero=True,
    ),
    *(
        Measure(
            SCOPES[scope],
            f"energy_{scope}",
            unit="J",
            noun=f"{scope} energy",
            heading=f"energy {scope}",
            short=f"{scope} J",
            decimals=ENERGY_DECIMALS,
            only_with=SCOPES[scope],
            never_zero=True,
        )
        for scope in METER_SCOPES[1:]
    ),
    Measure(
        "energy_by_kind_j",
        "energy_by_kind",
        unit="J",
        noun="energy by core kind",
        heading="energy {}-cores",
        short="{} J",
        decimals=ENERGY_DECIMALS,
        by_kind=True,
        statistics=("mean",),
    ),
    Measure(
        "co_runner_elapsed_s",
        "co_runner_time",
        unit="s",
        heading="co-runner's time",
        short="co-runner s",
        decimals=TIME_DECIMALS,
        only_with="co_runner",
    ),
    Measure("co_runner_rate_hz", "co_runner_rate", unit="Hz", only_with="co_runner"),
    Measure("co_runner_completed", "co_runner_completed", only_with="co_runner"),
    Measure("co_runner_cpu_s", "co_runner_cpu", unit="s", only_with="co_runner"),
    Measure("task_clock_s", "task_clock", unit="s"),
    Measure("user_s", "user", unit="s"),
    Measure("system_s", "system", unit="s"),
    Measure("max_rss_bytes", "max_rss", unit="B"),
    Measure("energy_core_j", "energy_core", unit="J", never_zero=True),
    # An idle graphics unit alone has an energy of 0.
    Measure("energy_uncore_j", "energy_uncore", unit="J"),
    Measure("energy_dram_j", "energy_dram", unit="J", never_zero=True),
    Measure("energy_psys_j", "energy_psys", unit="J", never_zero=True),
    # Below 0 where the idle node was less idle than thought.
    Measure("energy_net_j", "energy_net", unit="J", signed=True),
    Measure("idle_power_w", "idle_power", unit="W"),
    Measure("power_pkg_w", "power", unit="W"),
    Measure(
        "edp_js", "edp", unit="J s", noun="energy-delay product", objective="edp", counted=False
    ),
    Measure("ed2p_js2", "ed2p", unit="J s²"),
    Measure("imbalance", "imbalance", share=True),
    Measure("launcher_cpu_s", "launcher_cpu", unit="s", only_with="ranks"),
    Measure("freq_ghz", "frequency_by_kind", unit="GHz", by_kind=True, statistics=("mean",)),
    Measure("residency", "residency", by_kind=True, statistics=SHARE_ALONE, share=True),
    Measure("cpu_share", "cpu_share", by_kind=True, statistics=SHARE_ALONE, share=True),
    Measure("waited", "waited", by_kind=True, statistics=SHARE_ALONE, share=True),
    # Figures of contention alone show it.
    Measure("l1d_miss_rate", "l1d_miss_rate", by_kind=True, statistics=(), share=True),
)
# By their columns in the frame.
MEASURE_OF = {column: measure for measure in MEASURES for column in measure.columns}
BY_FIELD = {measure.field: measure for measure in MEASURES}
BY_NAME = {measure.name: measure for measure in MEASURES}
# The columns of those that every case has a mean of, if only an unknown one.
PLAIN = tuple(measure.field for measure in MEASURES if not measure.by_kind)
OF_KINDS = tuple(measure for measure in MEASURES if measure.by_kind)
ENERGY_BY_KIND = "energy_by_kind_j"
# In frames: a run's energy, of whichever scope its meter takes in. All of one frame have one meter.
COMPARED_ENERGY = "energy_j"
# What stands in tables, whose reasons are told.
SHOWN = tuple(measure for measure in MEASURES if measure.heading)
# Lists of objects by core kind, by the record's field: of each thread of the team, of each quarter
# of a run. A figure of more threads could not be read.
PROFILES = {"team_cpu_s": 64, "course": QUARTERS}


class Statistic(NamedTuple):
    """A column of a file of means: which statistic it is, and of which column of the frame.

    `name` is one of the measure's `statistics`, or `n`, the runs that have the measure.
    """

    column: str
    name: str

    @property
    def measure(self) -> Measure:
        """What it is a statistic of."""
        return MEASURE_OF[self.column]


def csv_column(column: str, statistic: str) -> str:
    """Return the column of a statistic: `elapsed_sd_s`, `freq_P_mean_ghz`, `energy_pkg_n`."""
    if statistic == "n":
        stem = column.rpartition("_")[0] if column.endswith(_UNITS) else column
        return f"{stem.removesuffix('_mean')}_n"
    return with_unit_last(column, statistic)


# The columns of files of means that have measures.
STATISTICS = {
    csv_column(column, name): Statistic(column, name)
    for measure in MEASURES
    for column in measure.columns
    for name in measure.statistics and (*measure.statistics, "n")
}


@dataclass(frozen=True)
class Stats:
    """A measure over a case's runs, in the measure's unit.

    `n` runs have it, None where the source of imported means does not say how many. `mean`, `sd`
    (with n - 1) and the other numbers are NaN where they are not known. `mean_decimals` and
    `sd_decimals` are those that the source of imported numbers gives.
    """

    n: int | None = 0
    mean: float = math.nan
    sd: float = math.nan
    median: float = math.nan
    min: float = math.nan
    max: float = math.nan
    mean_decimals: int | None = field(default=None, kw_only=True)
    sd_decimals: int | None = field(default=None, kw_only=True)

    @property
    def is_known(self) -> bool:
        """Whether any run has it."""
        return not math.isnan(self.mean)

    def statistic(self, name: str) -> float:
        """Return one of a measure's `statistics`."""
        return float(getattr(self, name or "mean"))


# Of a measure that no run has.
UNMEASURED = Stats()
