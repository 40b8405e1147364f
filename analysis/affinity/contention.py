"""Contention: what pairs of threads pay for one cache line, by where the two of a pair are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.affinity.measured import (
    CONTENTION,
    NO_REASON,
    Against,
    Measured,
    by_setting,
    column_means,
    compared,
    measured_cases,
    placed_by,
    where_pairs_are,
    why_not,
    with_scheduler,
)
from analysis.affinity.published import Published, published_for, published_of, sources_of
from analysis.affinity.told import (
    RATIO_COLUMNS,
    Subject,
    Told,
    decimals_of,
    head_cells,
    head_columns,
    in_other_attempts,
    marked,
    ratio_cells,
    says,
    title_of,
)
from analysis.format.numbers import percent
from analysis.format.table import Column, Table
from analysis.results.fields import L1D_MISS_RATE, METRIC
from analysis.results.sources import Results
from analysis.tables.layouts import NOTHING
from analysis.verdict.caveats import unusable
from analysis.verdict.model import Findings
from analysis.verdict.phrases import change, leaves_all, listed, name, rounded
from analysis.verdict.tables import number_of
from base.text import one_line
from runners.node.topology import KIND_ORDER

# Who pins: the program by its own call, or a launcher or an OpenMP runtime from outside.
BY_ITSELF = "program"
_WHO = {
    "integer": "Two threads that add to one integer",
    "float": "Two threads that add to one float",
}


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
    done = [measured for measured in group if measured.case.summary.left_out is None]
    for inside in done:
        mine = inside.case.summary
        if mine.mechanism != BY_ITSELF:
            continue
        for outside in done:
            theirs = outside.case.summary
            same_binding = (mine.selection, mine.binding) == (theirs.selection, theirs.binding)
            alike = same_binding and mine.cpus == theirs.cpus
            if alike and theirs.mechanism not in (BY_ITSELF, None):
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


def tell_contention(found: Contention, margin: float) -> Told:
    """Return what one contention experiment came to; `margin` is that of equivalence, a share."""
    first = found.rows[0].measured.case
    said = [*_placements(found, margin), *_same(found.same, margin), *_misses(found)]
    return Told(title_of(first), tuple(said), _table(found))


def _size(found: Contention) -> str:
    return one_line(str(found.rows[0].measured.case.summary.table.size))


def _placements(found: Contention, margin: float) -> Iterator[str]:
    """Yield how each placement does against the scheduler's, one case a placement."""
    size = _size(found)
    who = _WHO.get(size.removesuffix("-quick"), f"Two threads that share a number ({size})")
    subject = Subject(who, "left to the scheduler", "they take left to the scheduler")
    seen = set()
    for row in found.rows:
        here = where_pairs_are(row.measured.case)
        if row.against is None or here in seen:
            continue
        seen.add(here)
        told = marked(row.measured, says(row.against.comparison, subject, here, margin))
        yield f"{told}{_published(row.published, size)}."


def _published(one: Published | None, size: str) -> str:
    """Return the published gain of a placement; empty where there is none."""
    free = published_of(CONTENTION, size, "all")
    if one is None or free is None or not (one.time_ms and free.time_ms):
        return ""
    times = rounded(free.time_ms / one.time_ms, 0.0)
    return f"; published: {times} times as fast ({free.time_ms:g} ms and {one.time_ms:g} ms)"


def _same(pairs: tuple[SamePlacement, ...], margin: float) -> Iterator[str]:
    for pair in pairs:
        inside, outside = pair.by_itself.case, pair.from_outside.case
        start = (
            f"Threads that pin themselves ({name(inside)}) beside threads that "
            f"{placed_by(outside.summary)} pins ({name(outside)}), on the same CPUs "
            f"({one_line(str(inside.summary.cpus))})"
        )
        yield f"{start}: {_compared(pair, margin)}; {_proof(pair)}."


def _compared(pair: SamePlacement, margin: float) -> str:
    if pair.against is None:
        lost = unusable([pair.by_itself.case, pair.from_outside.case])
        return f"not compared, {'too many runs lost to placement' if lost else 'too few runs'}"
    apart = in_other_attempts(pair.against.comparison)
    found = f"{change(pair.against.difference, 'time')}{apart}"
    return {
        "equivalent": f"equivalent within {margin * 100:g} %, {found}",
        "better": f"faster, {found}",
        "worse": f"slower, {found}",
        "undecided": f"no difference is proved, {found}",
    }[pair.against.comparison.word]


def _proof(pair: SamePlacement) -> str:
    """Return in how many runs the kernel has shown the placement."""
    counts = [of.case.summary.n or 0 for of in (pair.by_itself, pair.from_outside)]
    if list(pair.proved) == counts and all(counts):
        return "the kernel showed that placement in every run of both"
    shown = [f"{proved} of {n}" for proved, n in zip(pair.proved, counts, strict=True)]
    return f"the kernel showed that placement in {listed(shown)} runs"


def _misses(found: Contention) -> Iterator[str]:
    if found.no_l1d:
        yield f"L1 load misses were not counted: {found.no_l1d}."
        return
    parts = []
    seen = set()
    for row in found.rows:
        here = where_pairs_are(row.measured.case)
        if row.l1d and here not in seen:
            seen.add(here)
            parts.append(f"{_shares(row.l1d)} {here}{_published_misses(row.published)}")
    yield f"Of the L1 loads missed {'; '.join(parts)}."


def _shares(l1d: Mapping[str, float]) -> str:
    if len(l1d) == 1:
        return percent(next(iter(l1d.values())))
    return listed([f"{percent(share)} on {kind}-cores" for kind, share in l1d.items()])


def _published_misses(one: Published | None) -> str:
    if one is None or one.l1d_miss_rate is None:
        return ""
    return f" (published: {one.l1d_miss_rate * 100:g} %)"


def _table(found: Contention) -> Table:
    decimals = decimals_of([row.measured for row in found.rows])
    kinds = list(dict.fromkeys(kind for row in found.rows for kind in row.l1d))
    stars = [row.published for row in found.rows if row.published]
    columns = (
        *head_columns("ms", "time of a round"),
        Column("an operation", "ns"),
        *RATIO_COLUMNS,
        Column("pinned by", right=False),
        *(Column(f"L1 loads missed, {kind}-cores", "%") for kind in kinds),
        *((Column("published", "ms"),) if stars else ()),
    )
    sources = sources_of(stars)
    return Table(
        caption="the time of a round under each placement",
        columns=columns,
        cells=tuple(_cells(row, decimals, kinds, bool(stars)) for row in found.rows),
        notes=(("", f"Published numbers are of other machines. Sources: {sources}."),)
        if sources
        else (),
    )


def _cells(row: Contended, decimals: int, kinds: list[str], stars: bool) -> tuple[str, ...]:
    summary = row.measured.case.summary
    published = row.published.time_ms if row.published else None
    return (
        *head_cells(row.measured, decimals),
        NOTHING if row.ns is None else number_of(row.ns, 2),
        *ratio_cells(row.against, "baseline" if leaves_all(summary) else ""),
        placed_by(summary),
        *(NOTHING if kind not in row.l1d else number_of(100 * row.l1d[kind], 2) for kind in kinds),
        *((NOTHING if published is None else f"{published:g}",) if stars else ()),
    )
