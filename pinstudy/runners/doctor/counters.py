"""Whether perf and the energy counters count here.

perf PMU by PMU, migrations, cache lines (`c2c`); energy by each source: the powercap counters,
perf's PMUs of packages and of cores, and every other meter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from pinstudy.base.reading import Unavailable
from pinstudy.runners.doctor.capability import NOT_TRIED, Capability, ProbedNode
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.measure.energy.commands import COMMAND
from pinstudy.runners.measure.energy.cores import PMU as CORE_PMU
from pinstudy.runners.measure.energy.cores import find_core_counters, try_cores
from pinstudy.runners.measure.energy.perf import GRANT as PERF_GRANT
from pinstudy.runners.measure.energy.perf import find_power_pmu
from pinstudy.runners.measure.energy.powercap import GRANT
from pinstudy.runners.measure.energy.source import find_meters, try_perf, try_powercap
from pinstudy.runners.measure.perf.c2c import NEEDS, try_c2c
from pinstudy.runners.measure.perf.events import HARDWARE_EVENTS, read_core_pmus, unsupported_reason
from pinstudy.runners.measure.perf.stat import PerfTrial
from pinstudy.runners.node.core_kinds.pmus import EVENT_SOURCES
from pinstudy.runners.records.energy import DOMAINS
from pinstudy.runners.records.perf.scaling import HIDDEN_FROM_USERS, canonical_event

LET_USERS_COUNT = "sudo sysctl kernel.perf_event_paranoid=1"
LASTING = "echo kernel.perf_event_paranoid=1 | sudo tee /etc/sysctl.d/70-pinstudy.conf"

# %p is the zone's path below /sys (udev(7)); zones are named intel-rapl:0, intel-rapl:0:0, …
_LASTING = (
    """echo 'SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", """
    """RUN+="/bin/chmod a+r /sys/%p/energy_uj"' """
    "| sudo tee /etc/udev/rules.d/70-pinstudy.rules"
)
_RAPL_VENDORS = ("GenuineIntel", "AuthenticAMD", "HygonGenuine")
_LASTING_PERF = "echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/70-pinstudy.conf"


def probe_perf(node: ProbedNode) -> Capability:
    """Report whether a run can be counted at all."""
    trial = _trial(node, "perf")
    if isinstance(trial, Capability):
        return trial
    version = "perf" if trial.version is None else "perf {}.{}".format(*trial.version)
    if any(row.user_only for row in trial.rows):
        told = f"{version}, of programs' user mode only"
        return Capability("perf", "limited", told, LET_USERS_COUNT, LASTING)
    return Capability("perf", "ok", version)


def probe_hardware_counters(node: ProbedNode) -> list[Capability]:
    """Report which of the processor's events each core PMU counts."""
    name = "hardware-counters"
    pmus = list(read_core_pmus(node.root))
    if not pmus and not node.live and not node.tree.is_directory(EVENT_SOURCES):
        return [Capability(name, "missing", NOT_TRIED)]
    if not pmus:
        return [_events_refused(node, name)]
    if len(pmus) == 1:
        # Where it is the only one, perf prints no PMU.
        return [_of_pmu(node, name, pmus[0], (pmus[0], None))]
    return [_of_pmu(node, f"{name}:{pmu}", pmu, (pmu,)) for pmu in pmus]


def probe_migrations(node: ProbedNode) -> Capability:
    """Report whether migrations are counted: perf reports 0 when it counts user mode only."""
    trial = _trial(node, "migrations")
    if isinstance(trial, Capability):
        return trial
    row = next((row for row in trial.rows if row.event == "cpu-migrations"), None)
    if row is None or row.state == "not supported":
        return Capability("migrations", "missing", "perf does not count cpu-migrations here")
    if row.user_only:
        reason = HIDDEN_FROM_USERS.partition(";")[0]
        return Capability("migrations", "missing", reason, LET_USERS_COUNT, LASTING)
    return Capability("migrations", "ok", "migrations and context switches, by perf")


def _trial(node: ProbedNode, name: str) -> PerfTrial | Capability:
    """Return the rows of perf's trial run, or why it gave none and what helps."""
    trial = node.trial
    if trial is None:
        return _no_perf(node, name)
    if not trial.problem:
        return trial
    reason, grant, lasting = trial.problem, "", ""
    if trial.version is None:
        grant = "install the perf of the running kernel ($(uname -r))"
    elif node.permission.paranoid is None:
        reason = "this kernel has no performance events"
        grant = "boot one with CONFIG_PERF_EVENTS"
    elif node.permission.forbidden:
        reason = f"kernel.perf_event_paranoid is {node.permission.paranoid}: no counting at all"
        grant, lasting = LET_USERS_COUNT, LASTING
    else:
        grant = "in a container, allow perf_event_open and CAP_PERFMON"
    return Capability(name, "missing", reason, grant, lasting)


def _no_perf(node: ProbedNode, name: str) -> Capability:
    if not node.live:
        return Capability(name, "missing", NOT_TRIED)
    return Capability(name, "missing", "perf is not installed", for_tools().grant)


def _of_pmu(node: ProbedNode, name: str, pmu: str, printed: Collection[str | None]) -> Capability:
    trial = _trial(node, name)
    if isinstance(trial, Capability):
        return trial
    states = {canonical_event(row.event): row.state for row in trial.rows if row.pmu in printed}
    listed = [event for event in HARDWARE_EVENTS if event in states]
    works = [event for event in listed if states[event] != "not supported"]
    if not listed:
        reason = f"perf does not tell {pmu} from other PMUs"
        return Capability(name, "missing", reason, "a newer perf")
    if not works:
        return _events_refused(node, name)
    refused = [event for event in HARDWARE_EVENTS if event not in works]
    if refused:
        lacks = f"{', '.join(works)}; {pmu} does not have {', '.join(refused)}"
        return Capability(name, "limited", lacks)
    return Capability(name, "ok", ", ".join(works))


def _events_refused(node: ProbedNode, name: str) -> Capability:
    why = unsupported_reason(node.root)
    reason = f"{', '.join(HARDWARE_EVENTS)}: not supported by this node ({why})"
    return Capability(name, "missing", reason, _pmu_grant(node) or "a newer kernel")


def _pmu_grant(node: ProbedNode) -> str:
    """Return what would give a guest the core PMU that it lacks; empty for other nodes."""
    if node.guest and not read_core_pmus(node.root):
        return "give the guest one (QEMU: -cpu host,pmu=on), or measure on the host"
    return ""


def probe_c2c(node: ProbedNode) -> Capability:
    """Record the program `true` as studies that collect c2c record their cases."""
    if node.perf is None:
        return _no_perf(node, "perf-c2c")
    modes = try_c2c(node.perf, node.root)
    if not isinstance(modes, str):
        accesses = "user space" if modes else "user space and the kernel's own accesses"
        return Capability("perf-c2c", "ok", f"samples accesses of {accesses}")
    if modes.startswith(NEEDS):
        return Capability("perf-c2c", "missing", modes, LET_USERS_COUNT, LASTING)
    return Capability("perf-c2c", "missing", modes, _pmu_grant(node))


def probe_energy(node: ProbedNode) -> Capability:
    """Report one source: that of the site, else the first that works, or why the first does not."""
    if node.energy:
        name = f"energy:{node.energy.meter or COMMAND}"
        asked = (source for source in probe_energy_sources(node) if source.name == name)
        missing = Capability(name, "missing", f"the site's meter {node.energy.meter} is not here")
        return replace(next(asked, missing), name="energy", optional=False)
    by_powercap = _by_powercap(node)
    if by_powercap.state != "ok":
        for found in (_by_perf(node), *_by_meters(node)):
            if found.state == "ok":
                return replace(found, name="energy")
    return replace(by_powercap, name="energy")


def probe_energy_sources(node: ProbedNode) -> list[Capability]:
    """Report every source, all optional where one works, and that of cores."""
    found = [_by_powercap(node), _by_perf(node), *_by_meters(node)]
    works = any(source.state == "ok" for source in found)
    return [
        *(replace(source, optional=works or at > 1) for at, source in enumerate(found)),
        replace(_by_core(node), optional=True),
    ]


def _by_meters(node: ProbedNode) -> list[Capability]:
    """Report the meters beside RAPL that the node shows."""
    reports = []
    for meter in find_meters(node.root, node.energy):
        name = f"energy:{meter.name}"
        if meter.problem:
            grant = f"sudo {meter.grant}" if meter.grant.startswith("chmod") else meter.grant
            reports.append(Capability(name, "missing", f"{meter.facts}; {meter.problem}", grant))
        elif meter.by_name and not (node.energy and node.energy.meter == meter.name):
            grant = f"`meter: {meter.name}` in the study"
            reports.append(Capability(name, "limited", f"{meter.facts}; {meter.by_name}", grant))
        else:
            reports.append(Capability(name, "ok", meter.facts))
    return reports


def _by_core(node: ProbedNode) -> Capability:
    """Report of which core kinds the energy is counted: few processors have such counters."""
    name = "energy:cores"
    found = find_core_counters(node.root, node.topology)
    if isinstance(found, Unavailable):
        return Capability(name, "missing", found.reason)
    if node.perf is None:
        return _no_perf(node, name)
    tried = try_cores(node.root, node.perf, node.topology)
    if isinstance(tried, Unavailable):
        return _denied(Capability(name, "missing", tried.reason), PERF_GRANT, _LASTING_PERF)
    readable = f"{', '.join(found.cpus)}, by perf's {CORE_PMU} PMU"
    if found.unavailable:
        reasons = "; ".join(dict.fromkeys(found.unavailable.values()))
        return Capability(name, "limited", f"{readable}; {reasons}")
    return Capability(name, "ok", readable)


def _by_powercap(node: ProbedNode) -> Capability:
    problems = try_powercap(node.root)[1]
    return _source("powercap", "powercap", problems, GRANT, _LASTING)


def _by_perf(node: ProbedNode) -> Capability:
    pmu = find_power_pmu(node.root)
    if "package" in pmu.unavailable:
        # No module helps in virtual machines or on ARM.
        helps = node.block.get("vendor_id") in _RAPL_VENDORS and not (node.guest or pmu.events)
        grant = "sudo modprobe rapl" if helps else ""
        return Capability("energy:perf", "missing", pmu.unavailable["package"], grant)
    if node.perf is None:
        return _no_perf(node, "energy:perf")
    _, problems = try_perf(node.root, node.perf)
    return _source("perf", "perf's power PMU", problems, PERF_GRANT, _LASTING_PERF)


def _source(
    name: str, by: str, problems: Mapping[str, str], grant: str, lasting: str
) -> Capability:
    """Report the domains that a source reads; a reason ends with `grant` where that would help."""
    name = f"energy:{name}"
    readable = ", ".join(domain for domain in DOMAINS if domain not in problems)
    if "package" not in problems:
        return Capability(name, "ok", f"{readable}, by {by}")
    missing = _denied(Capability(name, "missing", problems["package"]), grant, lasting)
    if readable:
        return replace(missing, state="limited", reason=f"{readable} only; {missing.reason}")
    return missing


def _denied(capability: Capability, grant: str, lasting: str) -> Capability:
    """Return a capability with its grant, where its reason ends with that."""
    reason, denied, _ = capability.reason.partition(f"; as root: {grant}")
    if not denied:
        return capability
    return replace(capability, reason=reason, grant=f"sudo {grant}", lasting=lasting)
