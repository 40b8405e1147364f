"""Contention in sentences and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.affinity.contention import Contended, Contention, SamePlacement
from analysis.affinity.experiments import CONTENTION, placed_by, where_pairs_are
from analysis.affinity.published import Published, published_of, sources_of
from analysis.affinity.told import (
    RATIO_COLUMNS,
    Told,
    decimals_of,
    head_cells,
    head_columns,
    marked,
    ratio_cells,
    title_of,
)
from analysis.affinity.words import Subject, in_other_attempts, says
from analysis.digits import percent
from analysis.layouts import NOTHING
from analysis.table import Column, Table
from analysis.verdict.phrases import change, leaves_all, listed, name, rounded
from analysis.verdict.tables import number_of
from analysis.verdict.unplaced import unusable
from base.text import one_line

_WHO = {
    "integer": "Two threads that add to one integer",
    "float": "Two threads that add to one float",
}


def tell_contention(found: Contention, margin: float) -> Told:
    """Return what one contention experiment came to; `margin` is that of equivalence, a share."""
    first = found.rows[0].measured.case
    said = [*_placements(found, margin), *_same(found.same, margin), *_misses(found)]
    return Told(title_of(first), tuple(said), _table(found))


def _size(found: Contention) -> str:
    return one_line(str(found.rows[0].measured.case.facts["size"]))


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
            f"{placed_by(outside.facts)} pins ({name(outside)}), on the same CPUs "
            f"({one_line(str(inside.facts['cpus']))})"
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
    counts = [int(of.case.facts["n"]) for of in (pair.by_itself, pair.from_outside)]
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
    facts = row.measured.case.facts
    published = row.published.time_ms if row.published else None
    return (
        *head_cells(row.measured, decimals),
        NOTHING if row.ns is None else number_of(row.ns, 2),
        *ratio_cells(row.against, "baseline" if leaves_all(facts) else ""),
        placed_by(facts),
        *(NOTHING if kind not in row.l1d else number_of(100 * row.l1d[kind], 2) for kind in kinds),
        *((NOTHING if published is None else f"{published:g}",) if stars else ()),
    )
