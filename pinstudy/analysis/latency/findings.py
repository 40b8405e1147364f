"""What latencies say: the range of each of the kernel's groups, nearest partners, teams of CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from pinstudy.analysis.latency.reading import Array, Latency
from pinstudy.analysis.results.case import grouped
from pinstudy.runners.node.topology import Topology, sharing

SIBLINGS, L2, L3, PACKAGE, NUMA = "SMT siblings", "L2", "L3", "package", "NUMA node"
# The kernel's levels of nearness, inner levels first; a core kind is none.
LEVELS = (SIBLINGS, L2, L3, PACKAGE, NUMA)
ALL = "all measured"
NEAREST_PAIR = "nearest pair"


@dataclass(frozen=True)
class Range:
    """The medians of some measured pairs, in ns."""

    measured: int
    median_ns: float
    least_ns: float
    most_ns: float


@dataclass(frozen=True)
class KernelGroup:
    """Measured CPUs that the kernel groups, two or more, and their core kinds.

    `names` are of LEVELS, inner ones first, then the core kind that consists of these CPUs
    (`P-cores`); or ALL.
    """

    cpus: tuple[int, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """A group of the kernel, and its pairs that no smaller group has: how many, and their range.

    `range` is None where none of them was measured.
    """

    kernel: KernelGroup
    pairs: int
    range: Range | None


@dataclass(frozen=True)
class Partner:
    """Another CPU, and the median one-way time to it and back, in ns."""

    cpu: int
    ns: float


@dataclass(frozen=True)
class Partners:
    """A CPU's siblings on its own core, and the nearest CPU on another core; None: not measured.

    `as_near` are the CPUs on other cores whose runs overlap those with the nearest one: they are
    not told apart from it. Of two pairs alike, four runs each overlap in 97 of 100 cases.
    """

    cpu: int
    kind: str
    siblings: tuple[Partner, ...]
    nearest: Partner | None
    as_near: tuple[int, ...]


@dataclass(frozen=True)
class Team:
    """CPUs for threads that talk, one a core, and the range of all their pairs.

    `names` and `kinds` are those of the kernel's group, or NEAREST_PAIR; `among` is how many groups
    of these names and kinds there are, of which this one has the least median.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    cpus: tuple[int, ...]
    range: Range
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
    groups: list[Group]
    partners: list[Partners]
    teams: list[Team]


def latency_findings(latency: Latency) -> LatencyFindings:
    """Return the findings on latencies."""
    groups, partners = _groups(latency), _partners(latency)
    return LatencyFindings(latency, groups, partners, _teams(latency, groups, partners))


def kernel_groups(topology: Topology, measured: Iterable[int]) -> list[KernelGroup]:
    """Return the kernel's groups among the measured CPUs, and all of these; larger ones first."""
    cpus = frozenset(measured)
    names: dict[tuple[int, ...], dict[str, None]] = {}
    for name, group in _levels(topology):
        names.setdefault(tuple(sorted(cpus.intersection(group))), {})[name] = None
    names.setdefault(tuple(sorted(cpus)), {ALL: None})
    groups = [
        KernelGroup(group, tuple(named), _kinds(topology, group))
        for group, named in names.items()
        if len(group) > 1
    ]
    return sorted(groups, key=lambda group: (-len(group.cpus), group.cpus))


def near_order(topology: Topology, cpus: Iterable[int]) -> list[int]:
    """Return CPUs in an order in which those that the kernel calls near stand together."""
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


def _levels(topology: Topology) -> Iterator[tuple[str, Iterable[int]]]:
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
    for kind in topology.kinds if topology.hybrid else ():
        yield f"{kind.name}-cores", kind.cpus


def _kinds(topology: Topology, cpus: Iterable[int]) -> tuple[str, ...]:
    return tuple(kind.name for kind in topology.kinds if not {*kind.cpus}.isdisjoint(cpus))


def _groups(latency: Latency) -> list[Group]:
    kernel = kernel_groups(latency.topology, latency.cpus)
    # The number of the smallest group that has both CPUs of a pair.
    smallest = np.zeros((len(latency.cpus),) * 2, dtype=np.intp)
    for number, group in enumerate(kernel):
        rows = np.searchsorted(latency.cpus, group.cpus)
        smallest[np.ix_(rows, rows)] = number
    upper = np.triu_indices(len(latency.cpus), 1)
    numbers, ns = smallest[upper], latency.both_ways[upper]
    own = [ns[numbers == number] for number in range(len(kernel))]
    return [Group(group, len(own[at]), _range(own[at])) for at, group in enumerate(kernel)]


def _range(ns: Array) -> Range | None:
    known = ns[~np.isnan(ns)]
    if not len(known):
        return None
    return Range(len(known), *(float(end(known)) for end in (np.median, np.min, np.max)))


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
        partners.append(Partners(cpu, kind, siblings, nearest, as_near))
    return partners


def _teams(latency: Latency, groups: Iterable[Group], partners: Iterable[Partners]) -> list[Team]:
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


def _team(latency: Latency, names: tuple[str, ...], cpus: tuple[int, ...]) -> Team | None:
    """Return a team of these CPUs; None where none of their pairs was measured."""
    rows = np.searchsorted(latency.cpus, cpus)
    ns = latency.both_ways[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]
    found = _range(ns)
    return Team(names, _kinds(latency.topology, cpus), cpus, found) if found else None


def _a_core_each(latency: Latency) -> list[int]:
    """Return the first measured CPU of each core, the best kind first, near ones together."""
    core_of = {cpu: core for core in latency.topology.cores for cpu in core.cpus}
    measured = {cpu for ends in ("a", "b") for cpu in latency.runs[ends].tolist()}
    order = near_order(latency.topology, measured)
    first: dict[tuple[int, ...], int] = {}
    for cpu in sorted(order, key=lambda cpu: core_of[cpu].rank):
        first.setdefault(core_of[cpu].cpus, cpu)
    return list(first.values())
