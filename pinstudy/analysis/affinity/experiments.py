"""The affinity experiments that results hold: contention, SMT sharing, ping-pong, and more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct

from pinstudy.analysis.affinity.c2c import LinesByCase, read_c2c
from pinstudy.analysis.affinity.team import Team, teams
from pinstudy.analysis.affinity.timed_cases import (
    APPS,
    CONTENTION,
    PINGPONG,
    SMT,
    Against,
    ExperimentRow,
    Measured,
    Pair,
    Section,
    by_configuration,
    column_means,
    compared,
    experiment_table,
    measured_cases,
    published_for,
    samples_of,
    title_of,
    why_not_compared,
    with_unpinned,
)
from pinstudy.analysis.format.numbers import NO_REASON, NOTHING, fixed, in_percent
from pinstudy.analysis.format.table import Column, Table, Written, joined, table_of
from pinstudy.analysis.latency.reading import Latency, read_latency
from pinstudy.analysis.measures import BY_FIELD
from pinstudy.analysis.published import published_rates
from pinstudy.analysis.records.files import read_limited
from pinstudy.analysis.records.metrics import METRIC
from pinstudy.analysis.results.baselines import leaves_all
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.node_files import NodeCpus, node_cpus
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.sample import Interval, Sample
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import interval_of, ratio_interval, ratio_text
from pinstudy.base.decoding import decoded
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, plural
from pinstudy.configs.results_folder import LATENCY_FILE, LATENCY_UNAVAILABLE
from pinstudy.runners.node.topology import KIND_ORDER

# Who pins: the program by its own call, or a launcher or an OpenMP runtime from outside.
BY_ITSELF = "program"


@dataclass(frozen=True)
class Contended(ExperimentRow):
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
    return [_contention(results, group, comparisons) for group in groups]


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


def _contention(
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
    yield Section(title_of(experiment.rows[0].measured.case), _contention_table(experiment))
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


def _same_outcome(pair: SamePlacement) -> str:
    if pair.against:
        return pair.against.comparison.outcome
    return f"not compared: {words.NOT_COMPARED[pair.why_not]}"


def _proved(measured: Measured) -> str:
    return f"{measured.case.placed.proved} of {measured.case.summary.n or 0}"


def _contention_table(experiment: Contention) -> Table:
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
    (Column("CPUs", right=False), lambda pair: one_line(str(pair.by_itself.case.summary.key.cpus))),
    (
        Column("time ratio"),
        lambda pair: ratio_text(pair.against.difference.ratio) if pair.against else NOTHING,
    ),
    (
        Column("95 % interval"),
        lambda pair: ratio_interval(pair.against.difference) if pair.against else NOTHING,
    ),
    (Column("outcome", right=False), _same_outcome),
    (Column("placement proved", "by itself"), lambda pair: _proved(pair.by_itself)),
    (Column("placement proved", "from outside"), lambda pair: _proved(pair.from_outside)),
)


# The cases of one workload, build and governor: one thread first, then two. They are compared by
# the time of a thread for its array, in ms.
Sharing = tuple[ExperimentRow, ...]


def sharing(results: Results, findings: Findings) -> list[Sharing]:
    """Return the SMT experiments of results; all their comparisons are tested together."""
    node = node_cpus(results)
    groups = [
        sorted(configuration, key=lambda case: case.threads)
        for configuration in by_configuration(measured_cases(results, findings, SMT))
    ]
    pairs = {
        case: (case, _alone(case, group, node))
        for group in groups
        for case in group
        if case.threads > 1
    }
    comparisons = compared([*pairs.values()], findings.margin)
    return [
        tuple(
            ExperimentRow(
                case,
                comparisons.get(pairs[case]) if case in pairs else None,
                published_for(SMT, case.case),
            )
            for case in group
        )
        for group in groups
    ]


def _alone(case: Measured, group: Sequence[Measured], node: NodeCpus) -> tuple[Measured, ...]:
    """Return the one thread, or the one of each kind, that a case is compared with.

    A case that is left to the scheduler is compared with one thread that is left to it as well.
    """
    solos = [other for other in group if other.threads == 1 and other.values is not None]
    free = [other for other in solos if leaves_all(other.case.summary)]
    if leaves_all(case.case.summary):
        return tuple(free[:1])
    pinned = [other for other in solos if other.case.summary.key.binding == "pin"]
    kinds = node.kinds_of(case.case.summary.key.cpus)
    if not kinds:
        # Where kinds are unknown only the same selection is surely of the same kind.
        same = [
            other
            for other in pinned
            if other.case.summary.key.selection == case.case.summary.key.selection
        ]
        return tuple(same[:1])
    of_kinds = [
        next(
            (other for other in pinned if node.kinds_of(other.case.summary.key.cpus) == (kind,)),
            None,
        )
        for kind in kinds
    ]
    known = tuple(other for other in of_kinds if other is not None)
    return known if len(known) == len(kinds) else ()


def smt_section(rows: Sharing) -> Section:
    """Return the section on one SMT experiment."""
    table = experiment_table(
        "the time of a thread under each placement",
        rows,
        Column("time of a thread", "ms"),
        [(Column("threads"), lambda row: str(row.measured.threads))],
        [_AGAINST, *([_PUBLISHED_RATIO] if any(row.published for row in rows) else [])],
        lambda row: "alone" if row.measured.threads == 1 and row.measured.sample else "",
        [words.AGAINST_ONE_THREAD, *_not_compared(rows)],
    )
    return Section(title_of(rows[0].measured.case, ("threads",)), table)


def _not_compared(rows: Sharing) -> list[str]:
    lacking = [
        row.measured.case
        for row in rows
        if row.measured.threads > 1
        and row.measured.sample
        and row.measured.case.lost.usable
        and row.against is None
    ]
    return [words.NO_THREAD_ALONE.format(cases=words.rows(lacking))] if lacking else []


def _others(row: ExperimentRow) -> str:
    if row.against is None:
        return NOTHING
    mappings = ", ".join(one_line(other.case.mapping) for other in row.against.others)
    return f"{mappings} (1 thread)"


def _published_slowdown(row: ExperimentRow) -> str:
    published = row.published
    if published is None or published.slowdown is None:
        return NOTHING
    times = f" ({published.alone_ms:g} to {published.time_ms:g} ms)" if published.time_ms else ""
    return f"{published.slowdown:g}{times}"


_AGAINST: Written[ExperimentRow] = (Column("against", right=False), _others)
_PUBLISHED_RATIO: Written[ExperimentRow] = (Column("published ratio"), _published_slowdown)


MILLION = 1e6


@dataclass(frozen=True)
class Exchange(ExperimentRow):
    """A case: the one-way time of a cache line in ns, and `rate`, one-way transfers a second.

    `rate` is over the runs, each of which gives the harmonic mean of its samples. The case is
    compared with the one that is left to the scheduler.
    """

    rate: Sample | None


# The cases of one method, build and governor.
Exchanges = tuple[Exchange, ...]


def exchanges(results: Results, findings: Findings) -> list[Exchanges]:
    """Return the ping-pong cases of results; all their comparisons are tested together."""
    groups = by_configuration(measured_cases(results, findings, PINGPONG))
    rates = samples_of(results, PINGPONG, "rate_per_s")
    pairs = {pair[0]: pair for group in groups for pair in with_unpinned(group)}
    comparisons = compared([*pairs.values()], findings.margin)
    return [
        tuple(
            Exchange(
                case,
                comparisons.get(pairs[case]) if case in pairs else None,
                None,
                rates.get(case.case.case_id, (None, None))[1],
            )
            for case in group
        )
        for group in groups
    ]


def pingpong_section(rows: Exchanges) -> Section:
    """Return the section on the cases of one method."""
    table = experiment_table(
        "the one-way time of a cache line under each placement",
        rows,
        Column("one-way time", "ns"),
        _RATES,
        notes=[*words.ONE_WAY, words.published_rates(*published_rates())],
    )
    return Section(title_of(rows[0].measured.case), table)


def _rate_interval(row: Exchange) -> str:
    interval = row.rate.mean_interval if row.rate else None
    millions = interval and Interval(interval.low / MILLION, interval.high / MILLION)
    return interval_of(millions, 3)


_RATES: tuple[Written[Exchange], ...] = (
    (
        Column("transfers", "million/s"),
        lambda row: fixed(row.rate.mean / MILLION, 3) if row.rate else NOTHING,
    ),
    (Column("its 95 % interval", "million/s"), _rate_interval),
)


@dataclass(frozen=True)
class Affinity:
    """The experiments, each in its groups of cases that share all but their placement.

    `apps` are the programs of which there are cases, measured or not; `teams` are in groups by
    table and governor; `lines` is what perf c2c showed of the cases, `latency` are the core-to-core
    latencies, both from files beside the records: None where there are none, or where
    `why_no_latency` says what is wrong with the file, or why nothing could be measured.
    """

    apps: tuple[str, ...]
    contention: tuple[Contention, ...]
    sharing: tuple[Sharing, ...]
    exchanges: tuple[Exchanges, ...]
    teams: tuple[tuple[Team, ...], ...]
    lines: LinesByCase | None = None
    latency: Latency | None = None
    why_no_latency: str = ""


def affinity(results: Results, findings: Findings) -> Affinity | None:
    """Return the affinity experiments of results; None where there is none of them."""
    here = {table.key.app for table in findings.tables}
    apps = tuple(app for app in APPS if app in here)
    latency, why_not = _latency(results.folder)
    if not apps and latency is None and not why_not:
        return None
    return Affinity(
        apps,
        tuple(contention(results, findings)),
        tuple(sharing(results, findings)),
        tuple(exchanges(results, findings)),
        tuple(map(tuple, grouped(teams(results, findings), _table_and_governor))),
        read_c2c(results.folder) if results.folder is not None else None,
        latency,
        why_not,
    )


def _latency(folder: Path | None) -> tuple[Latency | None, str]:
    """Return the latencies in a results folder, or why there are none, where that is known."""
    if folder is None:
        return None, ""
    if not (folder / LATENCY_FILE).exists():
        return None, _why_unavailable(folder / LATENCY_UNAVAILABLE)
    try:
        return read_latency(folder / LATENCY_FILE), ""
    except UserError as error:
        return None, one_line(str(error))


class _Unavailable(Struct):
    """The file that stands in place of the latencies, with the reason."""

    unavailable: dict[str, str]


def _why_unavailable(path: Path) -> str:
    data = read_limited(path)
    if data is None:
        return ""
    try:
        return one_line(decoded(data, _Unavailable).unavailable.get("latency", ""))
    except ValueError as error:
        return one_line(f"{path.name}: {error}")


def _table_and_governor(team: Team) -> tuple[object, ...]:
    return *team.case.summary.key.table[1:], team.case.governor, team.case.summary.key.setting_words
