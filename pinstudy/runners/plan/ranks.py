"""Divides a mapping's CPUs among the ranks of an MPI program. Pure.

Ranks share no core: on a core of two, each would be slowed down by the other. So whole cores are
divided, with those of their CPUs that the mapping's selection has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, cycle

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import plural, team_in_words
from pinstudy.configs.mapping import BY_ORDER, Mapping
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.selection import (
    CannotMapError,
    candidates,
    clusters_of,
    only_kind,
    resolve_cpus,
    siblings_last,
    takes_first,
)

Cpus = tuple[int, ...]


def rank_cpus(
    mapping: Mapping, topology: Topology, ranks: int, threads: int, *, oversubscribe: bool = False
) -> tuple[Cpus, ...]:
    """Return the CPUs of each rank, in the order in which its threads take them.

    Under `none` every rank may use all CPUs. Otherwise the ranks together get the CPUs that one
    team of so many threads would get: under `pin` each rank as many as it has threads, under `set`
    a share of all CPUs of the selection, or of as many as there are threads where a selection only
    orders CPUs, as equal as whole cores permit. By `kind` and by `cluster` the ranks are dealt to
    these groups in turn, as many as a group has room for; each group's CPUs are divided by order.

    With `oversubscribe` the threads of a rank may outnumber its CPUs, unless they are pinned.
    Raises CannotMapError with the reason when the node cannot provide the CPUs.
    """
    total = ranks * threads
    if mapping.binding == "none":
        everything = resolve_cpus(mapping, topology, total, oversubscribe=oversubscribe)
        return (everything,) * ranks
    least = 1 if oversubscribe and mapping.binding != "pin" else threads
    by = mapping.ranks_by or BY_ORDER
    if by in _GROUPS:
        cpus = candidates(mapping, topology, total)
        groups = _GROUPS[by](cpus, topology)
        most = threads if takes_first(mapping) else None
        parts = _by_group(groups, topology, ranks, least, most, by)
    else:
        cpus = resolve_cpus(mapping, topology, total, oversubscribe=oversubscribe)
        parts = _DIVIDE[by](_by_core(cpus, topology), ranks)
    for part in parts:
        if len(part) < least:
            listed = format_cpulist(sorted(chain.from_iterable(parts)))
            raise CannotMapError(
                f"CPUs {listed} cannot be divided among {team_in_words(ranks, threads)}: ranks "
                "share no core, and so get whole cores"
            )
    return tuple(parts)


def _by_core(cpus: Iterable[int], topology: Topology) -> list[Cpus]:
    """Return the CPUs of each core, cores and CPUs in the order in which they are given."""
    core_of = {cpu: core.cpus for core in topology.cores for cpu in core.cpus}
    cores: dict[Cpus, Cpus] = {}
    for cpu in cpus:
        core = core_of.get(cpu, (cpu,))
        cores[core] = (*cores.get(core, ()), cpu)
    return list(cores.values())


def _by_order(cores: Sequence[Cpus], ranks: int) -> list[Cpus]:
    """Cut the cores into parts, each at the core that is nearest to an equal share of CPUs."""
    total = sum(map(len, cores))
    parts: list[list[Cpus]] = [[] for _ in range(ranks)]
    before = 0
    for core in cores:
        # A core belongs to the rank whose share has the core's middle.
        middle = before + len(core) / 2
        parts[min(int(middle * ranks / total), ranks - 1)].append(core)
        before += len(core)
    return [siblings_last(part) for part in parts]


def _dealt(cores: Sequence[Cpus], ranks: int) -> list[Cpus]:
    return [siblings_last(cores[rank::ranks]) for rank in range(ranks)]


_DIVIDE: dict[str, Callable[[Sequence[Cpus], int], list[Cpus]]] = {
    BY_ORDER: _by_order,
    "spread": _dealt,
}


def _by_group(
    groups: Sequence[Cpus], topology: Topology, ranks: int, least: int, most: int | None, by: str
) -> list[Cpus]:
    """Deal the ranks to groups of CPUs in turn; divide the CPUs of each group by order.

    Of a group its ranks get all CPUs, or the first `most` a rank.
    """
    room = [len(group) // least for group in groups]
    if sum(room) < ranks:
        raise CannotMapError(
            f"by {by}, there is room for {plural(sum(room), 'rank')} of {plural(least, 'CPU')} "
            f"here, not for {ranks}"
        )
    # The group of each rank: a group with room for two is dealt to twice.
    turns = _in_turn(room)
    of_rank = [next(turns) for _ in range(ranks)]
    parts: list[Iterator[Cpus]] = []
    for number, group in enumerate(groups):
        count = of_rank.count(number)
        cpus = group if most is None else group[: count * most]
        parts.append(iter(_by_order(_by_core(cpus, topology), count) if count else ()))
    return [next(parts[number]) for number in of_rank]


def _in_turn(room: Sequence[int]) -> Iterator[int]:
    """Yield the numbers of the groups in turn, each as often as it has room."""
    left = list(room)
    for number in cycle(range(len(left))):
        if left[number]:
            left[number] -= 1
            yield number


def _kinds(cpus: Cpus, topology: Topology) -> list[Cpus]:
    """Return the CPUs of each core kind, the best kind first."""
    if not topology.hybrid:
        raise CannotMapError(only_kind(topology))
    return _groups(cpus, (kind.cpus for kind in topology.kinds))


def _clusters(cpus: Cpus, topology: Topology) -> list[Cpus]:
    """Return the CPUs of each cluster; other CPUs are left out."""
    clusters = clusters_of(topology)
    return _groups(cpus, ([cpu for core in some for cpu in core.cpus] for some in clusters))


def _groups(cpus: Cpus, parts: Iterable[Collection[int]]) -> list[Cpus]:
    """Return those of the CPUs that are in each part, without empty groups."""
    groups = (tuple(cpu for cpu in cpus if cpu in part) for part in parts)
    return [group for group in groups if group]


_GROUPS: dict[str, Callable[[Cpus, Topology], list[Cpus]]] = {"kind": _kinds, "cluster": _clusters}
