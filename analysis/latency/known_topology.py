"""The topology that a latency file brings along, as a Topology again."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.latency.checked import Checked
from runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology

# A node has no more CPUs that could be online; a file that names more is none of a node.
MAX_ONLINE = 8192
_MAX_NUMBER = 65535
_MAX_CACHES = 8 * MAX_ONLINE
_MAX_LEVEL = 9


def known_topology(told: Checked) -> Topology:
    """Return the topology of `runners.node.topology.topology_json`'s table.

    Raises UserError, naming file and field, for CPUs that are not online or in two cores.
    """
    online = told.cpus("online")
    if not 0 < len(online) <= MAX_ONLINE:
        raise told.wrong("online", f"1 to {MAX_ONLINE} CPUs")
    known = frozenset(online)
    cores = tuple(
        Core(_of(core, known), core.text("kind"), core.whole("package", -1, 2**31))
        for core in told.tables("cores", MAX_ONLINE)
    )
    _refuse_shared(told, "cores", (core.cpus for core in cores), known)
    kinds = tuple(
        CoreKind(
            kind.text("name"),
            _of(kind, known),
            kind.text("evidence"),
            declared=kind.values.get("declared") is True,
        )
        for kind in told.tables("kinds", _MAX_LEVEL)
    )
    _refuse_shared(told, "kinds", (kind.cpus for kind in kinds), None)
    return Topology(
        kinds=kinds,
        cores=cores,
        caches=tuple(
            Cache(
                cache.whole("level", 1, _MAX_LEVEL),
                "",
                cache.whole("size_bytes", 1, 2**50) if cache.has("size_bytes") else None,
                _of(cache, known),
            )
            for cache in told.tables("caches", _MAX_CACHES)
        ),
        numa=tuple(
            NumaNode(node.whole("node", 0, _MAX_NUMBER), _of(node, known, least=0))
            for node in told.tables("numa", MAX_ONLINE)
        ),
        online=online,
        offline=told.cpus("offline"),
        allowed=told.cpus("allowed"),
    )


def _of(told: Checked, known: frozenset[int], least: int = 1) -> tuple[int, ...]:
    """Return the `cpus` of a table, all of which are online."""
    cpus = told.cpus("cpus")
    if len(cpus) < least or not known.issuperset(cpus):
        raise told.wrong("cpus", "CPUs that are online")
    return cpus


def _refuse_shared(
    told: Checked, name: str, groups: Iterable[tuple[int, ...]], whole: frozenset[int] | None
) -> None:
    """Raise UserError when a CPU is in two groups, or one of `whole` in none."""
    listed = [cpu for cpus in groups for cpu in cpus]
    if len(set(listed)) != len(listed):
        raise told.wrong(name, "each CPU in one of them only")
    if whole is not None and set(listed) != whole:
        raise told.wrong(name, "every CPU that is online")
