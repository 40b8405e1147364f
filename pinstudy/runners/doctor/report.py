"""What can be measured and placed on a node, what cannot, why, and what would change that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pinstudy.base.text import printable
from pinstudy.configs.site import Site
from pinstudy.runners.doctor import counters, cpus, software
from pinstudy.runners.doctor.capability import NOT_TRIED, Capability, ProbedNode
from pinstudy.runners.node.node import Node

_Probes = dict[str, Callable[[ProbedNode], Capability | Sequence[Capability]]]

# In the order in which they are shown.
_OF_NODE: _Probes = {
    "core-kinds": cpus.probe_core_kinds,
    "cpus": cpus.probe_cpus,
    "instruction-sets": cpus.probe_instruction_sets,
    "perf": counters.probe_perf,
    "hardware-counters": counters.probe_hardware_counters,
    "migrations": counters.probe_migrations,
    "perf-c2c": counters.probe_c2c,
    "energy": counters.probe_energy,
    "energy-sources": counters.probe_energy_sources,
    "governor": cpus.probe_governor,
    "turbo": cpus.probe_turbo,
    "power-supply": cpus.probe_power_supply,
    "temperatures": cpus.probe_temperatures,
    "throttle-counters": cpus.probe_throttling,
    "settings": cpus.probe_settings,
    "instruments": cpus.probe_instruments,
}
# They look only at what is installed and runs, which a recorded tree does not have.
_OF_SOFTWARE: _Probes = {
    "daemons": software.probe_daemons,
    "programs": lambda _: software.find_programs(),
    "libgomp": lambda _: software.find_waiting("libgomp"),
    "libomp": lambda _: software.find_waiting("libomp"),
    "taskset": lambda _: software.find_tool("taskset"),
    "numactl": lambda _: software.find_tool("numactl"),
    "likwid-pin": lambda _: software.find_likwid_pin(),
    "lstopo": lambda _: software.find_lstopo(),
    "batch": software.probe_batch_systems,
    "virtual-machines": software.probe_virtual_machines,
}
_PROBES = _OF_NODE | _OF_SOFTWARE
# Probed before a study: quick, and of use to every study.
NAMES = (
    *("perf", "hardware-counters", "migrations", "energy", "governor"),
    *("taskset", "numactl", "likwid-pin", "lstopo", "instruments"),
)
EVERY_NAME = tuple(name for name in _PROBES if name != "energy")
# A study's tables lose no number without these.
OPTIONAL = frozenset(
    {
        *("perf-c2c", "turbo", "temperatures", "throttle-counters"),
        *("numactl", "likwid-pin", "lstopo", "batch", "virtual-machines"),
    }
)


def probe(
    node: Node, live: bool, names: Iterable[str] = NAMES, site: Site | None = None
) -> tuple[Capability, ...]:
    """Return the capabilities of a node, in the order of `names`.

    With `live` the node is this machine and its tools are tried, which takes some 30 ms for perf
    and 10 ms for likwid-pin; all of EVERY_NAME take about half a second. `site` may name a meter of
    energy. Raises KeyError for an
    unknown name, and nothing for what the node lacks.
    """
    probed = ProbedNode(node.root, node.topology, live, site.energy if site else None)
    return tuple(
        replace(
            capability,
            reason=printable(" ".join(capability.reason.split())),
            optional=capability.optional or name in OPTIONAL,
        )
        for name in names
        for capability in _capabilities(probed, name)
    )


def _capabilities(node: ProbedNode, name: str) -> Sequence[Capability]:
    if name in _OF_SOFTWARE and not node.live:
        return [Capability(name, "missing", NOT_TRIED)]
    result = _PROBES[name](node)
    return [result] if isinstance(result, Capability) else result
