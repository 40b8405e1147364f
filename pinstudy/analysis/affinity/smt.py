"""SMT sharing: how much slower a thread is beside another one, by where the other one is."""

from __future__ import annotations

from collections.abc import Sequence

from pinstudy.analysis.affinity.section import Section, experiment_table, title_of
from pinstudy.analysis.affinity.timed_cases import (
    SMT,
    Measured,
    Row,
    by_configuration,
    compared,
    measured_cases,
    published_for,
)
from pinstudy.analysis.format.numbers import NOTHING
from pinstudy.analysis.format.table import Column, Written
from pinstudy.analysis.results.baselines import leaves_all
from pinstudy.analysis.results.node_files import NodeCpus, node_cpus
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import experiments as words
from pinstudy.base.text import one_line

# The cases of one workload, build and governor: one thread first, then two. They are compared by
# the time of a thread for its array, in ms.
Sharing = tuple[Row, ...]


def sharing(results: Results, findings: Findings) -> list[Sharing]:
    """Return the SMT experiments of results; all their comparisons are tested together."""
    node = node_cpus(results)
    groups = [
        sorted(configuration, key=lambda case: case.threads)
        for configuration in by_configuration(measured_cases(results, findings, SMT))
    ]
    pairs = {
        case: (case, _alone(case, group, node))
        for group in groups
        for case in group
        if case.threads > 1
    }
    comparisons = compared([*pairs.values()], findings.margin)
    return [
        tuple(
            Row(
                case,
                comparisons.get(pairs[case]) if case in pairs else None,
                published_for(SMT, case.case),
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
    pinned = [one for one in solos if one.case.summary.key.binding == "pin"]
    kinds = node.kinds_of(case.case.summary.key.cpus)
    if not kinds:
        # Where kinds are unknown only the same selection is surely of the same kind.
        same = [
            one
            for one in pinned
            if one.case.summary.key.selection == case.case.summary.key.selection
        ]
        return tuple(same[:1])
    of_kinds = [
        next((one for one in pinned if node.kinds_of(one.case.summary.key.cpus) == (kind,)), None)
        for kind in kinds
    ]
    known = tuple(one for one in of_kinds if one is not None)
    return known if len(known) == len(kinds) else ()


def smt_section(rows: Sharing) -> Section:
    """Return the section on one SMT experiment."""
    table = experiment_table(
        "the time of a thread under each placement",
        rows,
        Column("time of a thread", "ms"),
        [(Column("threads"), lambda row: str(row.measured.threads))],
        [_AGAINST, *([_PUBLISHED] if any(row.published for row in rows) else [])],
        lambda row: "alone" if row.measured.threads == 1 and row.measured.sample else "",
        [words.AGAINST_ONE_THREAD, *_not_compared(rows)],
    )
    return Section(title_of(rows[0].measured.case, ("threads",)), table)


def _not_compared(rows: Sharing) -> list[str]:
    lacking = [
        row.measured.case
        for row in rows
        if row.measured.threads > 1
        and row.measured.sample
        and row.measured.case.lost.usable
        and row.against is None
    ]
    return [words.NO_THREAD_ALONE.format(cases=words.rows(lacking))] if lacking else []


def _others(row: Row) -> str:
    if row.against is None:
        return NOTHING
    mappings = ", ".join(one_line(other.case.mapping) for other in row.against.others)
    return f"{mappings} (1 thread)"


def _slowdown(row: Row) -> str:
    published = row.published
    if published is None or published.slowdown is None:
        return NOTHING
    times = f" ({published.alone_ms:g} to {published.time_ms:g} ms)" if published.time_ms else ""
    return f"{published.slowdown:g}{times}"


_AGAINST: Written[Row] = (Column("against", right=False), _others)
_PUBLISHED: Written[Row] = (Column("published ratio"), _slowdown)
