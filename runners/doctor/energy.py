"""Whether energy can be read, by each source: the powercap counters, and perf's power PMU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runners.doctor.capability import AskedNode, Capability
from runners.doctor.perf import no_perf
from runners.measure.energy.figures import DOMAINS
from runners.measure.energy.perf import GRANT as PERF_GRANT
from runners.measure.energy.perf import find_power_pmu
from runners.measure.energy.powercap import GRANT, find_zones
from runners.measure.energy.source import try_perf

POWERCAP, PERF = "energy:powercap", "energy:perf"

# %p is the zone's path below /sys (udev(7)); zones are named intel-rapl:0, intel-rapl:0:0, …
_LASTING = (
    """echo 'SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", """
    """RUN+="/bin/chmod a+r /sys/%p/energy_uj"' """
    "| sudo tee /etc/udev/rules.d/70-pinstudy.rules"
)
_RAPL_VENDORS = ("GenuineIntel", "AuthenticAMD", "HygonGenuine")
_LASTING_PERF = "echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/70-pinstudy.conf"


def probe_energy(node: AskedNode) -> Iterator[Capability]:
    """Report one source: the first that works, or why the first does not."""
    by_powercap = _by_powercap(node)
    by_perf = by_powercap if by_powercap.state == "ok" else _by_perf(node)
    yield replace(by_perf if by_perf.state == "ok" else by_powercap, name="energy")


def probe_energy_sources(node: AskedNode) -> Iterator[Capability]:
    """Report both sources; one is optional where the other works."""
    by_powercap, by_perf = _by_powercap(node), _by_perf(node)
    yield replace(by_powercap, optional=by_perf.state == "ok")
    yield replace(by_perf, optional=by_powercap.state == "ok")


def _by_powercap(node: AskedNode) -> Capability:
    problems = find_zones(node.root).problems()
    readable = ", ".join(domain for domain in DOMAINS if domain not in problems)
    if "package" not in problems:
        return Capability(POWERCAP, "ok", f"{readable}, by powercap")
    reason = problems["package"]
    denied = reason.endswith(GRANT)
    reason = reason.removesuffix(f"; as root: {GRANT}")
    grant, lasting = (f"sudo {GRANT}", _LASTING) if denied else ("", "")
    if readable:
        return Capability(POWERCAP, "limited", f"{readable} only; {reason}", grant, lasting)
    return Capability(POWERCAP, "missing", reason, grant, lasting)


def _by_perf(node: AskedNode) -> Capability:
    pmu = find_power_pmu(node.root)
    if "package" in pmu.unavailable:
        # No module helps in virtual machines or on ARM.
        helps = node.block.get("vendor_id") in _RAPL_VENDORS and not (node.guest or pmu.events)
        grant = "sudo modprobe rapl" if helps else ""
        return Capability(PERF, "missing", pmu.unavailable["package"], grant)
    if node.perf is None:
        return no_perf(node, PERF)
    _, problems = try_perf(node.root, node.perf)
    if "package" not in problems:
        readable = ", ".join(domain for domain in DOMAINS if domain not in problems)
        return Capability(PERF, "ok", f"{readable}, by perf's power PMU")
    reason = problems["package"]
    if reason.endswith(PERF_GRANT):
        reason = reason.removesuffix(f"; as root: {PERF_GRANT}")
        return Capability(PERF, "missing", reason, f"sudo {PERF_GRANT}", _LASTING_PERF)
    return Capability(PERF, "missing", reason)
