"""Contention: what pairs of threads pay for one cache line, by where the two of a pair are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.affinity.experiments import CONTENTION
from analysis.affinity.measured import (
    NO_REASON,
    Against,
    Measured,
    by_setting,
    column_means,
    compared,
    measured_cases,
    why_not,
    with_scheduler,
)
from analysis.affinity.published import Published, published_for
from analysis.fields import L1D_MISS_RATE, METRIC
from analysis.findings import Findings
from analysis.sources import Results
from runners.node.topology import KIND_ORDER

# Who pins: the program by its own call, or a launcher or an OpenMP runtime from outside.
BY_ITSELF = "program"


@dataclass(frozen=True)
class Contended:
    """A case: its time of a round in ms, and what was counted beside it.

    `against` is the case that is left to the scheduler; `ns` is the time of one operation, `l1d`
    the share of L1 loads that missed, by core kind; what was not measured is None or absent.
    """

    measured: Measured
    against: Against | None
    ns: float | None
    l1d: Mapping[str, float]
    published: Published | None


@dataclass(frozen=True)
class SamePlacement:
    """Threads that pin themselves beside threads that something else pins to the same CPUs.

    `proved` counts the good runs of each whose placement the kernel has shown.
    """

    by_itself: Measured
    from_outside: Measured
    against: Against | None
    proved: tuple[int, int]


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
        list(rows)
        for setting in by_setting(measured_cases(results, findings, CONTENTION))
        for _, rows in groupby(
            sorted(setting, key=lambda case: case.threads), key=lambda case: case.threads
        )
    ]
    to_scheduler = [with_scheduler(group) for group in groups]
    same = [list(_same_placements(group)) for group in groups]
    pairs = [pair for of_group in (*to_scheduler, *same) for pair in of_group]
    found = iter(compared([(a, (b,)) for a, b in pairs], findings.margin))
    against = [{a.case.case_id: next(found) for a, _ in of_group} for of_group in to_scheduler]
    beside = [[(a, b, next(found)) for a, b in of_group] for of_group in same]
    return [_experiment(results, *parts) for parts in zip(groups, against, beside, strict=True)]


def _same_placements(group: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """Yield the cases that pin themselves with those that are pinned to the same CPUs.

    Those that the node cannot do are not among them.
    """
    done = [measured for measured in group if measured.case.facts["left_out"] is None]
    for inside in done:
        facts = inside.case.facts
        if facts["mechanism"] != BY_ITSELF:
            continue
        for outside in done:
            others = outside.case.facts
            alike = all(facts[name] == others[name] for name in ("selection", "binding", "cpus"))
            if alike and others["mechanism"] not in (BY_ITSELF, None):
                yield inside, outside


def _experiment(
    results: Results,
    group: Sequence[Measured],
    against: Mapping[str, Against | None],
    beside: Sequence[tuple[Measured, Measured, Against | None]],
) -> Contention:
    cases = [measured.case for measured in group]
    ns = column_means(results, cases, METRIC.format("ns_per_operation"))
    shares = {kind: column_means(results, cases, L1D_MISS_RATE.format(kind)) for kind in KIND_ORDER}
    rows = tuple(
        Contended(
            measured,
            against.get(measured.case.case_id),
            ns.get(measured.case.case_id),
            {
                kind: of_kind[measured.case.case_id]
                for kind, of_kind in shares.items()
                if measured.case.case_id in of_kind
            },
            published_for(CONTENTION, measured.case),
        )
        for measured in group
    )
    same = tuple(
        SamePlacement(inside, outside, found, (_proved(inside), _proved(outside)))
        for inside, outside, found in beside
    )
    if any(row.l1d for row in rows):
        return Contention(rows, same, "")
    return Contention(rows, same, why_not(results, cases, "l1d_miss_rate") or NO_REASON)


def _proved(measured: Measured) -> int:
    return measured.case.placed.proved
