"""Which threads, mappings, schedules and wait policies race, the most promising first. Pure.

The topology suggests thread counts, and the mappings on which each is worth trying. Mappings that
the node cannot run, or that repeat a placement under another name, are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import plural
from pinstudy.configs.app import App, Build, Size
from pinstudy.configs.mapping import UNPINNED
from pinstudy.configs.mapping import Mapping as CpuMapping
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import check_count, check_mechanism, choose_mechanism
from pinstudy.runners.plan.selection import (
    CannotMapError,
    check_balanced,
    describe,
    only_kind,
    resolve_cpus,
)

# A program that leaves its mechanism to pinstudy.
_ANY_APP = App("", "", {}, {})
# A block of so many runs fits into the minutes that a user gives.
MAX_CANDIDATES = 56
# Mappings that are reported when a node cannot do them, and their purpose.
_REPORTED = {
    "pcores-set": "P-cores alone",
    "ecores-set": "E-cores alone",
    "siblings-pin": "SMT siblings",
    "half-clusters-set": "half of the clusters",
}
# On nodes with more CPUs one thread is seldom worth its time.
FEW_CPUS = 8
# Loop schedules and wait policies race on these, where their CPUs are of several kinds or all that
# there are.
_WITH_SCHEDULES = (UNPINNED, "cores-pin", "mixed-pin", "compact-pin")
_HALF = ("half-clusters-pin", "half-clusters-set")
# Mappings to try with any thread count that fits them.
_OF_KINDS = (
    *("pcores-pin", "cores-pin", "ecores-pin", "pcores-set", "ecores-set", "mixed-pin"),
    *("cores-set", "pcpus-pin", "pcpus-set", *_HALF, "compact-pin"),
)
_SMALL = {"ecores-set": "lpecores-set", "ecores-pin": "lpecores-pin"}
_OF_EQUALS = ("cores-pin", "cores-set", *_HALF, "spread-pin", "compact-pin")


@dataclass(frozen=True)
class PlacedMapping:
    """A mapping with its CPUs for a number of threads."""

    mapping: CpuMapping
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """The candidates of one thread count, schedule and wait policy.

    With `oversubscribe` there are more threads than CPUs.
    """

    threads: int
    schedule: str
    wait_policy: str
    placed: tuple[PlacedMapping, ...]
    oversubscribe: bool = False


@dataclass(frozen=True)
class Field:
    """All candidates of one governor, by group; the first of the first group is the reference.

    `left_out` has a line for each omission, with its reason.
    """

    groups: tuple[Group, ...]
    left_out: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return sum(len(group.placed) for group in self.groups)


@dataclass(frozen=True)
class NodeContext:
    """What candidates depend on: a node, its launchers, a program's runtime and thread count.

    `mappings` are all known mappings by name; `threads_by` tells the program its thread count.
    """

    topology: Topology
    tools: Collection[str]
    mappings: Mapping[str, CpuMapping]
    runtime: str
    threads_by: tuple[str, ...] = ()

    def place(self, name: str, threads: int) -> PlacedMapping:
        """Return the mapping with its CPUs; raises CannotMapError when the node cannot do it."""
        mapping = self.mappings[name]
        cpus = resolve_cpus(mapping, self.topology, threads)
        check_count(self.threads_by, cpus, threads)
        case = self._case(mapping, threads, cpus)
        case = replace(case, mechanism=choose_mechanism(case))
        check_mechanism(case, self.topology, self.tools)
        if mapping.binding != "pin":
            check_balanced(mapping, [cpus], self.topology)
        return PlacedMapping(mapping, cpus)

    def _case(self, mapping: CpuMapping, threads: int, cpus: tuple[int, ...]) -> Case:
        return Case(
            *(1, 1, _ANY_APP, Build("", "", self.runtime), Size("", ()), threads),
            *(mapping, mapping.mechanism, cpus, "", "", ""),
        )


def make_field(
    context: NodeContext,
    threads: int,
    requested: Sequence[int] | None,
    schedules: Sequence[str],
    wait_policies: Sequence[str],
    most: int = MAX_CANDIDATES,
) -> Field:
    """Return the candidates of a node.

    The reference has so many `threads`, left to the OS scheduler, and the first of `schedules` and
    of `wait_policies`; the others race against it, one by one. `requested` are the user's thread
    counts, None for those that the topology suggests. The least promising candidates beyond `most`
    are left out.
    """
    groups: list[Group] = []
    left_out = _impossible(context)
    if context.runtime == "none" and requested not in (None, (1,)):
        left_out.append("other thread counts: the program has one thread")
    if context.runtime == "none" and len(schedules) > 1:
        left_out.append("other schedules: the program has one thread")
        schedules = schedules[:1]
    for suggestion in _suggested(context, threads, requested):
        placed = _placed(context, suggestion)
        cpus = len(context.topology.allowed)
        if suggestion.threads == threads > cpus:
            placed = [PlacedMapping(context.mappings[UNPINNED], context.topology.allowed)]
        elif suggestion.threads > cpus:
            left_out.append(
                f"{plural(suggestion.threads, 'thread')}: more than the {plural(cpus, 'CPU')}"
            )
        groups += _groups(suggestion, placed, schedules, wait_policies, context.topology)
    best = _best_of(groups, most)
    if cut := Field(tuple(groups)).size - Field(tuple(best)).size:
        left_out.append(
            f"{plural(cut, 'placement')} of the least promise, beyond the {most} that a race "
            "takes under each governor; --threads, --schedules, --wait-policies and --governors "
            "make room"
        )
    return Field(tuple(best), tuple(left_out))


def _suggested(
    context: NodeContext, threads: int, requested: Sequence[int] | None
) -> list[Suggestion]:
    """Return the thread counts to try, the reference's first."""
    topology = context.topology
    if context.runtime == "none":
        return [any_threads(topology, 1)]
    if requested is None:
        listed, reference = suggestions(topology), any_threads(topology, threads)
    else:
        widest = max(requested)
        listed = [any_threads(topology, count, count == widest) for count in requested]
        reference = Suggestion(threads)
    first = next((suggestion for suggestion in listed if suggestion.threads == threads), reference)
    return [first, *(suggestion for suggestion in listed if suggestion.threads != threads)]


def _placed(context: NodeContext, suggestion: Suggestion) -> list[PlacedMapping]:
    """Return a thread count's mappings that the node can do; of equal placements the first."""
    by_identity: dict[object, PlacedMapping] = {}
    for name in (UNPINNED, *suggestion.mappings):
        with suppress(CannotMapError):
            placed = context.place(name, suggestion.threads)
            by_identity.setdefault(_identity(placed, suggestion.threads, context.topology), placed)
    return list(by_identity.values())


def _identity(placed: PlacedMapping, threads: int, topology: Topology) -> tuple[object, ...]:
    """Return a key that mappings have in common when they place the threads in the same way."""
    mask = tuple(sorted(placed.cpus))
    if placed.mapping.binding == "pin" and threads > 1:
        return ("pin", placed.cpus)
    # The OS scheduler has a mask of all CPUs, too; one thread is pinned by a mask of one CPU.
    return ("all",) if mask == tuple(sorted(topology.allowed)) else ("set", mask)


def _groups(
    one: Suggestion,
    placed: Sequence[PlacedMapping],
    schedules: Sequence[str],
    wait_policies: Sequence[str],
    topology: Topology,
) -> Iterator[Group]:
    """Yield the group of all placements, then those that change schedule or wait policy only."""
    if not placed:
        return
    more = one.threads > len(topology.allowed)
    first = Group(one.threads, schedules[0], wait_policies[0], tuple(placed), more)
    yield first
    wide = tuple(
        each
        for each in placed
        if each.mapping.name in one.with_schedules and _is_wide(each, topology)
    )
    if wide:
        for schedule in schedules[1:]:
            yield replace(first, schedule=schedule, placed=wide)
        # A single thread waits for no other.
        for wait_policy in wait_policies[1:] if one.threads > 1 else ():
            yield replace(first, wait_policy=wait_policy, placed=wide)


def _is_wide(placed: PlacedMapping, topology: Topology) -> bool:
    """Whether the CPUs are of several kinds, or all that there are."""
    kinds = {topology.kind_of(cpu) for cpu in placed.cpus}
    return len(kinds) > 1 or set(placed.cpus) == set(topology.allowed)


def _best_of(groups: Sequence[Group], most: int) -> list[Group]:
    """Return the groups with the best `most` candidates, by their places in their groups.

    Under another schedule or wait policy than the first group's a mapping comes one place after the
    same mapping under these.
    """
    ranks = []
    first: Mapping[PlacedMapping, int] = {}
    for number, group in enumerate(groups):
        later = (group.schedule, group.wait_policy) != (groups[0].schedule, groups[0].wait_policy)
        if not later:
            first = {placed: place for place, placed in enumerate(group.placed)}
        ranks += [(first[placed] + later, number, placed) for placed in group.placed]
    best = {(number, placed) for _, number, placed in sorted(ranks, key=lambda it: it[:2])[:most]}
    smaller = []
    for number, group in enumerate(groups):
        placed = tuple(mapping for mapping in group.placed if (number, mapping) in best)
        if placed:
            smaller.append(replace(group, placed=placed))
    return smaller


def _impossible(context: NodeContext) -> list[str]:
    """Return a line for each kind of mapping that this node cannot do."""
    reasons: dict[str, list[str]] = {}
    for name, what in _REPORTED.items():
        if why := describe(context.mappings[name], context.topology)[1]:
            reasons.setdefault(why, []).append(what)
    if not context.topology.hybrid:
        reasons = {why: what for why, what in reasons.items() if what != [_REPORTED["ecores-set"]]}
        reasons[only_kind(context.topology)] = ["some core kinds alone"]
    for binding in ("set", "pin"):
        try:
            context.place(f"cores-{binding}", 1)
        except CannotMapError as reason:
            reasons.setdefault(str(reason), []).append(f"every {binding} of CPUs")
    lines = [f"{', '.join(what)}: {why}" for why, what in reasons.items()]
    low = [cpu for kind in context.topology.kinds if kind.name == "LP-E" for cpu in kind.cpus]
    if low and has_e_cores(context.topology):
        lines.append(f"LP-E-cores alone (CPUs {format_cpulist(low)}): too slow to be suggested")
    return lines


@dataclass(frozen=True)
class Suggestion:
    """A thread count, and the names of its mappings after UNPINNED.

    Loop schedules race on those of `with_schedules` whose CPUs are of several kinds, or all.
    """

    threads: int
    mappings: tuple[str, ...] = ()
    with_schedules: tuple[str, ...] = ()


def suggestions(topology: Topology) -> list[Suggestion]:
    """Return the thread counts that a topology suggests, each once, the most promising first."""
    by_count: dict[int, list[Suggestion]] = {}
    for suggestion in (_of_kinds if topology.hybrid else _of_equals)(topology):
        by_count.setdefault(suggestion.threads, []).append(suggestion)
    return [_merged(same) for threads, same in by_count.items() if threads > 0]


def _merged(same: list[Suggestion]) -> Suggestion:
    """Merge the suggestions for one thread count; the first mappings of each go first."""
    in_turn = zip_longest(*(suggestion.mappings for suggestion in same))
    names = dict.fromkeys(name for names in in_turn for name in names if name is not None)
    scheduled = tuple(name for suggestion in same for name in suggestion.with_schedules)
    return Suggestion(same[0].threads, tuple(names), scheduled)


def any_threads(topology: Topology, threads: int, widest: bool = True) -> Suggestion:
    """Return the mappings to try with any thread count; some may not fit this one.

    Under UNPINNED, schedules race for the `widest` thread count only.
    """
    names: tuple[str, ...] = _OF_KINDS if topology.hybrid else _OF_EQUALS
    if not has_e_cores(topology):
        names = tuple(_SMALL.get(name, name) for name in names)
    scheduled = _WITH_SCHEDULES if widest else _WITH_SCHEDULES[1:]
    return Suggestion(threads, names, scheduled)


def has_e_cores(topology: Topology) -> bool:
    """Return whether there are E-cores; LP-E-cores replace missing ones, as in Lunar Lake."""
    return any(kind.name == "E" for kind in topology.kinds)


def _of_kinds(topology: Topology) -> Iterator[Suggestion]:
    everything, cores = len(topology.allowed), _count("cores", topology)
    small = "ecores" if has_e_cores(topology) else "lpecores"
    yield Suggestion(everything, ("cores-pin", "compact-pin"), _WITH_SCHEDULES)
    yield Suggestion(cores, ("cores-pin", "cores-set"), ("cores-pin",))
    yield Suggestion(_count("mixed", topology), ("mixed-pin", "mixed-set"))
    yield Suggestion(_count("pcores", topology), ("pcores-pin", "pcores-set", "mixed-pin"))
    yield Suggestion(_count("pcpus", topology), ("pcpus-pin", "pcpus-set", "siblings-pin"))
    yield Suggestion(_count("half-clusters", topology), _HALF)
    yield Suggestion(_count(small, topology), (f"{small}-pin", f"{small}-set", "cores-pin"))
    yield Suggestion(cores // 2, ("cores-pin", "mixed-pin"))
    yield Suggestion(cores // 4, ("cores-pin", "pcores-set"))
    if everything <= FEW_CPUS:
        yield Suggestion(1, ("pcores-pin", f"{small}-set"))


def _of_equals(topology: Topology) -> Iterator[Suggestion]:
    everything, cores = len(topology.allowed), _count("cores", topology)
    yield Suggestion(everything, ("cores-pin", "compact-pin", "spread-pin"), _WITH_SCHEDULES)
    yield Suggestion(cores, ("cores-pin", "cores-set", "spread-pin"), (UNPINNED,))
    yield Suggestion(_count("half-clusters", topology), _HALF)
    yield Suggestion(cores // 2, ("cores-pin", "cores-set", "spread-pin", "compact-pin"))
    yield Suggestion(cores // 4, ("cores-pin", "spread-pin"))
    if everything <= FEW_CPUS:
        yield Suggestion(1, ("cores-pin",))


def _count(selection: str, topology: Topology) -> int:
    """Return how many CPUs a selection has here, 0 where the node cannot do it."""
    try:
        return len(resolve_cpus(CpuMapping(selection, selection, "set"), topology, 1))
    except CannotMapError:
        return 0
