"""Ping-pong: how long a cache line takes from one thread to the other, by where the two are."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.affinity.experiments import PINGPONG
from analysis.affinity.measured import (
    Against,
    Measured,
    by_setting,
    compared,
    measured_cases,
    samples_of,
    with_scheduler,
)
from analysis.findings import Findings
from analysis.sources import Results
from analysis.statistics.sample import Sample


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
