"""What can be measured and placed on a node, what cannot, why, and what would change that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from base.text import printable
from runners.doctor.capability import NOT_TRIED, AskedNode, Capability
from runners.doctor.counters import (
    probe_c2c,
    probe_energy,
    probe_energy_sources,
    probe_hardware_counters,
    probe_migrations,
    probe_perf,
)
from runners.doctor.cpus import (
    probe_core_kinds,
    probe_cpus,
    probe_governor,
    probe_settings,
    probe_temperatures,
    probe_throttling,
    probe_turbo,
)
from runners.doctor.software import (
    probe_batch,
    probe_daemons,
    probe_libgomp,
    probe_libomp,
    probe_likwid_pin,
    probe_lstopo,
    probe_numactl,
    probe_programs,
    probe_taskset,
    probe_virtual_machines,
)
from runners.node.node import Node

# In the order in which they are shown.
_PROBES: dict[str, Callable[[AskedNode], Iterator[Capability]]] = {
    "core-kinds": probe_core_kinds,
    "cpus": probe_cpus,
    "perf": probe_perf,
    "hardware-counters": probe_hardware_counters,
    "migrations": probe_migrations,
    "perf-c2c": probe_c2c,
    "energy": probe_energy,
    "energy-sources": probe_energy_sources,
    "governor": probe_governor,
    "turbo": probe_turbo,
    "temperatures": probe_temperatures,
    "throttle-counters": probe_throttling,
    "settings": probe_settings,
    "daemons": probe_daemons,
    "programs": probe_programs,
    "libgomp": probe_libgomp,
    "libomp": probe_libomp,
    "taskset": probe_taskset,
    "numactl": probe_numactl,
    "likwid-pin": probe_likwid_pin,
    "lstopo": probe_lstopo,
    "batch": probe_batch,
    "virtual-machines": probe_virtual_machines,
}
# They look only at what is installed and runs, which a recorded tree does not have.
_LIVE_ONLY = frozenset(
    {
        *("daemons", "programs", "libgomp", "libomp", "taskset", "numactl", "likwid-pin"),
        *("lstopo", "batch", "virtual-machines"),
    }
)
# Probed before a study: quick, and of use to every study.
NAMES = (
    *("perf", "hardware-counters", "migrations", "energy", "governor"),
    *("taskset", "numactl", "likwid-pin", "lstopo"),
)
EVERY_NAME = tuple(name for name in _PROBES if name != "energy")
# A study's tables lose no number without these.
OPTIONAL = frozenset(
    {
        *("perf-c2c", "turbo", "temperatures", "throttle-counters"),
        *("numactl", "likwid-pin", "lstopo", "batch", "virtual-machines"),
    }
)


def probe(node: Node, live: bool, names: Iterable[str] = NAMES) -> tuple[Capability, ...]:
    """Return the capabilities of a node, in the order of `names`.

    With `live` the node is this machine and its tools are tried, which takes some 30 ms for perf
    and 10 ms for likwid-pin; all of EVERY_NAME take about half a second. Raises KeyError for an
    unknown name, and nothing for what the node lacks.
    """
    asked = AskedNode(node.root, node.topology, live)
    return tuple(
        replace(
            found,
            reason=printable(" ".join(found.reason.split())),
            optional=found.optional or name in OPTIONAL,
        )
        for name in names
        for found in _found(asked, name)
    )


def _found(node: AskedNode, name: str) -> Iterable[Capability]:
    if name in _LIVE_ONLY and not node.live:
        return (Capability(name, "missing", NOT_TRIED),)
    return _PROBES[name](node)
