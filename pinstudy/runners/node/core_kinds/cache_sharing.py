"""Evidence from caches: small cores share an L2 or L3 cache between more cores."""

from __future__ import annotations

from collections.abc import Iterable

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.node.core_kinds.finding import Finding, NodeView, atom_kinds
from pinstudy.runners.node.topology import CoreKind, sharing

# Intel's E-cores come in modules of four with one L2 (Alder Lake to Panther Lake, Lakefield).
_CORES_OF_MODULE = 4


def by_cache_shape(view: NodeView) -> Finding:
    """Tell kinds by L2 modules of four cores (Intel), or by different L3 caches (AMD)."""
    return _by_l2(view) if view.amd_family is None else _by_l3(view)


def _by_l2(view: NodeView) -> Finding:
    second = sharing(view.caches, 2)
    alone = _union(cpus for cpus in second if _cores_of(view, cpus) == 1)
    shared = _union(cpus for cpus in second if _cores_of(view, cpus) > 1)
    modules = [cpus for cpus in second if _cores_of(view, cpus) == _CORES_OF_MODULE]
    if not modules or not alone or sorted(alone + shared) != list(view.online):
        return Finding(fact="second-level caches are shared alike" if second else "")
    # On a node of equal cores, the last online CPU of a module has its L2 alone, too; but P-cores
    # have a larger first-level data cache (48 against 32 KiB).
    if _l1_sizes(view, alone) & _l1_sizes(view, shared):
        return Finding(fact="first-level data caches are of one size")
    private = f"CPUs {format_cpulist(alone)} have an L2 cache per core"
    module = f"CPUs {format_cpulist(shared)} share an L2 cache between cores"
    where = "(/sys/devices/system/cpu/cpuN/cache)"
    return Finding(
        (CoreKind("P", alone, f"{private} {where}"), *atom_kinds(view, shared, f"{module} {where}"))
    )


def _by_l3(view: NodeView) -> Finding:
    """Tell AMD's dense cores: their L3 is smaller, and more cores share it.

    Different sizes alone prove nothing: one of two equal complexes may have stacked cache (X3D).
    """
    third = sorted(
        (cache for cache in view.caches if cache.level == 3 and cache.size_bytes),
        key=lambda cache: -(cache.size_bytes or 0),
    )
    listed = sorted(cpu for cache in third for cpu in cache.cpus)
    if len(set(listed)) < len(listed):
        return Finding(fact="lists of CPUs that share a third-level cache contradict each other")
    if listed != list(view.online) or len(third) < 2:
        return Finding()
    large = [cache for cache in third if cache.size_bytes == third[0].size_bytes]
    small = third[len(large) :]
    most_of_large = max(_cores_of(view, cache.cpus) for cache in large)
    if not small or min(_cores_of(view, cache.cpus) for cache in small) <= most_of_large:
        return Finding(fact="third-level caches are shared alike")
    kinds = []
    for name, caches in (("P", large), ("E", small)):
        cpus = _union(cache.cpus for cache in caches)
        shares = " and ".join(
            f"{_cores_of(view, cache.cpus)} cores share {(cache.size_bytes or 0) // 1024} KiB of L3"
            for cache in caches
        )
        where = f"(/sys/devices/system/cpu/cpu{cpus[0]}/cache)"
        kinds.append(CoreKind(name, cpus, f"CPUs {format_cpulist(cpus)}: {shares} {where}"))
    return Finding(tuple(kinds))


def _cores_of(view: NodeView, cpus: Iterable[int]) -> int:
    wanted = set(cpus)
    return sum(1 for core in view.siblings if wanted.intersection(core))


def _l1_sizes(view: NodeView, cpus: tuple[int, ...]) -> set[int]:
    """Return the known sizes of the CPUs' first-level data caches, in bytes."""
    return {
        cache.size_bytes
        for cache in view.caches
        if cache.level == 1 and cache.type == "Data" and cache.size_bytes
        if set(cache.cpus).intersection(cpus)
    }


def _union(groups: Iterable[Iterable[int]]) -> tuple[int, ...]:
    return tuple(sorted({cpu for cpus in groups for cpu in cpus}))
