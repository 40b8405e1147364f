"""A section on one experiment for the report: a table, sentences, what is lacking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from analysis.affinity.timed_cases import TIMES, Row, sources_of
from analysis.format.numbers import NOTHING, fixed, time_decimals
from analysis.format.table import Column, Table, Written, joined, table_of
from analysis.results.baselines import leaves_all
from analysis.results.case import grouped
from analysis.verdict.caveats import lost_too_many
from analysis.verdict.model import CaseFinding
from analysis.verdict.phrases import names
from analysis.verdict.tables import interval_of, outcome_text, ratio_interval, ratio_text
from base.text import one_line, plural

RowT = TypeVar("RowT", bound=Row)
_EMPTY_TABLE = Table("", (), ())


@dataclass(frozen=True)
class Section:
    """Cases that share all but their placement, in sentences and mostly in a table.

    `name` begins the table's caption: `Contention 1`.
    """

    title: str
    sentences: tuple[str, ...] = ()
    table: Table = _EMPTY_TABLE
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
    return one_line(", ".join([f"{summary.key.table.app} ({summary.key.table.variant})", *parts]))


def lacking(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield what could not be done and why: cases left out, without a good run, not compared."""
    skipped = [case for case in cases if case.summary.was_skipped]
    for group in grouped(
        skipped, lambda case: one_line(str(case.summary.circumstances.skip_reason))
    ):
        reason = one_line(str(group[0].summary.circumstances.skip_reason)) or "no reason given"
        mappings = ", ".join(dict.fromkeys(one_line(case.mapping) for case in group))
        yield f"Left out: {mappings} ({plural(len(group), 'case')}), because {reason}."
    lost = [case for case in cases if not case.summary.was_skipped and not case.summary.has_runs]
    if lost:
        yield f"No run of {names(lost)} could be used{_how(lost)}."
    some = (case for case in cases if case.summary.has_runs and case.summary.key.table.app in TIMES)
    if text := lost_too_many(some):
        yield text


def lacking_ranks(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield which cases of MPI ranks are left out of an experiment, and why."""
    for team in grouped(cases, lambda case: case.summary.key.table.threads_in_words):
        yield (
            f"Left out: {plural(len(team), 'case')} of "
            f"{team[0].summary.key.table.threads_in_words}, "
            "because the experiment compares threads of one process."
        )


def lacking_beside(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield which cases with co-runners are left out of an experiment, and why."""
    if cases:
        count = plural(len(cases), "case")
        yield f"Left out: {count} beside a co-runner, which shares what the experiment is about."


def _how(cases: Sequence[CaseFinding]) -> str:
    reasons = joined(
        dict.fromkeys(
            one_line(f"{status}: {joined(happened.reasons.get(status, ())) or 'no reason'}")
            for happened in (case.summary.circumstances for case in cases)
            for status in happened.excluded
        )
    )
    return f" ({reasons})" if reasons else ""


def baseline(row: Row) -> str:
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
    at the end. `other` is the outcome's text for a row that others are compared with.
    """
    columns = [*_head(rows, time), *more, *_ratios(other), _PINNED_BY, *last]
    texts = [*notes, *_across_attempts(rows)]
    if sources := sources_of(row.published for row in rows):
        texts.append(f"Published numbers are of other machines. Sources: {sources}.")
    return table_of(caption, columns, rows, tuple(("", text) for text in texts))


def _across_attempts(rows: Sequence[Row]) -> Iterator[str]:
    cases = [
        row.measured.case for row in rows if row.against and row.against.comparison.across_attempts
    ]
    if cases:
        yield (
            f"No attempt at the study made runs both of {names(cases)} and of what they are "
            "compared with: a change of the node between attempts would look like a difference."
        )


def _head(rows: Sequence[Row], time: Column) -> list[Written[Row]]:
    means = [row.measured.sample.mean for row in rows if row.measured.sample]
    # Of times in ms or ns as many decimals as give the least three digits.
    decimals = max(0, time_decimals(means) - (1 if min(means, default=0.0) >= 1 else 0))

    def mean(row: Row) -> str:
        if row.measured.sample is not None:
            return fixed(row.measured.sample.mean, decimals)
        return "left out" if row.measured.case.summary.was_skipped else "n/a"

    def interval(row: Row) -> str:
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


def _cpus(row: Row) -> str:
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
        (Column("word", right=False), outcome),
    ]


_PINNED_BY: Written[Row] = (
    Column("pinned by", right=False),
    lambda row: one_line(row.measured.case.summary.key.mechanism or "nothing"),
)
