"""SMT sharing: how much slower a thread is beside another one, by where the other one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.affinity.measured import (
    SMT,
    Against,
    Measured,
    by_setting,
    compared,
    measured_cases,
    placed_by,
    where_pairs_are,
)
from analysis.affinity.node_cpus import NodeCpus, kinds_of_case, node_cpus
from analysis.affinity.published import Published, published_for, sources_of
from analysis.affinity.told import (
    RATIO_COLUMNS,
    Subject,
    Told,
    decimals_of,
    head_cells,
    head_columns,
    marked,
    ratio_cells,
    says,
    title_of,
)
from analysis.format.table import Column, Table
from analysis.results.sources import Results
from analysis.tables.layouts import NOTHING
from analysis.verdict.model import Findings
from analysis.verdict.phrases import leaves_all, listed
from base.text import one_line

_WHO = {
    "accumulate": "Two threads that add up floats",
    "sin": "Two threads that compute sines",
}


@dataclass(frozen=True)
class Shared:
    """A case: the time of a thread for its array in ms, `against` one thread alone.

    `against` names the cases of one thread: that on a core of the same kind; for threads on two
    kinds of core one of each, whose mean time is taken. `kinds` are those of the case's CPUs,
    empty where nobody knows them.
    """

    measured: Measured
    kinds: tuple[str, ...]
    against: Against | None
    published: Published | None

    @property
    def alone(self) -> bool:
        """Whether this is one thread without another."""
        return self.measured.threads == 1


@dataclass(frozen=True)
class Sharing:
    """The cases of one workload, build and governor: one thread first, then two."""

    rows: tuple[Shared, ...]


def sharing(results: Results, findings: Findings) -> list[Sharing]:
    """Return the SMT experiments of results; all their comparisons are tested together."""
    node = node_cpus(results)
    groups = [
        sorted(setting, key=lambda case: case.threads)
        for setting in by_setting(measured_cases(results, findings, SMT))
    ]
    pairs = [
        (case, _alone(case, group, node)) for group in groups for case in group if case.threads > 1
    ]
    found = iter(compared(pairs, findings.margin))
    return [
        Sharing(
            tuple(
                Shared(
                    case,
                    kinds_of_case(case.case, node),
                    next(found) if case.threads > 1 else None,
                    published_for(SMT, case.case),
                )
                for case in group
            )
        )
        for group in groups
    ]


def _alone(case: Measured, group: Sequence[Measured], node: NodeCpus) -> tuple[Measured, ...]:
    """Return the one thread, or the one of each kind, that a case is compared with.

    A case that is left to the scheduler is compared with one thread that is left to it as well.
    """
    solos = [one for one in group if one.threads == 1 and one.values is not None]
    free = [one for one in solos if leaves_all(one.case.summary)]
    if leaves_all(case.case.summary):
        return tuple(free[:1])
    pinned = [one for one in solos if one.case.summary.binding == "pin"]
    kinds = kinds_of_case(case.case, node)
    if not kinds:
        # On a node whose kinds nobody knows only the same selection is surely of the same kind.
        same = [one for one in pinned if one.case.summary.selection == case.case.summary.selection]
        return tuple(same[:1])
    of_kinds = [
        next((one for one in pinned if kinds_of_case(one.case, node) == (kind,)), None)
        for kind in kinds
    ]
    known = tuple(one for one in of_kinds if one is not None)
    return known if len(known) == len(kinds) else ()


def tell_smt(found: Sharing, margin: float) -> Told:
    """Return what one SMT experiment came to; `margin` is that of equivalence, a share."""
    first = found.rows[0].measured.case
    return Told(title_of(first, ("threads",)), tuple(_placements(found, margin)), _table(found))


def _size(found: Sharing) -> str:
    return one_line(str(found.rows[0].measured.case.summary.table.size))


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
    if leaves_all(row.measured.case.summary):
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
        placed_by(row.measured.case.summary),
        *((NOTHING if published is None else f"{published:g}",) if stars else ()),
    )
