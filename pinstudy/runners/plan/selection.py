"""Translates a mapping's selection into CPU numbers of this node. Pure.

Only this module defines which CPUs a selection means, and in which order pinned threads take them;
it gives the reason when a node cannot provide a selection. A cluster is a group of cores that share
a cache. In selections of pairs, threads 2i and 2i + 1 are neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, product, zip_longest

from pinstudy.base.cpulist import format_cpulist, named_cpus
from pinstudy.base.text import plural
from pinstudy.configs.mapping import KIND_OF_SELECTION, PAIRS, Mapping
from pinstudy.runners.node.topology import Core, Topology, sharing

_NO_CLUSTERS = "no cores share a cache that others do not"
_KIND_OF_SELECTION = {**KIND_OF_SELECTION, "pcpus": "P", "ecpus": "E", "lpecpus": "LP-E"}


class CannotMapError(Exception):
    """The node, the thread count or the program's build rules this mapping out; says why."""


def only_kind(topology: Topology) -> str:
    """Return why a node of one core kind cannot provide what needs several."""
    return f"the node has one core kind ({topology.kinds[0].name})"


def usable(core: Core, topology: Topology) -> tuple[int, ...]:
    """Return the CPUs of a core that this process may use, ascending."""
    return tuple(sorted(topology.usable.intersection(core.cpus)))


def ranked_cores(topology: Topology) -> list[Core]:
    """Return the cores, best kind first, then by first CPU; cores without a kind come last."""
    return sorted(topology.cores, key=lambda core: (core.rank, core.cpus))


def clusters_of(topology: Topology) -> list[list[Core]]:
    """Return the groups of cores that share a cache which not all cores share.

    These are cores with one L2 (a module of E-cores), or with one L3 where no cores share an L2.
    Raises CannotMapError where there are none.
    """
    clusters = _sharing(topology, 2) or _sharing(topology, 3)
    if not clusters:
        raise CannotMapError(_NO_CLUSTERS)
    return clusters


def _half_clusters(topology: Topology, _threads: int) -> tuple[int, ...]:
    """One CPU of each core in the first half of each kind's clusters, best kind first.

    The clusters of a kind are its cores with one L2, or with one L3 where no two share an L2; a
    cache that all cores of the node share does not count. Any other core is a cluster of its own.
    Clusters are sorted by package, then by CPU; half of an odd number is rounded up. A kind without
    clusters keeps all its cores. Raises CannotMapError when no core would be left out.
    """
    cores = [core for core in ranked_cores(topology) if usable(core, topology)]
    kept: list[Core] = []
    clustered = False
    for kind in dict.fromkeys(core.kind for core in cores):
        of_kind = [core for core in cores if core.kind == kind]
        clusters = _clusters_among(of_kind, topology)
        clustered = clustered or bool(clusters)
        first = set(chain.from_iterable(clusters[: (len(clusters) + 1) // 2]))
        kept += [core for core in of_kind if not clusters or core in first]
    if len(kept) == len(cores):
        raise CannotMapError(
            "no core kind has two clusters, of which one could be left out"
            if clustered
            else _NO_CLUSTERS
        )
    return tuple(_firsts(kept, topology))


def _clusters_among(cores: Sequence[Core], topology: Topology) -> list[list[Core]]:
    """Return these cores by cluster, or nothing when no two of them share a cluster."""
    wanted = set(cores)
    for level in (2, 3):
        groups = [[core for core in group if core in wanted] for group in _sharing(topology, level)]
        if any(len(group) > 1 for group in groups):
            alone = [[core] for core in wanted.difference(*groups)]
            clusters = [group for group in groups if group] + alone
            return sorted(clusters, key=lambda group: (group[0].package, group[0].cpus))
    return []


def _sharing(topology: Topology, level: int) -> list[list[Core]]:
    cores = ranked_cores(topology)
    places = {core.cpus[0]: place for place, core in enumerate(cores)}
    groups = sorted(
        sorted(places[cpu] for cpu in cpus if cpu in places)
        for cpus in sharing(topology.caches, level)
    )
    return [[cores[place] for place in group] for group in groups if 1 < len(group) < len(cores)]


def _siblings(topology: Topology, threads: int) -> tuple[int, ...]:
    cores = [usable(core, topology) for core in ranked_cores(topology)]
    with_two = [cpus[:2] for cpus in cores if len(cpus) > 1]
    if not with_two:
        raise CannotMapError("no core has two usable CPUs (SMT is off or absent)")
    return _enough("siblings", with_two, threads)


def _same_cpu(topology: Topology, threads: int) -> tuple[int, ...]:
    firsts = _firsts(ranked_cores(topology), topology)
    return _enough("same-cpu", list(zip(firsts, firsts, strict=True)), threads)


def _same_cluster(topology: Topology, threads: int) -> tuple[int, ...]:
    ranks = sorted({core.rank for core in topology.cores})
    pairs: list[tuple[int, int]] = []
    # An L3 may be shared by cores of two kinds; both cores of a pair are of one.
    for rank, cluster in product(ranks, clusters_of(topology)):
        firsts = _firsts((core for core in cluster if core.rank == rank), topology)
        pairs += zip(firsts[::2], firsts[1::2], strict=False)
    return _enough("same-cluster", pairs, threads)


def _across_kinds(topology: Topology, threads: int) -> tuple[int, ...]:
    if not topology.hybrid:
        raise CannotMapError(only_kind(topology))
    fast, slow = (kind.name for kind in topology.kinds[:2])
    cores = ranked_cores(topology)
    of_fast = _firsts([core for core in cores if core.kind == fast], topology)
    of_slow = _firsts([core for core in cores if core.kind == slow], topology)
    return _enough("across-kinds", list(zip(of_fast, of_slow, strict=False)), threads)


def _across_packages(topology: Topology, threads: int) -> tuple[int, ...]:
    packages = sorted({core.package for core in topology.cores})
    if len(packages) < 2:
        raise CannotMapError("the node has one package")
    cores = ranked_cores(topology)
    here = _firsts([core for core in cores if core.package == packages[0]], topology)
    there = _firsts([core for core in cores if core.package == packages[1]], topology)
    return _enough("across-packages", list(zip(here, there, strict=False)), threads)


def _firsts(cores: Iterable[Core], topology: Topology) -> list[int]:
    """Return one usable CPU of each core that has one."""
    return [cpus[0] for core in cores if (cpus := usable(core, topology))]


def _enough(selection: str, pairs: Sequence[Sequence[int]], threads: int) -> tuple[int, ...]:
    """Return all CPUs of the pairs; raise CannotMapError when there are too few pairs."""
    needed = -(-threads // 2)
    if needed > len(pairs):
        raise CannotMapError(
            f"{plural(threads, 'thread')} {'needs' if threads == 1 else 'need'} "
            f"{plural(needed, 'pair')}; {selection} has room for {plural(len(pairs), 'pair')} here"
        )
    return tuple(cpu for pair in pairs for cpu in pair)


def resolve_cpus(
    mapping: Mapping,
    topology: Topology,
    threads: int,
    what: str = "threads",
    *,
    oversubscribe: bool = False,
) -> tuple[int, ...]:
    """Return the CPUs that the mapping gives to `threads` threads, in the order they take them.

    Under `none` and `set` these are all CPUs of the selection, under `pin` the first `threads`.
    `compact`, `spread` and selections of pairs order CPUs rather than choose them, so under `set`
    they too give the first `threads`. `what` names the threads in messages. With `oversubscribe`
    threads may outnumber CPUs, unless they are pinned. Raises CannotMapError with the reason when
    the node cannot provide the CPUs.
    """
    cpus = candidates(mapping, topology, threads)
    if len(cpus) < threads and not (oversubscribe and mapping.binding != "pin"):
        raise CannotMapError(
            f"{threads} {what} need {threads} CPUs; {mapping.selection} has {len(cpus)} here "
            f"({format_cpulist(cpus)})"
        )
    return cpus[:threads] if takes_first(mapping) else cpus


END_ISOLATION = "end the isolation (isolcpus, cpuset partition)"


def check_balanced(mapping: Mapping, groups: Iterable[Collection[int]], topology: Topology) -> None:
    """Raise CannotMapError where threads may use CPUs that the kernel does not move them to.

    `groups` are the CPUs that threads have in common. Several CPUs of a group are as good as one
    where they are isolated: a comparison with them would show what the boot option does.
    """
    isolated = set(topology.isolated)
    for group in groups:
        apart = isolated.intersection(group)
        if len(set(group)) < 2 or not apart:
            continue
        which = "" if apart == set(group) else f" of {format_cpulist(group)}"
        are = "are" if len(apart) > 1 else "is"
        moved = f"{named_cpus(apart)}{which} {are} isolated: the kernel moves no threads"
        if mapping.binding != "none":
            raise CannotMapError(
                f"{moved} onto or between them, so that each stays on the CPU where it starts; pin "
                f"them, or {END_ISOLATION}"
            )
        rest = format_cpulist(set(group) - apart)
        has = f"has {rest} alone" if rest else "leaves each of them where it starts"
        remedy = f"start pinstudy under `taskset -c {rest}`, or " if rest else ""
        raise CannotMapError(f"{moved} there, and the OS scheduler {has}; {remedy}{END_ISOLATION}")


def takes_first(mapping: Mapping) -> bool:
    """Whether the mapping gives the first CPUs of its selection, one a thread, and no others."""
    if mapping.binding == "none":
        return False
    if mapping.selection in ("compact", "spread", *PAIRS):
        return True
    # Places with names are of all CPUs of the selection; the runtime chooses among them.
    return mapping.binding == "pin" and not mapping.places


def candidates(mapping: Mapping, topology: Topology, threads: int) -> tuple[int, ...]:
    """Return the CPUs of the selection; raise CannotMapError for none, or too few pairs."""
    cpus = _SELECT[mapping.selection](topology, threads)
    if not cpus:
        raise CannotMapError(_empty_reason(mapping.selection, topology))
    return cpus


def _empty_reason(selection: str, topology: Topology) -> str:
    kind = _KIND_OF_SELECTION.get(selection)
    if selection == "mixed":
        if not topology.hybrid:
            return only_kind(topology)
        kind = next(kind for kind in ("P", "E") if not _cores_of(topology, kind))
    if kind is None:
        return "no CPU may be used"
    if cpus := [cpu for core in topology.cores if core.kind == kind for cpu in core.cpus]:
        apart = " and isolated" if set(cpus) <= set(topology.isolated) else ""
        return (
            f"its {kind}-cores (CPUs {format_cpulist(cpus)}) are outside this process's CPU set "
            f"({format_cpulist(topology.allowed)}){apart}"
        )
    return f"the node has no {kind}-cores"


def _cores_of(topology: Topology, kind: str) -> list[tuple[int, ...]]:
    """Return the usable CPUs of each core of a kind, cores in the order of their first CPU."""
    cores = (usable(core, topology) for core in topology.cores if core.kind == kind)
    return sorted(cpus for cpus in cores if cpus)


def _one_per_core(kind: str) -> Callable[[Topology, int], tuple[int, ...]]:
    return lambda topology, _threads: tuple(cpus[0] for cpus in _cores_of(topology, kind))


def _every_cpu(kind: str) -> Callable[[Topology, int], tuple[int, ...]]:
    """One CPU of each core first, their SMT siblings after them."""
    return lambda topology, _threads: siblings_last(_cores_of(topology, kind))


def siblings_last(cores: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the CPUs of these cores: the first of each, then the second."""
    rounds = zip_longest(*cores)
    return tuple(cpu for one_each in rounds for cpu in one_each if cpu is not None)


def _mixed(topology: Topology, threads: int) -> tuple[int, ...]:
    """One CPU of each P- and E-core; the first `threads` are split evenly, P first.

    LP-E-cores are left out: they have no L3 cache, so they are not comparable to E-cores.
    """
    fast, slow = (list(_one_per_core(kind)(topology, threads)) for kind in ("P", "E"))
    if not fast or not slow:
        return ()
    of_slow = min(threads // 2, len(slow))
    of_fast = min(threads - of_slow, len(fast))
    of_slow = min(threads - of_fast, len(slow))
    return tuple(fast[:of_fast] + slow[:of_slow] + fast[of_fast:] + slow[of_slow:])


def _near_order(topology: Topology) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return (group keys, usable CPUs) of each core, neighbours beside each other, P first.

    The keys are the package, then the first CPU of the core's L3 and of its L2 (-1 without one).
    """
    third, second = (
        {cpu: cpus[0] for cpus in sharing(topology.caches, level) for cpu in cpus}
        for level in (3, 2)
    )
    cores = []
    for core in topology.cores:
        if cpus := usable(core, topology):
            first = core.cpus[0]
            keys = (core.package, third.get(first, -1), second.get(first, -1))
            cores.append((core.rank, keys, core.cpus, cpus))
    return [(keys, cpus) for _, keys, _, cpus in sorted(cores)]


def _compact(topology: Topology, _threads: int) -> tuple[int, ...]:
    return tuple(cpu for _, cpus in _near_order(topology) for cpu in cpus)


def _spread(topology: Topology, _threads: int) -> tuple[int, ...]:
    """Take packages in turn, in each its L3 groups in turn, then L2 groups; siblings last."""
    cores = _near_order(topology)
    return siblings_last(_in_turn(cores, 0))


def _in_turn(
    cores: list[tuple[tuple[int, ...], tuple[int, ...]]], level: int
) -> list[tuple[int, ...]]:
    if not cores or level == len(cores[0][0]):
        return [cpus for _, cpus in cores]
    groups: dict[int, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for keys, cpus in cores:
        groups.setdefault(keys[level], []).append((keys, cpus))
    rounds = zip_longest(*(_in_turn(group, level + 1) for group in groups.values()))
    return [cpus for one_each in rounds for cpus in one_each if cpus is not None]


_SELECT: dict[str, Callable[[Topology, int], tuple[int, ...]]] = {
    "all": lambda topology, _threads: topology.allowed,
    "pcores": _one_per_core("P"),
    "ecores": _one_per_core("E"),
    "lpecores": _one_per_core("LP-E"),
    "pcpus": _every_cpu("P"),
    "ecpus": _every_cpu("E"),
    "lpecpus": _every_cpu("LP-E"),
    "mixed": _mixed,
    "cores": lambda topology, _threads: tuple(_firsts(ranked_cores(topology), topology)),
    "half-clusters": _half_clusters,
    "compact": _compact,
    "spread": _spread,
    "siblings": _siblings,
    "same-cpu": _same_cpu,
    "same-cluster": _same_cluster,
    "across-kinds": _across_kinds,
    "across-packages": _across_packages,
}


def describe(mapping: Mapping, topology: Topology) -> tuple[str, str]:
    """Return the CPUs from which the mapping chooses, as a list, or the reason why there are none.

    Exactly one of the two texts is empty.
    """
    try:
        cpus = candidates(mapping, topology, 1)
        if mapping.binding != "pin":
            check_balanced(mapping, [cpus], topology)
        return format_cpulist(cpus), ""
    except CannotMapError as reason:
        return "", str(reason)
