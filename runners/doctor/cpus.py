"""Whether core kinds are known, and whether this process may use every CPU."""

from __future__ import annotations

from collections.abc import Iterator

from base.cpulist import format_cpulist
from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import Capability


def probe_core_kinds(node: AskedNode) -> Iterator[Capability]:
    """Tell the core kinds and how they are known; a guest of one kind may hide others."""
    topology = node.topology
    if isinstance(topology, str):
        yield Capability("core-kinds", "missing", topology)
        return
    listed = "; ".join(
        f"{kind.name} {format_cpulist(kind.cpus)}: {kind.evidence}" for kind in topology.kinds
    )
    if topology.hybrid or node.declared or not node.guest:
        yield Capability("core-kinds", "ok", listed)
    else:
        yield Capability(
            "core-kinds",
            "limited",
            f"{listed}; virtual machines hide the core kinds of their host",
            "name them if you know them: --kinds P=…,E=…",
        )


def probe_cpus(node: AskedNode) -> Iterator[Capability]:
    """Tell which CPUs this process may use."""
    topology = node.topology
    if isinstance(topology, str):
        yield Capability("cpus", "missing", topology)
        return
    offline = f"; offline: {format_cpulist(topology.offline)}" if topology.offline else ""
    denied = sorted(set(topology.online).difference(topology.allowed))
    if denied:
        yield Capability(
            "cpus",
            "limited",
            f"this process may use {format_cpulist(topology.allowed)}, and not "
            f"{format_cpulist(denied)}{offline}",
            f"taskset -pc {format_cpulist(topology.online)} $$, or start outside the batch job, "
            "container or cgroup that restricts it",
        )
    elif node.live:
        yield Capability("cpus", "ok", f"all of {format_cpulist(topology.online)}{offline}")
    else:
        online = f"online: {format_cpulist(topology.online)}{offline}"
        yield Capability("cpus", "ok", online)
