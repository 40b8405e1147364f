"""How fast a team could be: what its cores could do together, by the speed of each core kind.

A core on which the whole work takes t seconds has the speed 1/t. A team that is never idle needs
1 / sum(n_k / t_k), with n_k threads on cores of kind k: perfect balance, which no schedule beats
(the sum of speeds of Hill and Marty, "Amdahl's Law in the Multicore Era", IEEE Computer 41, 2008).
Where each of N threads has an equal share of the work, the slowest kind ends last, after
max(t_k) / N: so does `schedule(static)` (Saez, Castro, Prieto-Matias, "Enabling Performance
Portability of Data-Parallel OpenMP Applications on Asymmetric Multicore Processors", ICPP 2020).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from pinstudy.analysis.records.files import read_node
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.node_files import cpus_of
from pinstudy.analysis.results.sources import Results
from pinstudy.base.text import one_line
from pinstudy.configs.mapping import KIND_OF_SELECTION
from pinstudy.runners.node.topology import KIND_ORDER

# The speed of a core is that of one thread alone on its kind, or a core's share of a team on all
# cores of its kind: with as much heat and traffic to memory as a whole kind makes.
Speeds = Literal["one thread", "all cores"]
# Why a team has no bound. `no speed`: no case tells the speed of a kind.
Why = Literal["cores unknown", "more threads than cores", "no speed", "lost"]

# The build without threads, whose speeds serve where a build has no case of one thread.
SERIAL = "serial"
# The surest first: a thread that is bound does not move to another core.
_BINDINGS = ("pin", "set", "none")

Number = TypeVar("Number", float, NDArray[np.float64])


def perfect_s(threads: Mapping[str, int], core_s: Mapping[str, Number]) -> Number:
    """Return the time of a team that is never idle, in seconds.

    `threads` are its threads by core kind, one a core; `core_s` is how long one core of each kind
    takes for the whole work.
    """
    rates = [count / core_s[kind] for kind, count in threads.items()]
    return 1 / sum(rates[1:], start=rates[0])


@dataclass(frozen=True)
class NodeCores:
    """The core and the kind of each CPU; empty where nobody knows. A core has a number."""

    of_cpu: Mapping[int, tuple[int, str]] = field(default_factory=dict)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many cores there are of each kind."""
        return self.among(self.of_cpu)

    def among(self, cpus: Iterable[int]) -> dict[str, int]:
        """Return of how many cores of each kind these CPUs are; an SMT sibling is no other core."""
        kinds = [kind for _, kind in {self.of_cpu[cpu] for cpu in cpus}]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds), key=_rank)}


def node_cores(results: Results) -> NodeCores:
    """Return the cores that a study could use on its node, or those that a card's node has.

    A card does not tell which CPUs are siblings, so that kinds with siblings are not known there.
    """
    if results.runs is None:
        facts = results.card.node if results.card else results.published_node
        kinds = facts.kinds if facts else ()
        return NodeCores(
            {
                cpu: (cpu, kind.name)
                for kind in kinds
                for cpu in cpus_of(kind.cpus)
                if len(cpus_of(kind.cpus)) == kind.cores
            }
        )
    digests = results.runs.node_digests
    node = read_node(results.folder, digests[0]) if results.folder and len(digests) == 1 else None
    if node is None or node.topology is None:
        return NodeCores()
    allowed = frozenset(cpus_of(node.topology.allowed))
    return NodeCores(
        {
            cpu: (number, one_line(core.kind))
            for number, core in enumerate(node.topology.cores)
            for cpu in cpus_of(core.cpus)
            if core.kind and cpu in allowed
        }
    )


def _rank(kind: str) -> tuple[int, str]:
    """Return what sorts kinds, best first."""
    return KIND_ORDER.index(kind) if kind in KIND_ORDER else len(KIND_ORDER), kind


@dataclass(frozen=True)
class Bound:
    """What a team could do: `threads` on cores of each kind, by the speeds of `references`.

    The reference of a kind is a case of as many threads as it has cores. With `stays` no thread
    can change its kind; otherwise the team is that on the fastest cores that it may use.
    """

    case: Case
    speeds: Speeds
    threads: Mapping[str, int]
    references: Mapping[str, Case]
    stays: bool

    @property
    def count(self) -> int:
        """How many threads it has."""
        return sum(self.threads.values())

    def core_s(self, times_s: Mapping[str, Number]) -> dict[str, Number]:
        """Return how long one core of each kind takes for the whole work, of references' times."""
        return {kind: times_s[kind] * self.references[kind].key.table.threads for kind in times_s}

    @cached_property
    def mean_core_s(self) -> dict[str, float]:
        """The same of the references' mean times."""
        return self.core_s({kind: case.time.mean for kind, case in self.references.items()})

    @property
    def perfect_s(self) -> float:
        """The time under perfect balance, by the means, in seconds."""
        return perfect_s(self.threads, self.mean_core_s)

    @property
    def reached(self) -> float:
        """The share of the cores' speed that the case has, by the means; it may be above 1."""
        return self.perfect_s / self.case.time.mean

    def slowest(self, core_s: Mapping[str, float]) -> str | None:
        """Return the kind for which equal shares wait; None of one kind, or if threads may move."""
        if not self.stays or len(self.threads) == 1:
            return None
        return max(self.threads, key=lambda kind: core_s[kind])

    @property
    def equal_shares(self) -> float | None:
        """The share of the cores' speed that equal shares of the work allow, by the means."""
        slowest = self.slowest(self.mean_core_s)
        if slowest is None:
            return None
        return self.perfect_s * self.count / self.mean_core_s[slowest]

    @property
    def of_serial(self) -> bool:
        """Whether the speeds are those of another build, the one without threads."""
        return any(
            case.key.table.build != self.case.key.table.build for case in self.references.values()
        )


@dataclass(frozen=True)
class NoBound:
    """Why a team has no bound, and the core kinds that this is of."""

    why: Why
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Team:
    """How many threads may use how many cores of each kind; with `bound`, one core each."""

    threads: int
    cores: Mapping[str, int]
    bound: bool

    @property
    def stays(self) -> bool:
        """Whether no thread can change its kind."""
        return len(self.cores) == 1 or (self.bound and sum(self.cores.values()) == self.threads)

    def fastest(self, core_s: Mapping[str, float]) -> dict[str, int]:
        """Return the threads by kind, on the fastest cores where they may choose."""
        left, threads = self.threads, {}
        for kind in sorted(self.cores, key=lambda kind: core_s[kind]):
            threads[kind] = min(left, self.cores[kind])
            left -= threads[kind]
        return {kind: threads[kind] for kind in self.cores if threads[kind]}


def _team(case: Case, node: NodeCores) -> _Team | NoBound:
    key = case.key
    threads, cpus = key.table.threads, cpus_of(key.cpus)
    kind = KIND_OF_SELECTION.get(key.selection or "")
    if kind is not None and (not cpus or len(cpus) >= threads):
        return _Team(threads, {kind: max(threads, len(cpus))}, key.binding == "pin")
    if not cpus and key.selection == "all":
        cpus = tuple(node.of_cpu)
    if not cpus or not all(cpu in node.of_cpu for cpu in cpus):
        return NoBound("cores unknown")
    cores = node.among(cpus)
    if sum(cores.values()) < threads:
        return NoBound("more threads than cores")
    return _Team(threads, cores, key.binding == "pin")


@dataclass(frozen=True)
class Bounds:
    """The bounds of teams of several threads, or why they have none, by case_id.

    The bound by the speeds of one thread is the first. Of teams on several kinds another one
    follows where cases on all cores of each are there. `telling` are the case_ids of the
    references of teams that have mappings which the table of the reference lacks: those that a
    study adds to tell speeds.
    """

    by_case: Mapping[str, tuple[Bound | NoBound, ...]] = field(default_factory=dict)
    telling: frozenset[str] = frozenset()

    def only_tell(self, cases: Iterable[Case], compared: Collection[str]) -> bool:
        """Return whether a table's cases are there to tell speeds, none `compared` with another."""
        ids = {case.key.case_id for case in cases}
        return ids <= self.telling and ids.isdisjoint(compared)


def bounds_of(cases: Sequence[Case], node: NodeCores) -> Bounds:
    """Return the bounds of cases.

    There are none where no case tells a speed, of ranks and guests, and of what runs beside another
    program.
    """
    teams = {case.key.case_id: _team(case, node) for case in cases if _is_asked(case)}
    known = [case for case in cases if isinstance(teams.get(case.key.case_id), _Team)]
    mappings: dict[TableKey, set[str]] = {}
    for case in cases:
        mappings.setdefault(case.key.table, set()).add(case.key.mapping)
    found: dict[str, list[Bound | NoBound]] = {}
    telling: set[str] = set()
    for speeds in get_args(Speeds):
        references = _references(known, teams, node, speeds)
        for case in cases:
            team = teams.get(case.key.case_id)
            if team is None or case.key.table.threads < 2:
                continue
            own = references.get(_work(case)) or references.get(_work(case, SERIAL), {})
            wanted = mappings[case.key.table]
            telling |= {
                reference.key.case_id
                for reference in own.values()
                if not wanted <= mappings[reference.key.table]
            }
            bound = _bound(case, team, own, speeds) if own else None
            # What lacks a bound by all cores has one by threads alone, or the reason there.
            if isinstance(bound, Bound) or (bound and speeds == "one thread"):
                others = found.setdefault(case.key.case_id, [])
                # On a kind of one core, one thread is a team on all cores.
                if not any(_is_repeated(bound, other) for other in others):
                    others.append(bound)
    by_case = {case_id: tuple(bounds) for case_id, bounds in found.items()}
    return Bounds(by_case, frozenset(telling))


def _is_repeated(bound: Bound | NoBound, other: Bound | NoBound) -> bool:
    """Return whether both are by the same cases."""
    if isinstance(bound, NoBound) or isinstance(other, NoBound):
        return False
    ids, others = (
        {case.key.case_id for case in found.references.values()} for found in (bound, other)
    )
    return ids == others


def _is_asked(case: Case) -> bool:
    return case.key.is_on_node and case.has_runs and not case.was_skipped and not case.key.co_runner


def _work(case: Case, build: str = "") -> Hashable:
    """Return what a case shares with those that tell its speeds: all but team and mapping.

    The build without threads has no loop schedule and no policy by which threads wait.
    """
    key = case.key
    table = key.table._replace(number=None, threads=1, build=build or key.table.build)
    if table.build == SERIAL:
        table = table._replace(schedule="", wait_policy="")
    return key.study, key.node_id, table, key.governor, key.settings


def _references(
    cases: Iterable[Case], teams: Mapping[str, _Team | NoBound], node: NodeCores, speeds: Speeds
) -> dict[Hashable, dict[str, Case]]:
    """Return the cases that tell the speeds of kinds, by what they have in common with others."""
    found: dict[Hashable, dict[str, Case]] = {}
    for case in sorted(cases, key=_preferred):
        team = teams[case.key.case_id]
        if not isinstance(team, _Team) or len(team.cores) > 1 or not case.time.mean > 0:
            continue
        (kind,) = team.cores
        is_full = team.bound and team.threads == node.counts.get(kind)
        if team.threads == 1 if speeds == "one thread" else is_full:
            found.setdefault(_work(case), {}).setdefault(kind, case)
    return found


def _preferred(case: Case) -> tuple[bool, int, int]:
    binding = case.key.binding or ""
    place = _BINDINGS.index(binding) if binding in _BINDINGS else len(_BINDINGS)
    return not case.lost.usable, place, case.key.number


def _bound(
    case: Case, team: _Team | NoBound, references: Mapping[str, Case], speeds: Speeds
) -> Bound | NoBound | None:
    """Return the bound of a team.

    None by all cores of a team on one kind: how it scales with its threads is no question of kinds.
    """
    if isinstance(team, NoBound):
        return team
    if lacking := tuple(kind for kind in team.cores if kind not in references):
        return NoBound("no speed", lacking)
    if not case.time.mean > 0 or not case.lost.usable:
        return NoBound("lost")
    core_s = {
        kind: references[kind].time.mean * references[kind].key.table.threads for kind in team.cores
    }
    threads = team.fastest(core_s)
    used = {kind: references[kind] for kind in threads}
    if lost := tuple(kind for kind, reference in used.items() if not reference.lost.usable):
        return NoBound("lost", lost)
    if speeds == "all cores" and len(threads) == 1:
        return None
    return Bound(case, speeds, threads, used, team.stays)


def bounds_in(results: Results) -> Bounds:
    """Return the bounds of the cases of results, as `bounds_of` does.

    There are none of a race, which ends cases by their times, of programs that run as long as they
    are told, and of results of several nodes or studies.
    """
    raced, fixed = results.runs is not None and results.runs.raced, results.fixed_time
    cases = [case for case in results.cases if case.key.case_id not in fixed]
    sources = {(case.key.study, case.key.node_id) for case in cases}
    return Bounds() if raced or len(sources) > 1 else bounds_of(cases, node_cores(results))
