"""Cases of experiments whose programs time themselves: values, differences, and their sections.

A section of the report is a table with its conclusion, and what is lacking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

from pinstudy.analysis.format.numbers import NOTHING, fixed, time_decimals
from pinstudy.analysis.format.table import Column, Table, Written, joined, table_of
from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.published import Published, published_of, sources_of
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
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import interval_of, outcome_text, ratio_interval, ratio_text
from pinstudy.base.text import one_line, plural

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


RowT = TypeVar("RowT", bound=ExperimentRow)


@dataclass(frozen=True)
class Section:
    """Cases that share all but their placement, in a table.

    `name` begins the table's caption: `Contention 1`.
    """

    title: str
    table: Table
    name: str = ""


def title_of(case: CaseFinding, without: Sequence[str] = ()) -> str:
    """Return what the cases of an experiment share; `without` are facts in which they differ."""
    summary = case.summary
    shared = {
        "size": f"size {summary.key.table.size}",
        "threads": summary.key.table.threads_in_words,
        "wait_policy": f"wait policy {summary.key.table.wait_policy}",
        "governor": f"governor {case.governor}",
    }
    parts = [text for name, text in shared.items() if name not in without]
    return one_line(", ".join([f"{summary.key.table.app} ({summary.key.table.build})", *parts]))


def lacking(findings: Findings, app: str) -> Iterator[str]:
    """Yield which cases of a program an experiment leaves out, or does not compare, and why."""
    every = [case for case in findings.cases if case.summary.key.table.app == app]
    cases = cases_of(findings, app)
    skipped = [case for case in cases if case.summary.was_skipped]
    for group in grouped(skipped, _skip_reason):
        mappings = ", ".join(dict.fromkeys(one_line(case.mapping) for case in group))
        count = plural(len(group), "case")
        why = _skip_reason(group[0]) or "no reason given"
        yield words.LEFT_OUT.format(count=f"{mappings} ({count})", why=why)
    lost = [case for case in cases if not case.summary.was_skipped and not case.summary.has_runs]
    if lost:
        yield words.NO_RUN.format(cases=words.rows(lost), how=_how(lost))
    with_runs = [case for case in cases if case.summary.has_runs and app in TIMES]
    for case in unusable(with_runs):
        yield words.LOST.format(lost=case.lost.summary(words.row(case)))
    ranks = [case for case in every if not case.summary.key.table.is_one_process]
    for team in grouped(ranks, lambda case: case.summary.key.table.threads_in_words):
        threads = team[0].summary.key.table.threads_in_words
        count = f"{plural(len(team), 'case')} of {threads}"
        yield words.LEFT_OUT.format(count=count, why=words.ONE_PROCESS)
    beside = [case for case in every if case.summary.key.co_runner]
    if beside:
        yield words.LEFT_OUT.format(count=plural(len(beside), "case"), why=words.CO_RUNNER)


def _skip_reason(case: CaseFinding) -> str:
    return one_line(str(case.summary.circumstances.skip_reason))


def _how(cases: Sequence[CaseFinding]) -> str:
    reasons = joined(
        dict.fromkeys(
            one_line(f"{status}: {joined(happened.reasons.get(status, ())) or 'no reason'}")
            for happened in (case.summary.circumstances for case in cases)
            for status in happened.excluded
        )
    )
    return f" ({reasons})" if reasons else ""


def baseline(row: ExperimentRow) -> str:
    """Return `baseline` for the case that the others are compared with, else nothing."""
    return "baseline" if leaves_all(row.measured.case.summary) else ""


def experiment_table(
    caption: str,
    rows: Sequence[RowT],
    time: Column,
    more: Sequence[Written[RowT]],
    last: Sequence[Written[RowT]] = (),
    other: Callable[[RowT], str] = baseline,
    notes: Sequence[str] = (),
) -> Table:
    """Return the table of an experiment's rows, with its notes.

    `time` is the column of what the programs time; `more` columns stand behind it, the `last` ones
    at the end. `other` is the outcome's text for a row that others are compared with. The first
    note is the conclusion.
    """
    columns = [*_head(rows, time), *more, *_ratios(other), _PINNED_BY, *last]
    texts = [*_conclusion(rows), *notes]
    if apart := [row for row in rows if row.against and row.against.comparison.across_attempts]:
        cases = words.rows(row.measured.case for row in apart)
        texts.append(words.ACROSS_ATTEMPTS.format(cases=cases))
    if sources := sources_of(row.published for row in rows):
        texts.append(words.OTHER_MACHINES.format(sources=sources))
    return table_of(caption, columns, rows, texts)


def _conclusion(rows: Sequence[ExperimentRow]) -> list[str]:
    compared = [(row.measured.case, row.against.comparison) for row in rows if row.against]
    return [words.least_and_most(compared) if compared else words.NOTHING_COMPARED]


def _head(rows: Sequence[ExperimentRow], time: Column) -> list[Written[ExperimentRow]]:
    means = [row.measured.sample.mean for row in rows if row.measured.sample]
    # Of times in ms or ns as many decimals as give the least three digits.
    decimals = max(0, time_decimals(means) - (1 if min(means, default=0.0) >= 1 else 0))

    def mean(row: ExperimentRow) -> str:
        if row.measured.sample is not None:
            return fixed(row.measured.sample.mean, decimals)
        return "left out" if row.measured.case.summary.was_skipped else "n/a"

    def interval(row: ExperimentRow) -> str:
        sample = row.measured.sample
        return interval_of(sample.mean_interval if sample else None, decimals)

    return [
        (Column("#"), lambda row: str(row.measured.case.number)),
        (Column("mapping", right=False), lambda row: one_line(row.measured.case.mapping)),
        (Column("CPUs", right=False), _cpus_of_row),
        (Column("n"), lambda row: str(row.measured.sample.n) if row.measured.sample else NOTHING),
        (time, mean),
        (Column("its 95 % interval", time.unit), interval),
    ]


def _cpus_of_row(row: ExperimentRow) -> str:
    return one_line(str(row.measured.case.summary.key.cpus or NOTHING))


def _ratios(other: Callable[[RowT], str]) -> list[Written[RowT]]:
    def ratio(row: RowT) -> str:
        if row.against is None:
            return "1" if other(row) else NOTHING
        return ratio_text(row.against.difference.ratio)

    def outcome(row: RowT) -> str:
        return outcome_text(row.against.comparison) if row.against else other(row) or NOTHING

    return [
        (Column("time ratio"), ratio),
        (
            Column("95 % interval"),
            lambda row: ratio_interval(row.against.difference) if row.against else NOTHING,
        ),
        (Column("outcome", right=False), outcome),
    ]


_PINNED_BY: Written[ExperimentRow] = (
    Column("pinned by", right=False),
    lambda row: one_line(row.measured.case.summary.key.mechanism or "nothing"),
)
