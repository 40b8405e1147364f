"""SMT sharing: how much slower a thread is beside another one, by where the other one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.affinity.measured import (
    SMT,
    Measured,
    Row,
    by_setting,
    compared,
    measured_cases,
    where_pairs_are,
)
from analysis.affinity.node_cpus import NodeCpus, node_cpus
from analysis.affinity.published import Published, published_for, sources_of
from analysis.affinity.told import (
    PINNED_BY,
    Subject,
    Told,
    first_by_place,
    head_columns,
    marked,
    ratio_columns,
    says,
    title_of,
)
from analysis.format.table import Column, Table, Written, table_of
from analysis.results.sources import Results
from analysis.tables.layouts import NOTHING
from analysis.verdict.model import Findings
from analysis.verdict.phrases import leaves_all, listed
from base.text import one_line

_CAPTION = "the time of a thread under each placement"
_WHO = {
    "accumulate": "Two threads that add up floats",
    "sin": "Two threads that compute sines",
}


@dataclass(frozen=True)
class Shared(Row):
    """A case: the time of a thread for its array in ms, compared with one thread alone.

    That is on a core of the same kind; for threads on two kinds of core there is one of each, whose
    mean time is taken. `kinds` are those of the case's CPUs, empty where nobody knows them.
    """

    kinds: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether this is one thread without another."""
        return self.measured.threads == 1


# The cases of one workload, build and governor: one thread first, then two.
Sharing = tuple[Shared, ...]


def sharing(results: Results, findings: Findings) -> list[Sharing]:
    """Return the SMT experiments of results; all their comparisons are tested together."""
    node = node_cpus(results)
    groups = [
        sorted(setting, key=lambda case: case.threads)
        for setting in by_setting(measured_cases(results, findings, SMT))
    ]
    pairs = {
        case: (case, _alone(case, group, node))
        for group in groups
        for case in group
        if case.threads > 1
    }
    found = compared([*pairs.values()], findings.margin)
    return [
        tuple(
            Shared(
                case,
                found.get(pairs[case]) if case in pairs else None,
                published_for(SMT, case.case),
                node.kinds_of(case.case.summary.cpus),
            )
            for case in group
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
    kinds = node.kinds_of(case.case.summary.cpus)
    if not kinds:
        # On a node whose kinds nobody knows only the same selection is surely of the same kind.
        same = [one for one in pinned if one.case.summary.selection == case.case.summary.selection]
        return tuple(same[:1])
    of_kinds = [
        next((one for one in pinned if node.kinds_of(one.case.summary.cpus) == (kind,)), None)
        for kind in kinds
    ]
    known = tuple(one for one in of_kinds if one is not None)
    return known if len(known) == len(kinds) else ()


def tell_smt(found: Sharing, margin: float) -> Told:
    """Return what one SMT experiment came to; `margin` is that of equivalence, a share."""
    title = title_of(found[0].measured.case, ("threads",))
    return Told(title, tuple(_placements(found, margin)), _table(found))


def _placements(found: Sharing, margin: float) -> Iterator[str]:
    size = one_line(str(found[0].measured.case.summary.table.size))
    who = _WHO.get(size.removesuffix("-quick"), f"Two threads of {size}")
    for here, row in first_by_place(row for row in found if row.against).items():
        assert row.against is not None
        alone = f"one alone{_on(row)}"
        subject = Subject(who, alone, alone.replace("one ", "one takes ", 1))
        told = marked(row.measured, says(row.against.comparison, subject, here, margin))
        yield f"{told}{_published(row.published)}."
    without = [
        where_pairs_are(row.measured.case)
        for row in found
        if not row.alone
        and row.measured.sample
        and row.measured.case.placed.usable
        and row.against is None
    ]
    if without:
        yield (
            f"Two threads {listed([*dict.fromkeys(without)])} are not compared: no run of one "
            "thread alone on the same kind of core that could be compared with them."
        )


def _on(row: Shared) -> str:
    """Return where the one thread is: `on a P-core`, `left to the scheduler`."""
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
    columns: list[Written[Shared]] = [
        (Column("threads"), lambda row: str(row.measured.threads)),
        *head_columns(found, "time of a thread", "ms"),
        *ratio_columns(_alone_word),
        (Column("against", right=False), _others),
        PINNED_BY,
    ]
    notes = [
        ("", "The time ratio is against one thread alone on the same kind of core; of threads on "
         "two kinds, against the mean of one on each."),
    ]  # fmt: skip
    if stars := [row.published for row in found if row.published]:
        columns.append((Column("published ratio"), _slowdown))
        note = f"Published numbers are of other machines. Sources: {sources_of(stars)}."
        notes.append(("", note))
    return table_of(_CAPTION, columns, found, tuple(notes))


def _alone_word(row: Shared) -> str:
    return "alone" if row.alone and row.measured.sample else ""


def _others(row: Shared) -> str:
    if row.against is None:
        return NOTHING
    mappings = listed([one_line(other.case.mapping) for other in row.against.others])
    return f"{mappings} (1 thread)"


def _slowdown(row: Shared) -> str:
    return f"{row.published.slowdown:g}" if row.published and row.published.slowdown else NOTHING
