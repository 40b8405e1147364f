"""What latencies say of groups, partners and teams of CPUs; as tables, data and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pinstudy.analysis.format.numbers import NOTHING, fixed
from pinstudy.analysis.format.table import Column, Table, Written, table_of
from pinstudy.analysis.latency.nearness import NEARER
from pinstudy.analysis.latency.reading import Latency
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.statistics.sample import Array
from pinstudy.analysis.words import experiments as words
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import first_of, one_line, plural
from pinstudy.runners.node.topology import Topology, sharing

SIBLINGS, L2, L3, PACKAGE, NUMA = "SMT siblings", "L2", "L3", "package", "NUMA node"
# The kernel's levels of nearness, inner levels first; a core kind is none.
LEVELS = (SIBLINGS, L2, L3, PACKAGE, NUMA)
ALL = "all measured"
NEAREST_PAIR = "nearest pair"


@dataclass(frozen=True)
class LatencyRange:
    """The medians of some measured pairs, in ns."""

    measured: int
    median_ns: float
    least_ns: float
    most_ns: float


@dataclass(frozen=True)
class KernelGroup:
    """Measured CPUs that the kernel groups, two or more, and their core kinds.

    `names` are of LEVELS, inner ones first, then the core kind that consists of these CPUs
    (`P-cores`); or ALL. Without a topology they are of the groups that the latencies show.
    """

    cpus: tuple[int, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class LatencyGroup:
    """A group of the kernel, and its pairs that no smaller group has: how many, and their range.

    `range` is None where none of them was measured.
    """

    kernel: KernelGroup
    pairs: int
    range: LatencyRange | None


@dataclass(frozen=True)
class Partner:
    """Another CPU, and the median one-way time to it and back, in ns."""

    cpu: int
    ns: float


@dataclass(frozen=True)
class Partners:
    """A CPU's siblings on its own core, and the nearest CPU on another core; None: not measured.

    `as_near` are the CPUs on other cores whose runs overlap those with the nearest one: they are
    not told apart from it. Of two pairs alike, four runs each overlap in 97 of 100 cases. They are
    None where a pair has no runs, but a mean.
    """

    cpu: int
    kind: str
    siblings: tuple[Partner, ...]
    nearest: Partner | None
    as_near: tuple[int, ...] | None


@dataclass(frozen=True)
class NearTeam:
    """CPUs for threads that talk, one a core, and the range of all their pairs.

    `names` and `kinds` are those of the kernel's group, or NEAREST_PAIR; `among` is how many groups
    of these names and kinds there are, of which this one has the least median.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    cpus: tuple[int, ...]
    range: LatencyRange
    among: int = 1

    @property
    def environment(self) -> str:
        """The environment that pins a team so, ready for a command line."""
        places = ",".join(f"{{{cpu}}}" for cpu in self.cpus)
        return f'OMP_PLACES="{places}" OMP_PROC_BIND=close OMP_NUM_THREADS={len(self.cpus)}'


@dataclass(frozen=True)
class LatencyFindings:
    """The findings on one node's latencies; larger groups and smaller teams come first."""

    latency: Latency
    groups: list[LatencyGroup]
    partners: list[Partners]
    teams: list[NearTeam]


def latency_findings(latency: Latency) -> LatencyFindings:
    """Return the findings on latencies."""
    groups, partners = _groups(latency), _partners(latency)
    return LatencyFindings(latency, groups, partners, _teams(latency, groups, partners))


def levels_of(latency: Latency) -> tuple[str, ...]:
    """Return the names of levels, inner ones first: LEVELS, or those of groups shown."""
    if latency.groups_shown is None:
        return LEVELS
    return tuple(dict.fromkeys(_shown_name(group) for group in latency.groups_shown))


def kernel_groups(latency: Latency) -> list[KernelGroup]:
    """Return the kernel's groups among the CPUs, and all of these; larger ones first."""
    topology, cpus = latency.topology, frozenset(latency.cpus)
    names: dict[tuple[int, ...], dict[str, None]] = {}
    for name, group in _levels(latency):
        names.setdefault(tuple(sorted(cpus.intersection(group))), {})[name] = None
    names.setdefault(tuple(sorted(cpus)), {ALL: None})
    groups = [
        KernelGroup(group, tuple(named), _kinds(topology, group))
        for group, named in names.items()
        if len(group) > 1
    ]
    return sorted(groups, key=lambda group: (-len(group.cpus), group.cpus))


def near_order(latency: Latency, cpus: Iterable[int]) -> list[int]:
    """Return CPUs in an order in which those that the kernel calls near stand together."""
    topology = latency.topology
    if latency.groups_shown is not None:
        larger_first = latency.groups_shown[::-1]
        return sorted(
            cpus, key=lambda cpu: (*(group[0] for group in larger_first if cpu in group), cpu)
        )
    package = {cpu: core.package for core in topology.cores for cpu in core.cpus}
    groups = (
        [node.cpus for node in topology.numa],
        sharing(topology.caches, 3),
        sharing(topology.caches, 2),
        [core.cpus for core in topology.cores],
    )
    first = [{cpu: min(group) for group in level for cpu in group} for level in groups]
    # Without a cache a CPU stands where its core does.
    core = first[-1]
    return sorted(
        cpus, key=lambda cpu: (package[cpu], *(level.get(cpu, core[cpu]) for level in first), cpu)
    )


def _shown_name(group: Sequence[int]) -> str:
    return f"group of {len(group)}"


def _levels(latency: Latency) -> Iterator[tuple[str, Iterable[int]]]:
    if latency.groups_shown is None:
        yield from _kernel_levels(latency.topology)
    for group in latency.groups_shown or ():
        yield _shown_name(group), group
    for kind in latency.topology.kinds if latency.topology.hybrid else ():
        yield f"{kind.name}-cores", kind.cpus


def _kernel_levels(topology: Topology) -> Iterator[tuple[str, Iterable[int]]]:
    for core in topology.cores:
        yield SIBLINGS, core.cpus
    for level, name in ((2, L2), (3, L3)):
        for cpus in sharing(topology.caches, level):
            yield name, cpus
    packages: dict[int, list[int]] = {}
    for core in topology.cores:
        packages.setdefault(core.package, []).extend(core.cpus)
    for package in packages.values():
        yield PACKAGE, package
    for node in topology.numa:
        yield NUMA, node.cpus


def _kinds(topology: Topology, cpus: Iterable[int]) -> tuple[str, ...]:
    return tuple(kind.name for kind in topology.kinds if not {*kind.cpus}.isdisjoint(cpus))


def _groups(latency: Latency) -> list[LatencyGroup]:
    kernel = kernel_groups(latency)
    # The number of the smallest group that has both CPUs of a pair.
    smallest = np.zeros((len(latency.cpus),) * 2, dtype=np.intp)
    for number, group in enumerate(kernel):
        rows = np.searchsorted(latency.cpus, group.cpus)
        smallest[np.ix_(rows, rows)] = number
    upper = np.triu_indices(len(latency.cpus), 1)
    numbers, ns = smallest[upper], latency.both_ways[upper]
    own = [ns[numbers == number] for number in range(len(kernel))]
    return [LatencyGroup(group, len(own[at]), _range(own[at])) for at, group in enumerate(kernel)]


def _range(ns: Array) -> LatencyRange | None:
    known = ns[~np.isnan(ns)]
    if not len(known):
        return None
    return LatencyRange(len(known), *(float(end(known)) for end in (np.median, np.min, np.max)))


def _partners(latency: Latency) -> list[Partners]:
    core_of = {cpu: core.cpus for core in latency.topology.cores for cpu in core.cpus}
    row_of = {cpu: row for row, cpu in enumerate(latency.cpus)}
    least, most = latency.of_pairs("least_run_ns"), latency.of_pairs("most_run_ns")
    partners = []
    for cpu, row in row_of.items():
        times = latency.both_ways[row]
        order = np.argsort(times, kind="stable")[: np.isfinite(times).sum()]
        found = [Partner(latency.cpus[at], float(times[at])) for at in order]
        siblings = tuple(partner for partner in found if partner.cpu in core_of[cpu])
        elsewhere = [partner for partner in found if partner.cpu not in core_of[cpu]]
        nearest = elsewhere[0] if elsewhere else None
        as_near = tuple(
            sorted(
                partner.cpu
                for partner in elsewhere[1:]
                if least[row, row_of[partner.cpu]] <= most[row, row_of[elsewhere[0].cpu]]
            )
        )
        kind = latency.topology.kind_of(cpu) or ""
        partners.append(
            Partners(cpu, kind, siblings, nearest, None if latency.imported else as_near)
        )
    return partners


def _teams(
    latency: Latency, groups: Iterable[LatencyGroup], partners: Iterable[Partners]
) -> list[NearTeam]:
    """Return the nearest pair, then of the groups with the same names the nearest, as teams.

    No CPU is in a team of which no pair was measured. None where one core only was measured.
    """
    near = [(row.nearest.ns, row.cpu, row.nearest.cpu) for row in partners if row.nearest]
    if not near:
        return []
    cpus = _a_core_each(latency)
    nearest = _team(latency, (NEAREST_PAIR,), min(near)[1:])
    teams = {frozenset(nearest.cpus): nearest} if nearest else {}
    for alike in grouped(groups, lambda group: (group.kernel.names, group.kernel.kinds)):
        names = alike[0].kernel.names
        found = [
            _team(latency, names, tuple(filter(frozenset(group.kernel.cpus).__contains__, cpus)))
            for group in alike
        ]
        known = [team for team in found if team is not None]
        if known:
            best = min(known, key=lambda team: team.range.median_ns)
            teams.setdefault(frozenset(best.cpus), replace(best, among=len(known)))
    return sorted(teams.values(), key=lambda team: len(team.cpus))


def _team(latency: Latency, names: tuple[str, ...], cpus: tuple[int, ...]) -> NearTeam | None:
    rows = np.searchsorted(latency.cpus, cpus)
    ns = latency.both_ways[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]
    found = _range(ns)
    return NearTeam(names, _kinds(latency.topology, cpus), cpus, found) if found else None


def _a_core_each(latency: Latency) -> list[int]:
    """Return the first measured CPU of each core, the best kind first, near ones together."""
    core_of = {cpu: core for core in latency.topology.cores for cpu in core.cpus}
    measured = {cpu for ends in ("a", "b") for cpu in latency.runs[ends].tolist()}
    order = near_order(latency, measured)
    first: dict[tuple[int, ...], int] = {}
    for cpu in sorted(order, key=lambda cpu: core_of[cpu].rank):
        first.setdefault(core_of[cpu].cpus, cpu)
    return list(first.values())


# More rows are for programs, or for the heat map.
MAX_ROWS = 64
_MAX_REASONS = 3
_MAX_DISTURBED = 3


def latency_tables(findings: LatencyFindings) -> tuple[Table, ...]:
    """Return the table of the groups, and that of each CPU's nearest partner."""
    groups, partners = findings.groups, findings.partners
    shown = findings.latency.groups_shown is not None
    return (
        table_of(
            f"One way between two CPUs, by the {'matrix' if shown else 'kernel'}'s groups",
            _GROUPS,
            groups[:MAX_ROWS],
            [*_notes(findings), *_rest(len(groups))],
        ),
        table_of(
            f"The nearest partner of each CPU, {words.OUTSIDE if shown else words.ELSEWHERE}",
            _PARTNERS,
            partners[:MAX_ROWS],
            [*_partner_notes(findings.latency), *_rest(len(partners))],
        ),
    )


def mappings(findings: LatencyFindings) -> tuple[tuple[str, str], ...]:
    """Return what each team is, and the environment that pins it so."""
    return tuple((_title(team), team.environment) for team in findings.teams)


def findings_data(findings: LatencyFindings) -> dict[str, Any]:
    """Return the findings by names, unrounded; times in ns, CPUs of groups as lists (`0-3,8`)."""
    latency = findings.latency
    return {
        "node_id": latency.node_id,
        "imported": latency.imported,
        "started_at": latency.started_at,
        "method": latency.method,
        "plan": latency.plan,
        "pairs_of_node": latency.pairs_of_node,
        "addresses": latency.addresses,
        "samples": None if latency.imported else len(latency.one_way_ns),
        "switched": None if latency.imported else _switched(latency),
        "pairs": latency.pairs.sort_values(["median_ns", "a", "b"]).to_dict("records"),
        "left_out": [{"cpus": list(pair.cpus), "reason": pair.reason} for pair in latency.left_out],
        "disturbed": [[a, b] for a, b, _ in latency.disturbed],
        "groups": [
            asdict(group.kernel)
            | {
                "cpus": format_cpulist(group.kernel.cpus),
                "pairs": group.pairs,
                "range": asdict(group.range) if group.range else None,
            }
            for group in findings.groups
        ],
        "partners": [asdict(partners) for partners in findings.partners],
        "mappings": [asdict(team) | {"environment": team.environment} for team in findings.teams],
    }


def pairs_csv(latency: Latency) -> str:
    """Return each pair's numbers as CSV: both directions together, then each."""
    both = latency.pairs.rename(columns={"a": "from_cpu", "b": "to_cpu"})
    frame = pd.concat(
        [both.assign(directions="both"), latency.directed.assign(directions="one")],
        ignore_index=True,
    )
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _notes(findings: LatencyFindings) -> Iterator[str]:
    latency = findings.latency
    yield words.one_way(
        latency.nearest, latency.farthest, float(latency.pairs["median_ns"].median())
    )
    yield words.MEASURED.format(
        pairs=len(latency.pairs), possible=plural(latency.pairs_of_node, "pair"), how=_how(latency)
    )
    yield words.OF_NO_SMALLER_GROUP
    if latency.groups_shown is not None:
        yield from (text.format(times=NEARER) for text in words.GROUPS_SHOWN)
    if switched := _switched(latency):
        yield from (text.format(times=plural(switched, "time")) for text in words.SWITCHED_OUT)
    if latency.left_out:
        count = plural(len(latency.left_out), "pair")
        reasons = list(dict.fromkeys(one_line(pair.reason) for pair in latency.left_out))
        yield words.LEFT_OUT.format(count=count, why=first_of(reasons, _MAX_REASONS))
    if latency.disturbed:
        pairs = [f"{a}, {b} ({words.ns(ns)})" for a, b, ns in latency.disturbed]
        yield words.DISTURBED.format(pairs=first_of(pairs, _MAX_DISTURBED))
    if not findings.teams:
        yield words.ONE_CORE
    elif latency.topology.hybrid:
        kinds = ", ".join(kind.name for kind in latency.topology.kinds)
        yield words.KINDS_DIFFER.format(kinds=one_line(kinds))


def _how(latency: Latency) -> str:
    """Return how the pairs were measured, as far as it is known."""
    if latency.method is None or latency.addresses is None:
        return words.BY_ANOTHER_TOOL.format(file=one_line(latency.imported or "", None))
    return words.HOW.format(
        method=words.METHODS[latency.method],
        lines=plural(latency.addresses, "line"),
        samples=plural(len(latency.one_way_ns), "sample"),
    )


def _partner_notes(latency: Latency) -> Iterator[str]:
    yield words.NO_RUNS if latency.imported else words.AS_NEAR
    if latency.groups_shown is not None:
        yield words.MAYBE_SIBLINGS


def _switched(latency: Latency) -> int:
    return int(np.nansum(latency.runs["switched"].to_numpy(dtype=float)))


def _title(team: NearTeam) -> str:
    """Return what a team is: `4 threads, L2 (E), nearest of 4: 28.0 ns (27.5 to 28.9)`."""
    parts = [plural(len(team.cpus), "thread"), f"{one_line(team.names[0])} ({_names(team.kinds)})"]
    if team.among > 1:
        parts.append(f"nearest of {team.among}")
    ends = f" ({_ends(team.range)})" if team.range.measured > 1 else ""
    return f"{', '.join(parts)}: {_median(team.range)} ns{ends}"


def _rest(rows: int) -> list[str]:
    if rows <= MAX_ROWS:
        return []
    return [words.REST_IN.format(shown=MAX_ROWS, rows=rows, where="--json")]


def _names(names: tuple[str, ...]) -> str:
    return one_line(", ".join(names)) or NOTHING


def _median(found: LatencyRange | None) -> str:
    return fixed(found.median_ns, 1) if found else NOTHING


def _ends(found: LatencyRange | None) -> str:
    return f"{fixed(found.least_ns, 1)} to {fixed(found.most_ns, 1)}" if found else NOTHING


def _partner(partner: Partner) -> str:
    return f"{partner.cpu} ({fixed(partner.ns, 1)})"


_GROUPS: tuple[Written[LatencyGroup], ...] = (
    (Column("group", right=False), lambda group: _names(group.kernel.names)),
    (Column("kinds", right=False), lambda group: _names(group.kernel.kinds)),
    (Column("CPUs", right=False), lambda group: format_cpulist(group.kernel.cpus)),
    (
        Column("pairs"),
        lambda group: f"{group.range.measured if group.range else 0} of {group.pairs}",
    ),
    (Column("median", "ns"), lambda group: _median(group.range)),
    (Column("range", "ns"), lambda group: _ends(group.range)),
)
_PARTNERS: tuple[Written[Partners], ...] = (
    (Column("CPU"), lambda row: str(row.cpu)),
    (Column("kind", right=False), lambda row: one_line(row.kind) or NOTHING),
    (
        Column("sibling", "ns", right=False),
        lambda row: ", ".join(map(_partner, row.siblings)) or NOTHING,
    ),
    (
        Column("nearest", "ns", right=False),
        lambda row: _partner(row.nearest) if row.nearest else "not measured",
    ),
    (Column("as near", right=False), lambda row: format_cpulist(row.as_near or ()) or NOTHING),
)
