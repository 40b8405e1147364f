"""Ping-pong: how long a cache line takes from one thread to the other, by where the two are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.affinity.experiments import PINGPONG
from analysis.affinity.measured import Against, Measured, by_setting, compared, measured_cases
from analysis.fields import METRIC
from analysis.findings import Findings
from analysis.sources import Results
from analysis.statistics.sample import Sample, describe
from analysis.verdict.phrases import leaves_all
from analysis.verdict.values import values_by_case


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
    rates = _rates(results) if groups else {}
    free = [next((case for case in group if leaves_all(case.case.facts)), None) for group in groups]
    pairs = [
        (case, (one,))
        for group, one in zip(groups, free, strict=True)
        for case in group
        if one is not None and case is not one
    ]
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


def _rates(results: Results) -> dict[str, Sample]:
    """Return what the runs say of each case's rate."""
    column = METRIC.format("rate_per_s")
    if results.runs is None or column not in results.runs.frame:
        return {}
    frame = results.runs.frame
    values = values_by_case(frame[frame["app"] == PINGPONG], {"time": column})
    known = {
        case_id: np.asarray(of_case.of["time"][of_case.known("time")])
        for case_id, of_case in values.items()
        if len(of_case.known("time"))
    }
    return dict(zip(known, describe(list(known.values())), strict=True))
