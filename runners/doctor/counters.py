"""Whether perf and the energy counters count here.

perf PMU by PMU, migrations, cache lines (`c2c`); energy by each source: the powercap counters, and
perf's power PMU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runners.doctor.capability import NOT_TRIED, AskedNode, Capability
from runners.host.software import for_tools
from runners.measure.energy.figures import DOMAINS
from runners.measure.energy.perf import GRANT as PERF_GRANT
from runners.measure.energy.perf import find_power_pmu
from runners.measure.energy.powercap import GRANT, find_zones
from runners.measure.energy.source import try_perf
from runners.measure.perf.c2c import NEEDS, try_c2c
from runners.measure.perf.events import HARDWARE_EVENTS, read_core_pmus, unsupported_reason
from runners.measure.perf.scaling import HIDDEN_FROM_USERS, canonical_event
from runners.measure.perf.stat import PerfTrial
from runners.node.core_kinds.pmus import EVENT_SOURCES

LET_USERS_COUNT = "sudo sysctl kernel.perf_event_paranoid=1"
LASTING = "echo kernel.perf_event_paranoid=1 | sudo tee /etc/sysctl.d/70-pinstudy.conf"

POWERCAP, PERF = "energy:powercap", "energy:perf"

# %p is the zone's path below /sys (udev(7)); zones are named intel-rapl:0, intel-rapl:0:0, …
_LASTING = (
    """echo 'SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", """
    """RUN+="/bin/chmod a+r /sys/%p/energy_uj"' """
    "| sudo tee /etc/udev/rules.d/70-pinstudy.rules"
)
_RAPL_VENDORS = ("GenuineIntel", "AuthenticAMD", "HygonGenuine")
_LASTING_PERF = "echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/70-pinstudy.conf"


def probe_perf(node: AskedNode) -> Iterator[Capability]:
    """Tell whether a run can be counted at all."""
    trial = _trial(node, "perf")
    if isinstance(trial, Capability):
        yield trial
        return
    version = "perf" if trial.version is None else "perf {}.{}".format(*trial.version)
    if trial.user_only:
        what = f"{version}, of programs' user mode only"
        yield Capability("perf", "limited", what, LET_USERS_COUNT, LASTING)
    else:
        yield Capability("perf", "ok", version)


def probe_hardware_counters(node: AskedNode) -> Iterator[Capability]:
    """Tell which of the processor's events each core PMU counts."""
    name = "hardware-counters"
    pmus = [pmu.name for pmu in read_core_pmus(node.root)]
    if not pmus:
        if not node.live and not node.tree.is_directory(EVENT_SOURCES):
            yield Capability(name, "missing", NOT_TRIED)
            return
        yield _events_refused(node, name)
        return
    for pmu in pmus:
        of_pmu = f"{name}:{pmu}" if len(pmus) > 1 else name
        trial = _trial(node, of_pmu)
        if isinstance(trial, Capability):
            yield trial
        else:
            yield _of_pmu(node, of_pmu, pmu, trial, len(pmus) - 1)


def probe_migrations(node: AskedNode) -> Iterator[Capability]:
    """Tell whether migrations are counted: perf reports 0 when it counts user mode only."""
    trial = _trial(node, "migrations")
    if isinstance(trial, Capability):
        yield trial
        return
    row = next((row for row in trial.rows if row.event == "cpu-migrations"), None)
    if row is None or row.state == "not supported":
        yield Capability("migrations", "missing", "perf does not count cpu-migrations here")
    elif row.user_only:
        reason = HIDDEN_FROM_USERS.partition(";")[0]
        yield Capability("migrations", "missing", reason, LET_USERS_COUNT, LASTING)
    else:
        yield Capability("migrations", "ok", "migrations and context switches, by perf")


def _trial(node: AskedNode, name: str) -> PerfTrial | Capability:
    """Return the rows of perf's trial run, or why it gave none and what helps."""
    trial = node.trial
    if trial is None:
        return _no_perf(node, name)
    return _no_rows(node, name, trial) if trial.problem else trial


def _no_perf(node: AskedNode, name: str) -> Capability:
    """Return why perf was not tried."""
    if not node.live:
        return Capability(name, "missing", NOT_TRIED)
    return Capability(name, "missing", "perf is not installed", for_tools().grant)


def _no_rows(node: AskedNode, name: str, trial: PerfTrial) -> Capability:
    if trial.version is None:
        of_kernel = "install the perf of the running kernel ($(uname -r))"
        return Capability(name, "missing", trial.problem, of_kernel)
    if node.permission.paranoid is None:
        reason = "this kernel has no performance events"
        return Capability(name, "missing", reason, "boot one with CONFIG_PERF_EVENTS")
    if node.permission.forbidden:
        reason = f"kernel.perf_event_paranoid is {node.permission.paranoid}: no counting at all"
        return Capability(name, "missing", reason, LET_USERS_COUNT, LASTING)
    container = "in a container, allow perf_event_open and CAP_PERFMON"
    return Capability(name, "missing", trial.problem, container)


def _of_pmu(node: AskedNode, name: str, pmu: str, trial: PerfTrial, others: int) -> Capability:
    rows = [
        row for row in trial.rows_of(pmu, others) if canonical_event(row.event) in HARDWARE_EVENTS
    ]
    if not rows:
        reason = f"perf does not tell {pmu} from other PMUs"
        return Capability(name, "missing", reason, "a newer perf")
    works = [canonical_event(row.event) for row in rows if row.state != "not supported"]
    if not works:
        return _events_refused(node, name)
    refused = [event for event in HARDWARE_EVENTS if event not in works]
    if refused:
        lacks = f"{', '.join(works)}; {pmu} does not have {', '.join(refused)}"
        return Capability(name, "limited", lacks)
    return Capability(name, "ok", ", ".join(works))


def _events_refused(node: AskedNode, name: str) -> Capability:
    why = unsupported_reason(node.root)
    reason = f"{', '.join(HARDWARE_EVENTS)}: not supported by this node ({why})"
    return Capability(name, "missing", reason, _pmu_grant(why))


def _pmu_grant(why: str) -> str:
    """Return what would give a node the core PMU that it lacks for this reason."""
    if "virtual machine" in why:
        return "give the guest one (QEMU: -cpu host,pmu=on), or measure on the host"
    return "a newer kernel"


def probe_c2c(node: AskedNode) -> Iterator[Capability]:
    """Record the program `true` as studies that collect c2c record their cases."""
    if node.perf is None:
        yield _no_perf(node, "perf-c2c")
        return
    trial = try_c2c(node.perf, node.root)
    if not trial.problem:
        what = "user space" if trial.modes else "user space and the kernel's own accesses"
        yield Capability("perf-c2c", "ok", f"samples accesses of {what}")
    elif trial.problem.startswith(NEEDS):
        yield Capability("perf-c2c", "missing", trial.problem, LET_USERS_COUNT, LASTING)
    else:
        lacks_pmu = node.guest and not read_core_pmus(node.root)
        grant = _pmu_grant(unsupported_reason(node.root)) if lacks_pmu else ""
        yield Capability("perf-c2c", "missing", trial.problem, grant)


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
        return _no_perf(node, PERF)
    _, problems = try_perf(node.root, node.perf)
    if "package" not in problems:
        readable = ", ".join(domain for domain in DOMAINS if domain not in problems)
        return Capability(PERF, "ok", f"{readable}, by perf's power PMU")
    reason = problems["package"]
    if reason.endswith(PERF_GRANT):
        reason = reason.removesuffix(f"; as root: {PERF_GRANT}")
        return Capability(PERF, "missing", reason, f"sudo {PERF_GRANT}", _LASTING_PERF)
    return Capability(PERF, "missing", reason)
