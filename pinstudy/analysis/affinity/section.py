"""A section on one experiment for the report: a table with its conclusion, and what is lacking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pinstudy.analysis.affinity.timed_cases import TIMES, ExperimentRow, cases_of
from pinstudy.analysis.format.numbers import NOTHING, fixed, time_decimals
from pinstudy.analysis.format.table import Column, Table, Written, joined, table_of
from pinstudy.analysis.published import sources_of
from pinstudy.analysis.results.baselines import leaves_all
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.verdict.model import CaseFinding, Findings, unusable
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import interval_of, outcome_text, ratio_interval, ratio_text
from pinstudy.base.text import one_line, plural

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
        (Column("CPUs", right=False), _cpus),
        (Column("n"), lambda row: str(row.measured.sample.n) if row.measured.sample else NOTHING),
        (time, mean),
        (Column("its 95 % interval", time.unit), interval),
    ]


def _cpus(row: ExperimentRow) -> str:
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
