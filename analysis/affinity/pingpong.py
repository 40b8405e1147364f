"""Ping-pong: how long a cache line takes from one thread to the other, by where the two are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.affinity.measured import (
    PINGPONG,
    Against,
    Measured,
    by_setting,
    compared,
    measured_cases,
    placed_by,
    samples_of,
    where_pairs_are,
    with_scheduler,
)
from analysis.affinity.published import NEIGHBOURS, published_of, sources_of
from analysis.affinity.told import (
    RATIO_COLUMNS,
    Told,
    decimals_of,
    head_cells,
    head_columns,
    in_other_attempts,
    marked,
    ratio_cells,
    speed_ratio,
    time_ratio,
    title_of,
)
from analysis.format.table import Column, Table
from analysis.results.sources import Results
from analysis.statistics.sample import Interval, Sample
from analysis.tables.layouts import NOTHING
from analysis.verdict.model import Findings
from analysis.verdict.phrases import leaves_all, rounded
from analysis.verdict.tables import interval_of, number_of

MILLION = 1e6


@dataclass(frozen=True)
class Exchange:
    """A case: the one-way time of a cache line in ns, and `rate`, one-way transfers a second.

    `rate` is over the runs, each of which gives the harmonic mean of its samples. `against` is the
    case that is left to the scheduler.
    """

    measured: Measured
    rate: Sample | None
    against: Against | None


@dataclass(frozen=True)
class Exchanges:
    """The cases of one method, build and governor."""

    rows: tuple[Exchange, ...]


def exchanges(results: Results, findings: Findings) -> list[Exchanges]:
    """Return the ping-pong cases of results; all their comparisons are tested together."""
    groups = by_setting(measured_cases(results, findings, PINGPONG))
    rates = {
        case_id: sample
        for case_id, (_, sample) in samples_of(results, PINGPONG, "rate_per_s").items()
    }
    pairs = [(case, (free,)) for group in groups for case, free in with_scheduler(group)]
    found = {
        id(case): against
        for (case, _), against in zip(pairs, compared(pairs, findings.margin), strict=True)
    }
    return [
        Exchanges(
            tuple(
                Exchange(case, rates.get(case.case.case_id), found.get(id(case))) for case in group
            )
        )
        for group in groups
    ]


def tell_pingpong(found: Exchanges) -> Told:
    """Return what the cases of one method came to."""
    first = found.rows[0].measured.case
    return Told(title_of(first), tuple(_placements(found)), _table(found))


def _placements(found: Exchanges) -> Iterator[str]:
    """Yield the rate left to the scheduler, the best one and the worst, and what was published."""
    known = [row for row in found.rows if row.measured.sample and row.rate]
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
    return marked(row.measured, f"{who} hand a cache line over in {_time(row)}, {_rate(row)}")


def _latency(row: Exchange) -> float:
    assert row.measured.sample is not None
    return row.measured.sample.mean


def _time(row: Exchange) -> str:
    sample = row.measured.sample
    assert sample is not None
    interval = sample.mean_interval
    if interval is None:
        return f"{rounded(sample.mean, 0.0)} ns"
    half = interval.half_width
    low, high = (rounded(end, half) for end in (interval.low, interval.high))
    return f"{rounded(sample.mean, half)} ns ({low} to {high})"


def _rate(row: Exchange) -> str:
    assert row.rate is not None
    interval = row.rate.mean_interval
    if interval is None:
        return f"{rounded(row.rate.mean / MILLION, 0.0)} million transfers a second"
    half = interval.half_width / MILLION
    middle, low, high = (
        rounded(value / MILLION, half) for value in (row.rate.mean, interval.low, interval.high)
    )
    return f"{middle} million transfers a second ({low} to {high})"


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
    decimals = decimals_of([row.measured for row in found.rows])
    return Table(
        caption="the one-way time of a cache line under each placement",
        columns=(
            *head_columns("ns", "one-way time"),
            Column("transfers", "million/s"),
            Column("its 95 % interval", "million/s"),
            *RATIO_COLUMNS,
            Column("pinned by", right=False),
        ),
        cells=tuple(_cells(row, decimals) for row in found.rows),
        notes=(
            ("", "The one-way time is that of half a round trip; a run's rate is the harmonic mean "
             "of its samples' one-way transfers a second. Means are over runs."),
        ),
    )  # fmt: skip


def _cells(row: Exchange, decimals: int) -> tuple[str, ...]:
    summary = row.measured.case.summary
    rate = (NOTHING, NOTHING)
    if row.rate is not None:
        sample = row.rate
        interval = sample.mean_interval
        scaled = interval and Interval(interval.low / MILLION, interval.high / MILLION)
        rate = (number_of(sample.mean / MILLION, 3), interval_of(scaled, 3))
    return (
        *head_cells(row.measured, decimals),
        *rate,
        *ratio_cells(row.against, "baseline" if leaves_all(summary) else ""),
        placed_by(summary),
    )
