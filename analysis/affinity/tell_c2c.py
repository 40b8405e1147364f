"""Contended cache lines in sentences and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.affinity.c2c import CaseLines, SharedLine
from analysis.affinity.node_cpus import NodeCpus
from analysis.affinity.told import Told
from analysis.digits import percent
from analysis.layouts import NOTHING
from analysis.table import Column, Notes, Table
from analysis.verdict.phrases import listed
from base.cpulist import format_cpulist
from base.text import plural

# The lines that are named are the fewest that have this share of a case's HITM …
MOSTLY = 0.9
# … where these are not more.
MAX_NAMED = 3
# A table has no more lines of a case.
MAX_ROWS = 5
MAX_CPUS = 4
# A share of fewer samples is off by more than 20 percentage points in one of 20 cases (normal
# approximation of a binomial's interval: 1.96 sqrt(0.25 / 24) = 0.2).
ENOUGH = 24

CAPTION = "cache lines that cores took from each other"
COLUMNS = (
    Column("mapping", right=False),
    Column("cache line", right=False),
    Column("HITM", "samples"),
    Column("of all HITM"),
    Column("local", "samples"),
    Column("remote", "samples"),
    Column("stores", "samples"),
    Column("CPUs: samples", right=False),
    Column("code", right=False),
)
_REMARK = (
    "one execution of each case under perf c2c, which is none of its runs; HITM: a load that found "
    "its line modified in another core's cache, in the same NUMA node (local) or another (remote)"
)


def tell_lines(cases: Sequence[CaseLines], node: NodeCpus) -> Told:
    """Return what cases that differ in their mapping only showed under `perf c2c`."""
    said = tuple(f"{case.mapping}: {_sentence(case, node)}." for case in cases)
    return Told(cases[0].title, said, _table(cases, node))


def _sentence(case: CaseLines, node: NodeCpus) -> str:
    """Return which lines a case's HITM is on, without the full stop."""
    if case.why_not:
        return f"contended cache lines are not known: {case.why_not}"
    if not case.hitm:
        found = "found its line modified in another core's cache"
        return f"none of {plural(case.loads, 'sampled load')} {found} (HITM)"
    few = "only " if case.hitm < ENOUGH else ""
    samples = f"{few}{plural(case.hitm, 'sample')}"
    named = _fewest(case)
    if named is None:
        share = percent(case.lines[0].hitm / case.hitm)
        count = len(case.lines) + case.left_out
        return f"HITM ({samples}) is on {count} cache lines, the first of which has {share} of it"
    share = percent(sum(line.hitm for line in named) / case.hitm)
    where = [_among(line, node) for line in named]
    if len(named) == 1:
        return f"1 cache line had {share} of all HITM ({samples}), {where[0]}"
    apart = len(set(where)) > 1
    each = ", ".join(f"one {place}" for place in where) if apart else f"each {where[0]}"
    return f"{len(named)} cache lines had {share} of all HITM ({samples}), {each}"


def _fewest(case: CaseLines) -> tuple[SharedLine, ...] | None:
    """Return the fewest lines that have most of the HITM; None where these are many."""
    for count in range(1, MAX_NAMED + 1):
        if sum(line.hitm for line in case.lines[:count]) >= MOSTLY * case.hitm:
            return case.lines[:count]
    return None


def _among(line: SharedLine, node: NodeCpus) -> str:
    cpus = [cpu for cpu, samples in line.cpus.items() if samples]
    if len(cpus) == 1:
        return f"seen on CPU {_named(cpus[0], node)} alone"
    if len(cpus) <= MAX_CPUS:
        return f"between CPUs {listed([_named(cpu, node) for cpu in cpus])}"
    return f"among CPUs {format_cpulist(cpus)}"


def _named(cpu: int, node: NodeCpus) -> str:
    """Return a CPU with its kind, where there are several kinds."""
    kind = node.kind.get(cpu)
    return f"{cpu} ({kind})" if kind and len(node.order) > 1 else str(cpu)


def _table(cases: Sequence[CaseLines], node: NodeCpus) -> Table:
    notes = Notes()
    cells = tuple(row for case in cases for row in _rows(case, node, notes))
    return Table(CAPTION, COLUMNS, cells, (*notes.listed(), ("", _REMARK)))


def _rows(case: CaseLines, node: NodeCpus, notes: Notes) -> Iterator[tuple[str, ...]]:
    mark = f" ({notes.marker(case.unsampled)})" if case.unsampled else ""
    name = f"{case.mapping}{mark}"
    empty = (NOTHING,) * (len(COLUMNS) - 3)
    if case.why_not:
        yield name, f"n/a ({notes.marker(case.why_not)})", NOTHING, *empty
        return
    if not case.lines:
        yield name, NOTHING, "0", *empty
        return
    shown = case.lines[:MAX_ROWS]
    more = len(case.lines) + case.left_out - len(shown)
    for line in shown:
        last = line is shown[-1] and more
        beyond = f" ({notes.marker(_beyond(more))})" if last else ""
        yield (
            name,
            f"{line.address}{beyond}",
            str(line.hitm),
            percent(line.hitm / case.hitm),
            str(line.local),
            str(line.remote),
            str(line.stores),
            _counted(line, node),
            listed(line.symbols) if line.symbols else NOTHING,
        )


def _beyond(more: int) -> str:
    return f"{plural(more, 'more line')}, none with more HITM"


def _counted(line: SharedLine, node: NodeCpus) -> str:
    """Return the CPUs with most samples, and how many others there are."""
    busiest = sorted(line.cpus.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{_named(cpu, node)}: {samples}" for cpu, samples in busiest[: 2 * MAX_CPUS])
    more = len(busiest) - 2 * MAX_CPUS
    return f"{shown} and {plural(more, 'other')}" if more > 0 else shown
