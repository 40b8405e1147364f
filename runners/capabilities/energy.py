"""Whether energy can be read, by each source: the powercap counters, and perf's power PMU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runners.capabilities.asked_node import AskedNode
from runners.capabilities.capability import Capability
from runners.capabilities.counting import no_perf
from runners.evidence.pmus import EVENT_SOURCES
from runners.perf_trial import try_perf
from runners.powercap import DOMAINS, GRANT, find_zones
from runners.sysfs import Absent

POWERCAP, PERF = "energy:powercap", "energy:perf"

# %p is the zone's path below /sys (udev(7)); zones are named intel-rapl:0, intel-rapl:0:0, …
_LASTING = (
    """echo 'SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", """
    """RUN+="/bin/chmod a+r /sys/%p/energy_uj"' """
    "| sudo tee /etc/udev/rules.d/70-pinstudy.rules"
)
_EVENTS = f"{EVENT_SOURCES}/power/events"
_EVENT = "energy-pkg"
# System-wide events are forbidden from level 1 on (Documentation/admin-guide/sysctl/kernel.rst).
_LET_USERS_READ = "sudo sysctl kernel.perf_event_paranoid=0"
_LASTING_READ = "echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/70-pinstudy.conf"


def probe_energy(node: AskedNode) -> Iterator[Capability]:
    """Tell of the better source alone: the first one that works, or why the first does not."""
    by_powercap = _by_powercap(node)
    by_perf = by_powercap if by_powercap.state == "ok" else _by_perf(node)
    yield replace(by_perf if by_perf.state == "ok" else by_powercap, name="energy")


def probe_energy_sources(node: AskedNode) -> Iterator[Capability]:
    """Tell of both sources; one is optional where the other works."""
    by_powercap, by_perf = _by_powercap(node), _by_perf(node)
    yield replace(by_powercap, optional=by_perf.state == "ok")
    yield replace(by_perf, optional=by_powercap.state == "ok")


def _by_powercap(node: AskedNode) -> Capability:
    zones = find_zones(node.root)
    problems = dict(zones.unavailable)
    for zone in zones.chosen:
        value = zones.read_uj(zone)
        if isinstance(value, Absent):
            problems.setdefault(zone.domain, value.reason)
    readable = [domain for domain in DOMAINS if domain not in problems]
    if "package" in readable:
        return Capability(POWERCAP, "ok", f"{', '.join(readable)}, by powercap")
    reason = problems["package"]
    denied = reason.endswith(GRANT)
    reason = reason.removesuffix(f"; as root: {GRANT}")
    grant, lasting = (f"sudo {GRANT}", _LASTING) if denied else ("", "")
    if readable:
        reason = f"{', '.join(readable)} only; {reason}"
        return Capability(POWERCAP, "limited", reason, grant, lasting)
    return Capability(POWERCAP, "missing", reason, grant, lasting)


def _by_perf(node: AskedNode) -> Capability:
    names = node.tree.names(_EVENTS)
    if isinstance(names, Absent) or _EVENT not in names:
        what = "which is usual in virtual machines" if node.guest else "or its module is not loaded"
        grant = "" if node.guest else "sudo modprobe rapl"
        reason = f"{_EVENTS}/{_EVENT} is missing: perf has no power PMU here, {what}"
        return Capability(PERF, "missing", reason, grant)
    if node.perf is None:
        return no_perf(node, PERF)
    # A command with system-wide events alone is counted on all CPUs (perf-stat(1), "-a").
    trial = try_perf(node.perf, f"power/{_EVENT}/")
    counted = [row for row in trial.rows if row.event == _EVENT and row.state == "counted"]
    if counted:
        offered = [name for name in names if name.startswith("energy-") and "." not in name]
        return Capability(PERF, "ok", f"{', '.join(offered)}, by perf's power PMU")
    permission = node.permission
    if (permission.paranoid or 0) >= 1 and not (permission.admin or permission.perfmon):
        reason = f"kernel.perf_event_paranoid is {permission.paranoid}: no system-wide events"
        return Capability(PERF, "missing", reason, _LET_USERS_READ, _LASTING_READ)
    return Capability(PERF, "missing", trial.problem or f"perf counts no power/{_EVENT}/ here")
