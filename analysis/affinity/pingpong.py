"""Ping-pong: how long a cache line takes from one thread to the other, by where the two are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.affinity.measured import (
    PINGPONG,
    Row,
    by_setting,
    compared,
    measured_cases,
    samples_of,
    where_pairs_are,
    with_scheduler,
)
from analysis.affinity.published import NEIGHBOURS, published_of, sources_of
from analysis.affinity.told import (
    PINNED_BY,
    Told,
    amount,
    baseline,
    head_columns,
    in_other_attempts,
    marked,
    ratio_columns,
    speed_ratio,
    time_ratio,
    title_of,
)
from analysis.format.table import Column, Table, Written, table_of
from analysis.results.sources import Results
from analysis.statistics.sample import Interval, Sample
from analysis.tables.layouts import NOTHING
from analysis.verdict.model import Findings
from analysis.verdict.phrases import leaves_all
from analysis.verdict.tables import interval_of, number_of

MILLION = 1e6


@dataclass(frozen=True)
class Exchange(Row):
    """A case: the one-way time of a cache line in ns, and `rate`, one-way transfers a second.

    `rate` is over the runs, each of which gives the harmonic mean of its samples. The case is
    compared with the one that is left to the scheduler.
    """

    rate: Sample | None


# The cases of one method, build and governor.
Exchanges = tuple[Exchange, ...]


def exchanges(results: Results, findings: Findings) -> list[Exchanges]:
    """Return the ping-pong cases of results; all their comparisons are tested together."""
    groups = by_setting(measured_cases(results, findings, PINGPONG))
    rates = samples_of(results, PINGPONG, "rate_per_s")
    pairs = {pair[0]: pair for group in groups for pair in with_scheduler(group)}
    found = compared([*pairs.values()], findings.margin)
    return [
        tuple(
            Exchange(
                case,
                found.get(pairs[case]) if case in pairs else None,
                None,
                rates.get(case.case.case_id, (None, None))[1],
            )
            for case in group
        )
        for group in groups
    ]


def tell_pingpong(found: Exchanges) -> Told:
    """Return what the cases of one method came to."""
    return Told(title_of(found[0].measured.case), tuple(_placements(found)), _table(found))


def _placements(found: Exchanges) -> Iterator[str]:
    """Yield the rate left to the scheduler, the best one and the worst, and what was published."""
    known = [row for row in found if row.measured.sample and row.rate]
    if not known:
        return
    by_time = sorted(known, key=_latency)
    free = next((row for row in known if leaves_all(row.measured.case.summary)), None)
    if free is not None:
        yield f"{_handed(free, 'Two threads left to the scheduler')}."
    ends = {"The shortest mean: two": by_time[0], "The longest mean: two": by_time[-1]}
    for start, row in ends.items() if len(known) > 1 else ():
        if row is not free:
            here = where_pairs_are(row.measured.case)
            yield f"{_handed(row, f'{start} threads {here}')}{_against(row)}."
    chance, near = (published_of(PINGPONG, "", name) for name in ("all", NEIGHBOURS))
    if chance and near and chance.rate_per_s and near.rate_per_s:
        yield (
            f"Published: {near.rate_per_s / MILLION:g} million transfers a second with neighbours "
            f"chosen well, {chance.rate_per_s / MILLION:g} without (harmonic means of 30 samples; "
            f"another machine; {sources_of([chance, near])})."
        )


def _handed(row: Exchange, who: str) -> str:
    time, rate = row.measured.sample, row.rate
    assert time is not None
    assert rate is not None
    taken = amount(time.mean, time.mean_interval, "ns")
    millions = amount(rate.mean / MILLION, _in_millions(rate), "million transfers a second")
    return marked(row.measured, f"{who} hand a cache line over in {taken}, {millions}")


def _in_millions(rate: Sample) -> Interval | None:
    interval = rate.mean_interval
    return interval and Interval(interval.low / MILLION, interval.high / MILLION)


def _latency(row: Exchange) -> float:
    assert row.measured.sample is not None
    return row.measured.sample.mean


def _against(row: Exchange) -> str:
    """Return how it does against the scheduler's placement."""
    if row.against is None:
        return ""
    difference = row.against.difference
    found = {
        "better": f", {speed_ratio(difference)} as fast as left to the scheduler",
        "worse": f", {time_ratio(difference)} the time that they take left to the scheduler",
        "equivalent": ", the same as left to the scheduler within the margin",
        "undecided": ", not proved to differ from left to the scheduler",
    }[row.against.comparison.word]
    return found + in_other_attempts(row.against.comparison)


def _table(found: Exchanges) -> Table:
    columns: list[Written[Exchange]] = [
        *head_columns(found, "one-way time", "ns"),
        (
            Column("transfers", "million/s"),
            lambda row: number_of(row.rate.mean / MILLION, 3) if row.rate else NOTHING,
        ),
        (
            Column("its 95 % interval", "million/s"),
            lambda row: interval_of(_in_millions(row.rate) if row.rate else None, 3),
        ),
        *ratio_columns(baseline),
        PINNED_BY,
    ]
    note = (
        "The one-way time is that of half a round trip; a run's rate is the harmonic mean of its "
        "samples' one-way transfers a second. Means are over runs."
    )
    caption = "the one-way time of a cache line under each placement"
    return table_of(caption, columns, found, (("", note),))
