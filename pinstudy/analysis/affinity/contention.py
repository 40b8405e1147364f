"""Contention: what pairs of threads pay for one cache line, by where the two of a pair are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pinstudy.analysis.affinity.section import Section, experiment_table, title_of
from pinstudy.analysis.affinity.timed_cases import (
    CONTENTION,
    Against,
    Measured,
    Pair,
    Row,
    by_configuration,
    column_means,
    compared,
    measured_cases,
    published_for,
    why_not_compared,
    with_unpinned,
)
from pinstudy.analysis.format.numbers import NO_REASON, NOTHING, fixed, in_percent
from pinstudy.analysis.format.table import Column, Table, Written, joined, table_of
from pinstudy.analysis.measures import BY_FIELD
from pinstudy.analysis.records.metrics import METRIC
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import ratio_interval, ratio_text
from pinstudy.base.text import one_line, plural
from pinstudy.runners.node.topology import KIND_ORDER

# Who pins: the program by its own call, or a launcher or an OpenMP runtime from outside.
BY_ITSELF = "program"


@dataclass(frozen=True)
class Contended(Row):
    """A case: its time of a round in ms, and what was counted beside it.

    It is compared with the case that is left to the scheduler; `ns` is the time of one operation,
    `l1d` the share of L1 loads that missed, by core kind; what was not measured is None or absent.
    """

    ns: float | None
    l1d: Mapping[str, float]


@dataclass(frozen=True)
class SamePlacement:
    """Threads that pin themselves beside threads that something else pins to the same CPUs."""

    by_itself: Measured
    from_outside: Measured
    against: Against | None

    @property
    def why_not(self) -> Literal["lost", "modes", "few"]:
        """Why they are not compared, where they are not."""
        return why_not_compared([self.by_itself, self.from_outside])


@dataclass(frozen=True)
class Contention:
    """The cases that share all but their placement; `no_l1d` says why no L1 misses were counted."""

    rows: tuple[Contended, ...]
    same: tuple[SamePlacement, ...]
    no_l1d: str


def contention(results: Results, findings: Findings) -> list[Contention]:
    """Return the contention experiments of results, one for each size, build and governor.

    All their comparisons are tested together.
    """
    groups = [
        group
        for configuration in by_configuration(measured_cases(results, findings, CONTENTION))
        for group in grouped(
            sorted(configuration, key=lambda case: case.threads), lambda case: case.threads
        )
    ]
    pairs = [pair for group in groups for pair in (*with_unpinned(group), *_same_placements(group))]
    comparisons = compared(pairs, findings.margin)
    return [_experiment(results, group, comparisons) for group in groups]


def _same_placements(group: Sequence[Measured]) -> Iterator[Pair]:
    """Yield the cases that pin themselves with those that are pinned to the same CPUs.

    Those that the node cannot do are not among them.
    """
    runnable = [measured for measured in group if not measured.case.summary.was_skipped]
    for inside in runnable:
        mine = inside.case.summary
        if mine.key.mechanism != BY_ITSELF:
            continue
        for outside in runnable:
            theirs = outside.case.summary
            same_binding = (mine.key.selection, mine.key.binding) == (
                theirs.key.selection,
                theirs.key.binding,
            )
            alike = same_binding and mine.key.cpus == theirs.key.cpus
            if alike and theirs.key.mechanism not in (BY_ITSELF, None):
                yield inside, (outside,)


def _experiment(
    results: Results, group: Sequence[Measured], comparisons: Mapping[Pair, Against]
) -> Contention:
    cases = [measured.case for measured in group]
    ns = column_means(results, cases, METRIC.format("ns_per_operation"))
    missed = BY_FIELD["l1d_miss_rate"].columns
    shares = {kind: column_means(results, cases, column) for column, kind in missed.items()}
    to_unpinned = {pair[0]: comparisons.get(pair) for pair in with_unpinned(group)}
    rows = tuple(
        Contended(
            measured,
            to_unpinned.get(measured),
            published_for(CONTENTION, measured.case),
            ns.get(measured.case.case_id),
            {
                kind: of_kind[measured.case.case_id]
                for kind, of_kind in shares.items()
                if measured.case.case_id in of_kind
            },
        )
        for measured in group
    )
    same = tuple(
        SamePlacement(inside, outside, comparisons.get((inside, (outside,))))
        for inside, (outside,) in _same_placements(group)
    )
    no_l1d = ""
    if not any(row.l1d for row in rows):
        fields = ["l1d_miss_rate", *(f"l1d_miss_rate.{kind}" for kind in KIND_ORDER)]
        no_l1d = joined(results.why_absent([case.summary for case in cases], fields)) or NO_REASON
    return Contention(rows, same, no_l1d)


def contention_sections(experiment: Contention, margin: float) -> Iterator[Section]:
    """Yield the sections on one experiment; `margin` is that of equivalence, a share."""
    yield Section(title_of(experiment.rows[0].measured.case), _table(experiment))
    if experiment.same:
        yield Section("", _same_table(experiment.same, margin))


def _same_table(same: Sequence[SamePlacement], margin: float) -> Table:
    compared = [(pair, pair.against.comparison) for pair in same if pair.against]
    equivalent = sum(comparison.outcome == "equivalent" for _, comparison in compared)
    notes = [
        words.PINNED_ALIKE.format(
            margin=in_percent(margin, 6), equivalent=equivalent, pairs=plural(len(same), "pair")
        )
    ]
    for pair, comparison in compared:
        if comparison.across_attempts:
            both = words.rows([pair.by_itself.case, pair.from_outside.case])
            notes.append(words.ACROSS_ATTEMPTS.format(cases=both))
    return table_of(_SAME_CAPTION, _SAME, same, notes)


def _outcome(pair: SamePlacement) -> str:
    if pair.against:
        return pair.against.comparison.outcome
    return f"not compared: {words.NOT_COMPARED[pair.why_not]}"


def _proved(measured: Measured) -> str:
    return f"{measured.case.placed.proved} of {measured.case.summary.n or 0}"


def _table(experiment: Contention) -> Table:
    kinds = list(dict.fromkeys(kind for row in experiment.rows for kind in row.l1d))
    last = [*map(_missed, kinds)]
    if any(row.published for row in experiment.rows):
        last += [_PUBLISHED_TIME, *([_PUBLISHED_MISSES] if kinds else [])]
    return experiment_table(
        "the time of a round under each placement",
        experiment.rows,
        Column("time of a round", "ms"),
        [_OPERATION],
        last,
        notes=[words.NOT_COUNTED.format(why=experiment.no_l1d)] if experiment.no_l1d else [],
    )


def _missed(kind: str) -> Written[Contended]:
    """Return the column of the shares that missed on a kind of core."""
    return (
        Column(f"L1 loads missed, {kind}-cores", "%"),
        lambda row: fixed(100 * row.l1d[kind], 2) if kind in row.l1d else NOTHING,
    )


def _published_ms(row: Contended) -> str:
    return f"{row.published.time_ms:g}" if row.published and row.published.time_ms else NOTHING


def _published_misses(row: Contended) -> str:
    rate = row.published.l1d_miss_rate if row.published else None
    return f"{100 * rate:g}" if rate else NOTHING


_OPERATION: Written[Contended] = (
    Column("an operation", "ns"),
    lambda row: NOTHING if row.ns is None else fixed(row.ns, 2),
)
_PUBLISHED_TIME: Written[Contended] = (Column("published", "ms"), _published_ms)
_PUBLISHED_MISSES: Written[Contended] = (
    Column("published L1 loads missed", "%"),
    _published_misses,
)
_SAME_CAPTION = "threads that pin themselves beside threads that are pinned to the same CPUs"
_SAME: tuple[Written[SamePlacement], ...] = (
    (Column("by itself", right=False), lambda pair: words.row(pair.by_itself.case)),
    (Column("from outside", right=False), lambda pair: words.row(pair.from_outside.case)),
    (
        Column("pinned by", right=False),
        lambda pair: one_line(str(pair.from_outside.case.summary.key.mechanism)),
    ),
    (
        Column("CPUs", right=False),
        lambda pair: one_line(str(pair.by_itself.case.summary.key.cpus)),
    ),
    (
        Column("time ratio"),
        lambda pair: ratio_text(pair.against.difference.ratio) if pair.against else NOTHING,
    ),
    (
        Column("95 % interval"),
        lambda pair: ratio_interval(pair.against.difference) if pair.against else NOTHING,
    ),
    (Column("outcome", right=False), _outcome),
    (Column("placement proved", "by itself"), lambda pair: _proved(pair.by_itself)),
    (Column("placement proved", "from outside"), lambda pair: _proved(pair.from_outside)),
)
