"""Whether package temperatures and the processor's throttling can be read."""

from __future__ import annotations

from collections.abc import Iterator

from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import Capability
from runners.measure.conditions.temperature import NO_SENSOR, Thermometer
from runners.measure.conditions.throttling import ThrottleMeter


def probe_temperatures(node: AskedNode) -> Iterator[Capability]:
    """Read every package's sensor once."""
    topology = node.topology
    if isinstance(topology, str):
        yield Capability("temperatures", "missing", topology)
        return
    found, problems = Thermometer(node.tree, topology).read_c()
    shown = ", ".join(f"{package} {celsius:g} °C" for package, celsius in found.items())
    trouble = "; ".join(problems.values())
    if not found:
        yield Capability("temperatures", "missing", trouble or NO_SENSOR)
    elif problems:
        yield Capability("temperatures", "limited", f"{shown}; {trouble}")
    else:
        yield Capability("temperatures", "ok", shown)


def probe_throttling(node: AskedNode) -> Iterator[Capability]:
    """Read every throttle counter once."""
    topology = node.topology
    if isinstance(topology, str):
        yield Capability("throttle-counters", "missing", topology)
        return
    meter = ThrottleMeter(node.tree, topology)
    meter.start()
    meter.stop()
    reading = meter.reading()
    counters = reading.fields.get("throttle", {})
    if counters:
        yield Capability("throttle-counters", "ok", ", ".join(counters))
    else:
        reasons = "; ".join(dict.fromkeys(reading.unavailable.values()))
        yield Capability("throttle-counters", "missing", reasons)
