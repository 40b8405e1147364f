"""What an experiment came to, as the report tells it: sentences, tables, what could not be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from analysis.affinity.measured import TIMES, Measured, Row, grouped, where_pairs_are
from analysis.format.numbers import time_decimals
from analysis.format.table import Column, Table, Written, joined
from analysis.statistics.difference import Difference
from analysis.statistics.sample import Interval
from analysis.tables.layouts import NOTHING
from analysis.verdict.caveats import not_placed
from analysis.verdict.model import CaseFinding, Comparison
from analysis.verdict.phrases import WIDEST, change, leaves_all, name, names, needed, rounded
from analysis.verdict.tables import interval_of, number_of, ratio_decimals, ratio_interval, word_of
from base.text import one_line, plural

RowT = TypeVar("RowT", bound=Row)
# No clock of a run's time is worth more.
MAX_DECIMALS = 3


@dataclass(frozen=True)
class Told:
    """The cases that share all but their placement: a title, sentences, a table."""

    title: str
    sentences: tuple[str, ...]
    table: Table


def title_of(case: CaseFinding, without: Sequence[str] = ()) -> str:
    """Return what the cases of an experiment share; `without` are facts in which they differ."""
    summary = case.summary
    shared = {
        "size": f"size {summary.table.size}",
        "threads": plural(summary.table.threads, "thread"),
        "wait_policy": f"wait policy {summary.table.wait_policy}",
        "governor": f"governor {case.governor}",
    }
    parts = [text for name, text in shared.items() if name not in without]
    return one_line(", ".join([f"{summary.table.app} ({summary.table.variant})", *parts]))


def lacking(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield what could not be done and why: cases left out, without a good run, not compared."""
    skipped = [case for case in cases if case.summary.left_out is not None]
    for left in grouped(skipped, lambda case: one_line(str(case.summary.left_out))):
        reason = one_line(str(left[0].summary.left_out)) or "no reason given"
        mappings = ", ".join(dict.fromkeys(one_line(case.mapping) for case in left))
        yield f"Left out: {mappings} ({plural(len(left), 'case')}), because {reason}."
    lost = [case for case in cases if case.summary.left_out is None and not case.summary.has_runs]
    if lost:
        yield f"No run of {names(lost)} could be used{_how(lost)}."
    if unplaced := not_placed(case for case in cases if case.summary.table.app in TIMES):
        yield unplaced


def _how(cases: Sequence[CaseFinding]) -> str:
    reasons = joined(
        dict.fromkeys(
            one_line(f"{status}: {joined(case.summary.reasons.get(status, ())) or 'no reason'}")
            for case in cases
            for status in case.summary.excluded
        )
    )
    return f" ({reasons})" if reasons else ""


def head_columns(rows: Sequence[Row], what: str, unit: str) -> list[Written[Row]]:
    """Return the columns that all tables of experiments begin with, up to the time."""
    means = [row.measured.sample.mean for row in rows if row.measured.sample]
    # Of times in ms or ns as many decimals as give the least three digits.
    decimals = max(0, time_decimals(means) - (1 if min(means, default=0.0) >= 1 else 0))

    def mean(row: Row) -> str:
        if row.measured.sample is not None:
            return number_of(row.measured.sample.mean, decimals)
        return "left out" if row.measured.case.summary.left_out is not None else "n/a"

    def interval(row: Row) -> str:
        sample = row.measured.sample
        return interval_of(sample.mean_interval if sample else None, decimals)

    return [
        (Column("#"), lambda row: str(row.measured.case.number)),
        (Column("mapping", right=False), lambda row: one_line(row.measured.case.mapping)),
        (Column("CPUs", right=False), _cpus),
        (Column("n"), lambda row: str(row.measured.sample.n) if row.measured.sample else NOTHING),
        (Column(what, unit), mean),
        (Column("its 95 % interval", unit), interval),
    ]


def _cpus(row: Row) -> str:
    return one_line(str(row.measured.case.summary.cpus or NOTHING))


def ratio_columns(other: Callable[[RowT], str]) -> list[Written[RowT]]:
    """Return the columns of comparisons; `other` is the word for what others are compared with."""

    def ratio(row: RowT) -> str:
        if row.against is None:
            return "1" if other(row) else NOTHING
        found = row.against.difference.ratio
        return number_of(found, ratio_decimals(found))

    def word(row: RowT) -> str:
        return word_of(row.against.comparison) if row.against else other(row) or NOTHING

    return [
        (Column("time ratio"), ratio),
        (
            Column("95 % interval"),
            lambda row: ratio_interval(row.against.difference) if row.against else NOTHING,
        ),
        (Column("word", right=False), word),
    ]


def baseline(row: Row) -> str:
    """Return the word for the case that the others are compared with, if this is it."""
    return "baseline" if leaves_all(row.measured.case.summary) else ""


def placed_by(measured: Measured) -> str:
    """Return what puts a case's threads into their places: a mechanism's word."""
    mechanism = measured.case.summary.mechanism
    return "nothing" if mechanism is None else one_line(mechanism)


PINNED_BY: Written[Row] = (Column("pinned by", right=False), lambda row: placed_by(row.measured))


def first_by_place(rows: Iterable[RowT]) -> dict[str, RowT]:
    """Return the first row of each placement, by where it puts the threads of a pair."""
    found: dict[str, RowT] = {}
    for row in rows:
        found.setdefault(where_pairs_are(row.measured.case), row)
    return found


def marked(measured: Measured, text: str) -> str:
    """Return a sentence, still without its full stop, with the case that it is about."""
    return f"{text} ({name(measured.case)})"


def amount(value: float, interval: Interval | None, unit: str, most: int = 2) -> str:
    """Return a number with its interval, in the digits that are known: `50 ns (49 to 51)`."""
    if interval is None:
        return f"{rounded(value, 0.0)} {unit}"
    half = min(interval.half_width, value)
    middle, low, high = (rounded(end, half, most) for end in (value, interval.low, interval.high))
    return f"{middle} {unit} ({low} to {high})"


def _times(ratio: float, interval: Interval | None) -> str:
    """Return a ratio with its interval: `3.9 times (3.7 to 4.1)`."""
    if interval is None:
        return f"{rounded(ratio, 0.0)} times (no interval: these runs show no spread)"
    if not interval.high < WIDEST * interval.low:
        return f"{rounded(ratio, 0.0)} times (interval wider than a factor of {WIDEST:.0f})"
    return amount(ratio, interval, "times", MAX_DECIMALS)


def time_ratio(difference: Difference) -> str:
    """Return how many times the time of the other a case takes."""
    known = difference.standard_error > 0
    return _times(difference.ratio, difference.interval() if known else None)


def speed_ratio(difference: Difference) -> str:
    """Return how many times as fast as the other a case is: its ratio turned over."""
    return time_ratio(replace(difference, log_ratio=-difference.log_ratio))


@dataclass(frozen=True)
class Subject:
    """Who is compared, and with what: "they are as fast HERE as THERE", "the time that ELSE".

    `who` is plural, as `Two threads that add to one integer`; `there` and `else_takes` say the same
    in two ways: `left to the scheduler`, `they take left to the scheduler`.
    """

    who: str
    there: str
    else_takes: str


def says(comparison: Comparison, subject: Subject, here: str, margin: float) -> str:
    """Return a comparison of times as a sentence, without its full stop."""
    difference, who, there = comparison.difference, subject.who, subject.there
    found = change(difference, "time")
    if comparison.word == "better":
        said = f"{who} are {speed_ratio(difference)} as fast {here} as {there}"
    elif comparison.word == "worse":
        said = f"{who} take {time_ratio(difference)} the time {here} that {subject.else_takes}"
    elif comparison.word == "equivalent":
        said = f"{who} are as fast {here} as {there}, within {margin * 100:g} %: {found}"
    else:
        more = needed(comparison) if difference.standard_error > 0 else []
        who = who[:1].lower() + who[1:]
        said = joined([f"Whether {who} are faster {here} or {there} is undecided: {found}", *more])
    return f"{said}{in_other_attempts(comparison)}"


def in_other_attempts(comparison: Comparison) -> str:
    """Return what to add where no attempt made runs of both cases; empty where one did."""
    if not comparison.apart:
        return ""
    return (
        "; no attempt at the study made runs of both, so that a change of the node between "
        "attempts would look like a difference"
    )
