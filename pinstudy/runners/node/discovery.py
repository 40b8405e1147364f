"""Reading a node's topology from the kernel's files: cores, core kinds, packages and caches.

SMT siblings come from the first of these sources that a CPU has: the kernel's own list
(`core_cpus_list`, in older kernels `thread_siblings_list`) or its mask (`core_cpus`); a shared
first-level data cache; core id and physical id in /proc/cpuinfo. The core id alone is never used:
it repeats on ARM.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.control_groups import Partition, read_partitions
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node import cpuinfo
from pinstudy.runners.node.core_kinds.declared import declare
from pinstudy.runners.node.core_kinds.finding import NodeView
from pinstudy.runners.node.core_kinds.kinds import find_core_types, find_kinds, unlike_cores
from pinstudy.runners.node.cpufreq import CPUS
from pinstudy.runners.node.scheduler import isolation_notes, read_isolated, read_tickless
from pinstudy.runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology, sharing

NODES = "/sys/devices/system/node"

_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)")
_FACTOR = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_TYPES = frozenset({"Data", "Instruction", "Unified"})
# Types of index0, index1, … on every machine seen, for trees without these files; the levels of
# later ones are their numbers.
_TYPE_OF_INDEX = {0: "Data", 1: "Instruction"}
_MAX_LEVEL = 9

_Blocks = Callable[[], dict[int, dict[str, str]]]


def read_topology(root: Path, declared: str | None = None) -> Topology:
    """Return the topology of the node whose files are below `root` (`/` is this machine).

    `declared` are core kinds given by hand; they replace those found in the files. Raises
    UserError when `root` holds no node, and for declared kinds that are invalid or whose CPUs are
    not online. Anything else that is missing or unreadable is replaced by a fallback, which the
    topology's notes name.
    """
    tree = Tree(root)
    check_root(tree)
    notes: list[str] = []
    online, offline = _online(tree, notes)
    caches = _caches(tree, online, notes)
    # Read when it is needed: the kernel writes a block for each CPU.
    blocks = cache(partial(cpuinfo.by_cpu, tree))
    siblings = _siblings(tree, online, caches, blocks, notes)
    view = NodeView(tree, online, siblings, caches)
    kinds, kind_notes = find_kinds(view)
    core_types = find_core_types(view, kinds)
    if declared is not None:
        kinds, kind_notes = declare(declared, kinds, online, offline)
    notes += kind_notes
    notes += unlike_cores(tree, kinds, online)
    partitions = read_partitions(tree)
    isolated, tickless = read_isolated(tree, online, partitions), read_tickless(tree, online)
    notes += isolation_notes(isolated, tickless, partitions)
    return Topology(
        kinds=kinds,
        cores=_cores(tree, siblings, kinds, blocks, notes),
        caches=caches,
        numa=_numa(tree, online, notes),
        online=online,
        offline=offline,
        allowed=_allowed(tree, online, partitions),
        notes=tuple(notes),
        core_types=core_types,
        isolated=isolated,
        tickless=tickless,
    )


def check_root(tree: Tree) -> None:
    """Raise UserError unless the tree holds a node's files."""
    if tree.is_directory(CPUS):
        return
    if tree.live:
        raise UserError(f"{CPUS} is missing; mount sysfs at /sys (in a container: bind it there)")
    inside = tree.names("/")
    if isinstance(inside, Unavailable):
        raise UserError(f"{tree.root} is not a directory that can be read; give a recorded tree")
    nested = [name for name in inside if tree.is_directory(f"/{name}{CPUS}")]
    meant = f"; did you mean {tree.root / nested[0]}?" if nested else ""
    raise UserError(
        f"{tree.root} is not a recorded node: it has no {CPUS[1:]}{meant} (beside that it should "
        "hold sys/devices/cpu_core, cpu_atom and the like or sys/bus/event_source/devices, "
        f"{NODES[1:]} and proc/cpuinfo)"
    )


def _online(tree: Tree, notes: list[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the online CPUs, and the CPUs that are present but offline."""
    there = tree.numbered(CPUS, "cpu")
    found = tree.cpulist(f"{CPUS}/online")
    listed = set(known(found) or ())
    if there and (stray := listed.difference(there)):
        notes.append(f"{CPUS}/online names CPUs that have no directory; they are left out")
        listed -= stray
    if not listed:
        why = found.reason if isinstance(found, Unavailable) else f"{CPUS}/online names no CPU"
        listed, source = _online_otherwise(tree, there)
        notes.append(f"{why}; which CPUs are online is taken from {source}")
    present = known(tree.cpulist(f"{CPUS}/present")) or ()
    return tuple(sorted(listed)), tuple(sorted({*there, *present} - listed))


def _online_otherwise(tree: Tree, there: tuple[int, ...]) -> tuple[set[int], str]:
    # A CPU that cannot be taken offline, often the first, has no such file.
    if left := {cpu for cpu in there if tree.integer(f"{CPUS}/cpu{cpu}/online") != 0}:
        return left, f"the directories of {CPUS}"
    if blocks := cpuinfo.by_cpu(tree):
        return set(blocks), cpuinfo.PATH
    if tree.live:
        return os.sched_getaffinity(0), "this process's CPU set"
    return {0}, "nothing: the tree names no CPU, and one is assumed"


def _siblings(
    tree: Tree, online: tuple[int, ...], caches: Iterable[Cache], blocks: _Blocks, notes: list[str]
) -> tuple[tuple[int, ...], ...]:
    """Return the CPUs of each physical core, cores in the order of their first CPU."""
    first_level = {cpu: cpus for cpus in sharing(caches, 1) for cpu in cpus}
    groups: dict[object, list[int]] = {}
    guessed: dict[str, list[int]] = {}
    lists = {cpu: _listed_siblings(tree, cpu, online) for cpu in online}
    for cpu, listed in lists.items():
        key: object = listed
        if key is None:
            key, source = _guess_core(cpu, first_level, blocks)
            guessed.setdefault(source, []).append(cpu)
        groups.setdefault(key, []).append(cpu)
    for source, cpus in guessed.items():
        notes.append(
            f"topology/core_cpus_list and thread_siblings_list, and their masks, are missing or "
            f"unusable for CPUs {format_cpulist(cpus)}; their SMT siblings follow from {source}"
        )
    if torn := [cpu for cpu, listed in lists.items() if listed and tuple(groups[listed]) != listed]:
        notes.append(
            f"the lists of SMT siblings of CPUs {format_cpulist(torn)} name CPUs that have other "
            "lists; only CPUs of one list are taken to be a core"
        )
    return tuple(sorted(tuple(cpus) for cpus in groups.values()))


def _guess_core(
    cpu: int, first_level: Mapping[int, tuple[int, ...]], blocks: _Blocks
) -> tuple[object, str]:
    """Return a key that the CPUs of this CPU's core share, and its source."""
    if cpu in first_level:
        return first_level[cpu], "shared first-level data caches"
    block = blocks().get(cpu, {})
    if "physical id" in block and "core id" in block:
        return (block["physical id"], block["core id"]), cpuinfo.PATH
    return (cpu,), "nothing: each is taken to be a core of its own"


def _listed(tree: Tree, list_path: str, mask_path: str) -> tuple[int, ...] | Unavailable:
    """Return the CPUs of a list, else those of the mask that some recordings have instead."""
    listed = tree.cpulist(list_path)
    masked = tree.cpumask(mask_path) if isinstance(listed, Unavailable) else listed
    return listed if isinstance(masked, Unavailable) else masked


def _listed_siblings(tree: Tree, cpu: int, online: tuple[int, ...]) -> tuple[int, ...] | None:
    directory = f"{CPUS}/cpu{cpu}/topology"
    for name in ("core_cpus", "thread_siblings"):
        listed = _listed(tree, f"{directory}/{name}_list", f"{directory}/{name}")
        if not isinstance(listed, Unavailable) and cpu in listed:
            return listed if len(listed) == 1 else tuple(sorted(set(listed).intersection(online)))
    return None


def _cores(
    tree: Tree,
    siblings: Iterable[tuple[int, ...]],
    kinds: Iterable[CoreKind],
    blocks: _Blocks,
    notes: list[str],
) -> tuple[Core, ...]:
    kind_of = {cpu: kind.name for kind in kinds for cpu in kind.cpus}
    cores = []
    for cpus in siblings:
        package = tree.integer(f"{CPUS}/cpu{cpus[0]}/topology/physical_package_id")
        if isinstance(package, Unavailable):
            package = cpuinfo.number(blocks().get(cpus[0], {}), "physical id") or 0
        parts: dict[str, list[int]] = {}
        for cpu in cpus:
            parts.setdefault(kind_of.get(cpu, ""), []).append(cpu)
        if len(parts) > 1:
            notes.append(
                f"CPUs {format_cpulist(cpus)} are SMT siblings of different kinds; each kind's "
                "part is taken to be a core of its own"
            )
        # Kernels without topology information report package -1.
        cores += [Core(tuple(part), kind, max(package, 0)) for kind, part in parts.items()]
    return tuple(sorted(cores, key=lambda core: core.cpus))


def _numa(tree: Tree, online: tuple[int, ...], notes: list[str]) -> tuple[NumaNode, ...]:
    nodes = []
    for node in tree.numbered(NODES, "node"):
        cpus = _listed(tree, f"{NODES}/node{node}/cpulist", f"{NODES}/node{node}/cpumap")
        if isinstance(cpus, Unavailable):
            notes.append(f"{cpus.reason}; NUMA node {node} is left out")
        else:
            nodes.append(NumaNode(node, tuple(sorted(set(cpus).intersection(online)))))
    if nodes:
        return tuple(nodes)
    notes.append(f"{NODES} names no NUMA node; all CPUs are taken to be in one")
    return (NumaNode(0, online),)


def _allowed(
    tree: Tree, online: tuple[int, ...], partitions: Iterable[Partition]
) -> tuple[int, ...]:
    if not tree.live:
        others = (cpu for part in partitions if not part.own for cpu in part.cpus)
        return tuple(sorted(set(online).difference(others))) or online
    return tuple(sorted(os.sched_getaffinity(0).intersection(online))) or online


def _caches(tree: Tree, online: tuple[int, ...], notes: list[str]) -> tuple[Cache, ...]:
    """Return every cache of the online CPUs once, by level, type and first CPU.

    A CPU without a cache of some level is in none of that level's `cpus`; this identifies
    LP-E-cores, which have no L3. Appends to `notes` missing values and their replacements.
    """
    found: dict[tuple[int, tuple[int, ...]], Cache] = {}
    unlisted: list[int] = []
    missing: set[str] = set()
    for cpu in online:
        directory = f"{CPUS}/cpu{cpu}/cache"
        for index in tree.numbered(directory, "index"):
            path = f"{directory}/index{index}"
            listed = _listed(tree, f"{path}/shared_cpu_list", f"{path}/shared_cpu_map")
            sharing: tuple[int, ...] = (cpu,)
            if isinstance(listed, Unavailable) or cpu not in listed:
                unlisted.append(cpu)
            else:
                sharing = tuple(sorted(set(listed).intersection(online)))
            if (index, sharing) not in found:
                found[index, sharing] = _cache(tree, path, index, sharing, missing)
    if not found:
        notes.append("the tree says nothing about caches")
    if unlisted:
        notes.append(
            f"CPUs {format_cpulist(unlisted)} have a cache without a usable shared_cpu_list "
            "or shared_cpu_map; it is taken to be shared with no other CPU"
        )
    if missing:
        notes.append(
            f"the tree does not give every cache's {' and '.join(sorted(missing))}; where level or "
            "type is missing, index0 to index3 are taken to be the data, instruction, second and "
            "third level cache"
        )
    caches = {(cache.level, cache.type, cache.cpus): cache for cache in found.values()}
    return tuple(caches[key] for key in sorted(caches))


def _cache(tree: Tree, path: str, index: int, sharing: tuple[int, ...], missing: set[str]) -> Cache:
    level = tree.integer(f"{path}/level")
    if isinstance(level, Unavailable) or not 0 < level <= _MAX_LEVEL:
        missing.add("level")
        level = min(max(index, 1), _MAX_LEVEL)
    kind = tree.text(f"{path}/type")
    if isinstance(kind, Unavailable) or kind not in _TYPES:
        missing.add("type")
        kind = _TYPE_OF_INDEX.get(index, "Unified")
    match = _SIZE.fullmatch(known(tree.text(f"{path}/size")) or "")
    # Firmware reports 0 for an unknown size.
    bytes_ = int(match[1]) * _FACTOR[match[2]] if match else 0
    if not bytes_:
        missing.add("size")
    return Cache(level, kind, bytes_ or None, sharing)
