"""What an experiment came to, as the report tells it: sentences, tables, what could not be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.affinity.measured import TIMES, Against, Measured
from analysis.format.numbers import time_decimals
from analysis.format.table import Column, Table, joined
from analysis.statistics.difference import Difference
from analysis.statistics.sample import Interval
from analysis.tables.layouts import NOTHING
from analysis.verdict.caveats import not_placed
from analysis.verdict.model import CaseFinding, Comparison
from analysis.verdict.phrases import WIDEST, change, name, names, needed, rounded
from analysis.verdict.tables import interval_of, number_of, ratio_decimals, ratio_interval, word_of
from base.text import one_line, plural

RATIO_COLUMNS = (
    Column("time ratio"),
    Column("95 % interval"),
    Column("word", right=False),
)
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
    by_reason: dict[str, list[CaseFinding]] = {}
    for case in cases:
        if case.summary.left_out is not None:
            reason = one_line(str(case.summary.left_out)) or "no reason given"
            by_reason.setdefault(reason, []).append(case)
    for reason, left in by_reason.items():
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


def head_columns(unit: str, what: str) -> tuple[Column, ...]:
    """Return the columns that all tables of experiments begin with."""
    return (
        Column("#"),
        Column("mapping", right=False),
        Column("CPUs", right=False),
        Column("n"),
        Column(what, unit),
        Column("its 95 % interval", unit),
    )


def decimals_of(cases: Sequence[Measured]) -> int:
    """Return the decimals of a table's times, which are in ms or ns: three digits of the least."""
    means = [case.sample.mean for case in cases if case.sample]
    return max(0, time_decimals(means) - (1 if min(means, default=0.0) >= 1 else 0))


def head_cells(measured: Measured, decimals: int) -> tuple[str, ...]:
    """Return a case's cells under `head_columns`."""
    case, sample = measured.case, measured.sample
    head = (
        str(case.number),
        one_line(case.mapping),
        one_line(str(case.summary.cpus or NOTHING)),
    )
    if sample is None:
        why = "left out" if case.summary.left_out is not None else "n/a"
        return (*head, NOTHING, why, NOTHING)
    return (
        *head,
        str(sample.n),
        number_of(sample.mean, decimals),
        interval_of(sample.mean_interval, decimals),
    )


def ratio_cells(against: Against | None, baseline: str = "") -> tuple[str, ...]:
    """Return a comparison's cells under RATIO_COLUMNS; a `baseline` is called so."""
    if against is None:
        return ("1", NOTHING, baseline) if baseline else (NOTHING,) * 3
    difference = against.difference
    return (
        number_of(difference.ratio, ratio_decimals(difference.ratio)),
        ratio_interval(difference),
        word_of(against.comparison),
    )


def marked(measured: Measured, text: str) -> str:
    """Return a sentence, still without its full stop, with the case that it is about."""
    return f"{text} ({name(measured.case)})"


def times(ratio: float, interval: Interval | None) -> str:
    """Return a ratio with its interval: `3.9 times (3.7 to 4.1)`."""
    if interval is None:
        return f"{rounded(ratio, 0.0)} times (no interval: these runs show no spread)"
    if not interval.high < WIDEST * interval.low:
        return f"{rounded(ratio, 0.0)} times (interval wider than a factor of {WIDEST:.0f})"
    half = min(interval.half_width, ratio)
    middle, low, high = (
        rounded(end, half, MAX_DECIMALS) for end in (ratio, interval.low, interval.high)
    )
    return f"{middle} times ({low} to {high})"


def time_ratio(difference: Difference) -> str:
    """Return how many times the time of the other a case takes."""
    known = difference.standard_error > 0
    return times(difference.ratio, difference.interval() if known else None)


def speed_ratio(difference: Difference) -> str:
    """Return how many times as fast as the other a case is: its ratio turned over."""
    ends = difference.interval()
    turned = Interval(_inverse(ends.high), _inverse(ends.low))
    return times(_inverse(difference.ratio), turned if difference.standard_error > 0 else None)


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else float("inf")


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
    return f"{_says(comparison, subject, here, margin)}{in_other_attempts(comparison)}"


def in_other_attempts(comparison: Comparison) -> str:
    """Return what to add where no attempt made runs of both cases; empty where one did."""
    if not comparison.apart:
        return ""
    return (
        "; no attempt at the study made runs of both, so that a change of the node between "
        "attempts would look like a difference"
    )


def _says(comparison: Comparison, subject: Subject, here: str, margin: float) -> str:
    difference = comparison.difference
    who, there = subject.who, subject.there
    if comparison.word == "better":
        return f"{who} are {speed_ratio(difference)} as fast {here} as {there}"
    if comparison.word == "worse":
        return f"{who} take {time_ratio(difference)} the time {here} that {subject.else_takes}"
    found = change(difference, "time")
    if comparison.word == "equivalent":
        within = f"within {margin * 100:g} %"
        return f"{who} are as fast {here} as {there}, {within}: {found}"
    who = who[:1].lower() + who[1:]
    return f"Whether {who} are faster {here} or {there} is undecided: {found}{_more(comparison)}"


def _more(comparison: Comparison) -> str:
    if not comparison.difference.standard_error > 0:
        return ""
    return "".join(f"; {said}" for said in needed(comparison))
