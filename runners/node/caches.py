"""Reading a node's caches, and which CPUs share each of them."""

from __future__ import annotations

import re

from base.cpulist import format_cpulist
from runners.host.tree import Absent, Tree
from runners.node.topology import Cache

_INDEX_NAME = re.compile(r"index([0-9]{1,2})")
_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)")
_FACTOR = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_TYPES = frozenset({"Data", "Instruction", "Unified"})
# What index0, index1, … are on every machine seen, for trees that hold no level and type files.
_LEVEL_OF_INDEX = {0: 1, 1: 1, 2: 2, 3: 3, 4: 4}
_TYPE_OF_INDEX = {0: "Data", 1: "Instruction"}
_MAX_LEVEL = 9


def read_caches(tree: Tree, online: tuple[int, ...], notes: list[str]) -> tuple[Cache, ...]:
    """Return every cache of the online CPUs once, by level, type and first CPU.

    A CPU without a cache of some level is in none of that level's `cpus`: this tells LP-E-cores,
    which have no third level. Appends to `notes` what was missing and what stood in for it.
    """
    found: dict[tuple[int, tuple[int, ...]], Cache] = {}
    unlisted: list[int] = []
    unsaid: set[str] = set()
    for cpu in online:
        directory = f"/sys/devices/system/cpu/cpu{cpu}/cache"
        for index in _indexes(tree, directory):
            path = f"{directory}/index{index}"
            listed = tree.cpulist(f"{path}/shared_cpu_list")
            sharing: tuple[int, ...] = (cpu,)
            if isinstance(listed, Absent) or cpu not in listed:
                unlisted.append(cpu)
            else:
                sharing = tuple(sorted(set(listed).intersection(online)))
            if (index, sharing) not in found:
                found[index, sharing] = _cache(tree, path, index, sharing, unsaid)
    if not found:
        notes.append("the tree says nothing about caches")
    if unlisted:
        notes.append(
            f"CPUs {format_cpulist(unlisted)} have a cache without a usable shared_cpu_list; "
            "it is taken to be shared with no other CPU"
        )
    if "size" in unsaid:
        notes.append("the tree does not give every cache's size")
    if unsaid - {"size"}:
        notes.append(
            f"the tree does not give every cache's {' and '.join(sorted(unsaid - {'size'}))}; "
            "index0 to index3 are taken to be the data, instruction, second and third level cache"
        )
    caches = {(cache.level, cache.type, cache.cpus): cache for cache in found.values()}
    return tuple(caches[key] for key in sorted(caches))


def _indexes(tree: Tree, directory: str) -> list[int]:
    names = tree.names(directory)
    if isinstance(names, Absent):
        return []
    matches = (_INDEX_NAME.fullmatch(name) for name in names)
    return sorted({int(match[1]) for match in matches if match})


def _cache(tree: Tree, path: str, index: int, sharing: tuple[int, ...], unsaid: set[str]) -> Cache:
    level = tree.integer(f"{path}/level")
    if isinstance(level, Absent) or not 0 < level <= _MAX_LEVEL:
        unsaid.add("level")
        level = _LEVEL_OF_INDEX.get(index, _MAX_LEVEL)
    kind = tree.text(f"{path}/type")
    if isinstance(kind, Absent) or kind not in _TYPES:
        unsaid.add("type")
        kind = _TYPE_OF_INDEX.get(index, "Unified")
    size = tree.text(f"{path}/size")
    match = None if isinstance(size, Absent) else _SIZE.fullmatch(size)
    # A size of 0 is what firmware reports that does not know it.
    bytes_ = int(match[1]) * _FACTOR[match[2]] if match else 0
    if not bytes_:
        unsaid.add("size")
    return Cache(level, kind, bytes_ or None, sharing)
