"""Whether temperatures and throttling can be read, and whether daemons interfere with measuring."""

from __future__ import annotations

from collections.abc import Iterator

from runners.doctor.capability import AskedNode, Capability
from runners.host.daemons import UNITS, find_daemons, stop_commands
from runners.host.tree import Unavailable
from runners.measure.conditions.temperature import NO_SENSOR, Thermometer
from runners.measure.conditions.throttling import ThrottleMeter

_DAEMONS = "daemons"


def probe_temperatures(node: AskedNode) -> Iterator[Capability]:
    """Read every package's sensor once."""
    found, problems = Thermometer(node.tree, node.topology).read_c()
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
    meter = ThrottleMeter(node.tree, node.topology)
    meter.start()
    meter.stop()
    reading = meter.reading()
    counters = reading.fields.get("throttle", {})
    if counters:
        yield Capability("throttle-counters", "ok", ", ".join(counters))
    else:
        reasons = "; ".join(dict.fromkeys(reading.unavailable.values()))
        yield Capability("throttle-counters", "missing", reasons)


def probe_daemons(node: AskedNode) -> Iterator[Capability]:
    """Tell which running daemons change frequencies, affinity masks or interrupts."""
    found = find_daemons(node.tree)
    if isinstance(found, Unavailable):
        grant = "" if found.missing else "sudo mount -o remount,hidepid=0 /proc"
        reason = f"not known whether any interferes: {found.reason}"
        yield Capability(_DAEMONS, "limited", reason, grant)
    elif not found:
        yield Capability(
            _DAEMONS, "ok", f"none that interferes runs ({', '.join(UNITS)} and others)"
        )
    else:
        verb = "runs and changes" if len(found) == 1 else "run and change"
        reason = f"{', '.join(found)} {verb} frequencies, masks or interrupts while measuring"
        stop = stop_commands(found)
        yield Capability(
            _DAEMONS, "limited", reason, stop, stop.replace(" stop ", " disable --now ")
        )
