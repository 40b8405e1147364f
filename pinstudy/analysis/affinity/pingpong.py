"""Ping-pong: how long a cache line takes from one thread to the other, by where the two are."""

from __future__ import annotations

from dataclasses import dataclass

from pinstudy.analysis.affinity.section import Section, experiment_table, title_of
from pinstudy.analysis.affinity.timed_cases import (
    PINGPONG,
    Row,
    by_configuration,
    compared,
    measured_cases,
    samples_of,
    with_unpinned,
)
from pinstudy.analysis.format.numbers import NOTHING, fixed
from pinstudy.analysis.format.table import Column, Written
from pinstudy.analysis.published.affinity import published_rates
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.sample import Interval, Sample
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import interval_of

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


def _interval(row: Exchange) -> str:
    interval = row.rate.mean_interval if row.rate else None
    millions = interval and Interval(interval.low / MILLION, interval.high / MILLION)
    return interval_of(millions, 3)


_RATES: tuple[Written[Exchange], ...] = (
    (
        Column("transfers", "million/s"),
        lambda row: fixed(row.rate.mean / MILLION, 3) if row.rate else NOTHING,
    ),
    (Column("its 95 % interval", "million/s"), _interval),
)
