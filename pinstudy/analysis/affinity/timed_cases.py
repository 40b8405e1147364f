"""Cases of the affinity experiments, whose programs time themselves: values and differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.published import Published, published_of
from pinstudy.analysis.records.gathered import THREADMAP
from pinstudy.analysis.records.metrics import METRIC
from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.baselines import are_in_turn, leaves_all
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import Sample, describe
from pinstudy.analysis.verdict.comparisons import Key, compare_all
from pinstudy.analysis.verdict.model import CaseFinding, Comparison, Findings, unusable
from pinstudy.analysis.verdict.values import (
    Values,
    difference_of,
    share_no_attempt,
    unclear_between,
    values_by_case,
)

CONTENTION, SMT, PINGPONG = "contention", "smt", "pingpong"
# What each program times by itself, by the name of the metric in its records.
TIMES = {CONTENTION: "round_ms", SMT: "thread_ms", PINGPONG: "latency_ns"}
APPS = (*TIMES, THREADMAP)
# Measured by `pinstudy latency` beside the cases.
LATENCY = "latency"


@dataclass(frozen=True, eq=False)
class Measured:
    """A case and its good runs' values of the time that its program reports, in its unit.

    `values` and `sample` are None where no good run has one.
    """

    case: CaseFinding
    values: Values | None = None
    sample: Sample | None = None

    @property
    def threads(self) -> int:
        """How many threads it has."""
        return self.case.summary.key.table.threads


@dataclass(frozen=True)
class Against:
    """How a case's time differs from that of another, which may be the mean of two cases."""

    others: tuple[Measured, ...]
    comparison: Comparison

    @property
    def difference(self) -> Difference:
        """The ratio of the times, case / other."""
        return self.comparison.difference


@dataclass(frozen=True)
class ExperimentRow:
    """A case of an experiment: what it is compared with, and what was published of it, if any."""

    measured: Measured
    against: Against | None
    published: Published | None


# A case and those that it is compared with: one, or several whose mean is.
Pair = tuple[Measured, tuple[Measured, ...]]


def measured_cases(results: Results, findings: Findings, app: str) -> list[Measured]:
    """Return the cases of one of the programs that time themselves, in the order of the tables."""
    cases = cases_of(findings, app)
    known = samples_of(results, app, TIMES[app]) if cases else {}
    return [Measured(case, *known.get(case.case_id, (None, None))) for case in cases]


def samples_of(results: Results, app: str, metric: str) -> dict[str, tuple[Values, Sample]]:
    """Return the good runs' values of a metric of an app, by case_id; where there are any."""
    column = METRIC.format(metric)
    if results.runs is None or column not in results.runs.frame:
        return {}
    frame = results.runs.frame
    by_case = values_by_case(frame[frame["app"] == app], [_timed(column)])
    known = {case_id: values for case_id, values in by_case.items() if len(values.known(TIME))}
    samples = describe([values.measured(TIME) for values in known.values()])
    return dict(zip(known, zip(known.values(), samples, strict=True), strict=True))


def _timed(column: str) -> Objective:
    """Return the time that a program took by its own clock, in the column's unit."""
    return Objective(TIME, column, TIME.noun, "")


def with_unpinned(group: Sequence[Measured]) -> list[Pair]:
    """Return every other case with the one that is left to the scheduler, if there is one."""
    free = next((case for case in group if leaves_all(case.case.summary)), None)
    return [(case, (free,)) for case in group if free is not None and case is not free]


def by_configuration(cases: Iterable[Measured]) -> list[list[Measured]]:
    """Return the cases in groups that share all but the placement and the number of threads."""

    def configuration(measured: Measured) -> tuple[object, ...]:
        case, table = measured.case.summary, measured.case.summary.key.table
        build = table.build, table.size, table.schedule, table.wait_policy
        settings = case.key.governor, case.key.setting_words
        return case.key.study, case.key.node_id, *build, *settings, case.key.engine

    return grouped(cases, configuration)


def compared(pairs: Sequence[Pair], margin: float) -> dict[Pair, Against]:
    """Return how cases differ from another, or from the mean of several; where that is known.

    All are tested together (Holm). Runs are paired by block where both were made in blocks; the
    mean of several cases is compared unpaired, from means and deviations.
    """
    keys: dict[Key, Pair] = {(str(at), TIME): pair for at, pair in enumerate(pairs)}
    differences = {
        key: difference
        for key, pair in keys.items()
        if (difference := _difference(*pair)) is not None
    }
    across = [key[0] for key in differences if _share_no_attempt(*keys[key])]
    comparisons = compare_all(differences, margin, lambda _: "this experiment", across)
    return {keys[key]: Against(keys[key][1], comparison) for key, comparison in comparisons.items()}


def _difference(case: Measured, against: Sequence[Measured]) -> Difference | None:
    if unusable(measured.case for measured in (case, *against)):
        return None
    values = [measured.values for measured in (case, *against) if measured.values is not None]
    if not against or len(values) <= len(against):
        return None
    if len(against) == 1:
        return difference_of(values[0], values[1], TIME)
    if not all(are_in_turn(values[0].made, other.made) for other in values[1:]):
        return None
    mine, *samples = (
        measured.sample for measured in (case, *against) if measured.sample is not None
    )
    n = min(sample.n for sample in samples)
    if min(mine.n, n) < 2:
        return None
    mean = sum(sample.mean for sample in samples) / len(samples)
    # The deviation of a mean of independent means, as that of one value of so many runs.
    variance = sum(sample.sd**2 / sample.n for sample in samples) / len(samples) ** 2
    sd = (variance * n) ** 0.5
    if not (mine.sd > 0 or sd > 0):
        return None
    return Difference.from_summary(mine.mean, mine.sd, mine.n, mean, sd, n)


def why_not_compared(cases: Sequence[Measured]) -> Literal["lost", "modes", "few"]:
    """Return why cases are not compared; modes are those of the times that programs report."""
    if unusable(measured.case for measured in cases):
        return "lost"
    values = [measured.values for measured in cases if measured.values is not None]
    hidden = any(unclear_between(first, second, [TIME]) for first, second in pairwise(values))
    return "modes" if hidden or any(TIME in measured.case.modes for measured in cases) else "few"


def _share_no_attempt(case: Measured, against: Sequence[Measured]) -> bool:
    return any(
        case.values and other.values and share_no_attempt(case.values, other.values)
        for other in against
    )


def column_means(
    results: Results, cases: Sequence[CaseFinding], column: str
) -> Mapping[str, float]:
    """Return the means of a column over the good runs of cases, by case_id; where there are any."""
    if results.runs is None or column not in results.runs.frame:
        return {}
    good = good_runs(results.runs.frame)
    mine = good[good["case_id"].isin([case.case_id for case in cases])]
    means = mine[column].groupby(mine["case_id"], observed=True).mean().dropna()
    return {str(case_id): float(mean) for case_id, mean in means.items()}


def cases_of(findings: Findings, app: str) -> list[CaseFinding]:
    """Return the cases of a program alone, in the order of the tables; without MPI ranks.

    The experiments compare threads of one process, which share what ranks do not, and which nothing
    runs beside.
    """
    return [
        case
        for case in findings.cases
        if case.summary.key.table.app == app
        and case.summary.key.table.is_one_process
        and not case.summary.key.co_runner
    ]


def published_for(experiment: str, case: CaseFinding) -> Published | None:
    """Return what was published of a case's size, threads and placement: pinned, or left alone."""
    summary = case.summary
    selection, binding = str(summary.key.selection), summary.key.binding
    if binding != ("none" if selection == "all" else "pin"):
        return None
    numbers = published_of(experiment, str(summary.key.table.size), selection)
    return numbers if numbers is not None and numbers.threads == summary.key.table.threads else None
