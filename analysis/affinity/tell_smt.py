"""SMT sharing in sentences and a table."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.affinity.experiments import placed_by, where_pairs_are
from analysis.affinity.published import Published, sources_of
from analysis.affinity.smt import Shared, Sharing
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
from analysis.affinity.words import Subject, says
from analysis.layouts import NOTHING
from analysis.table import Column, Table
from analysis.verdict.phrases import leaves_all, listed
from base.text import one_line

_WHO = {
    "accumulate": "Two threads that add up floats",
    "sin": "Two threads that compute sines",
}


def tell_smt(found: Sharing, margin: float) -> Told:
    """Return what one SMT experiment came to; `margin` is that of equivalence, a share."""
    first = found.rows[0].measured.case
    return Told(title_of(first, ("threads",)), tuple(_placements(found, margin)), _table(found))


def _size(found: Sharing) -> str:
    return one_line(str(found.rows[0].measured.case.facts["size"]))


def _placements(found: Sharing, margin: float) -> Iterator[str]:
    size = _size(found)
    who = _WHO.get(size.removesuffix("-quick"), f"Two threads of {size}")
    seen = set()
    for row in found.rows:
        here = where_pairs_are(row.measured.case)
        if row.against is None or here in seen:
            continue
        seen.add(here)
        alone = f"one alone{_on(row)}"
        subject = Subject(who, alone, alone.replace("one ", "one takes ", 1))
        told = marked(row.measured, says(row.against.comparison, subject, here, margin))
        yield f"{told}{_published(row.published)}."
    without = [
        row
        for row in found.rows
        if not row.alone
        and row.measured.sample
        and row.measured.case.placed.usable
        and row.against is None
    ]
    if without:
        places = listed(list(dict.fromkeys(where_pairs_are(row.measured.case) for row in without)))
        yield (
            f"Two threads {places} are not compared: no run of one thread alone on the same kind "
            "of core that could be compared with them."
        )


def _on(row: Shared) -> str:
    """Return where the one thread is: `on a P-core`, `left to the scheduler`."""
    assert row.against is not None
    if leaves_all(row.measured.case.facts):
        return ", left to the scheduler as well"
    if not row.kinds:
        return ""
    if len(row.kinds) == 1:
        return f" on {_a(row.kinds[0])}"
    return f", by the mean of {listed([f'one on {_a(kind)}' for kind in row.kinds])}"


def _a(kind: str) -> str:
    article = "an" if kind[:1] in "AEFHILMNORSX" else "a"
    return f"{article} {one_line(kind)}-core"


def _published(one: Published | None) -> str:
    """Return the published slowdown of a placement; empty where there is none."""
    if one is None or one.slowdown is None:
        return ""
    times = f"; published: {one.slowdown:g} times the time"
    if one.slowdown == 1:
        times = "; published: the same time"
    if one.alone_ms is None or one.time_ms is None:
        return times
    return f"{times} ({one.alone_ms:g} ms alone, {one.time_ms:g} ms on siblings)"


def _table(found: Sharing) -> Table:
    decimals = decimals_of([row.measured for row in found.rows])
    stars = [row.published for row in found.rows if row.published]
    columns = (
        Column("threads"),
        *head_columns("ms", "time of a thread"),
        *RATIO_COLUMNS,
        Column("against", right=False),
        Column("pinned by", right=False),
        *((Column("published ratio"),) if stars else ()),
    )
    sources = sources_of(stars)
    notes = [
        ("", "The time ratio is against one thread alone on the same kind of core; of threads on "
         "two kinds, against the mean of one on each."),
    ]  # fmt: skip
    if sources:
        notes.append(("", f"Published numbers are of other machines. Sources: {sources}."))
    return Table(
        caption="the time of a thread under each placement",
        columns=columns,
        cells=tuple(_cells(row, decimals, bool(stars)) for row in found.rows),
        notes=tuple(notes),
    )


def _cells(row: Shared, decimals: int, stars: bool) -> tuple[str, ...]:
    published = row.published.slowdown if row.published else None
    others = row.against.others if row.against else ()
    against = listed([one_line(other.case.mapping) for other in others])
    return (
        str(row.measured.threads),
        *head_cells(row.measured, decimals),
        *ratio_cells(row.against, "alone" if row.alone and row.measured.sample else ""),
        f"{against} (1 thread)" if against else NOTHING,
        placed_by(row.measured.case.facts),
        *((NOTHING if published is None else f"{published:g}",) if stars else ()),
    )
