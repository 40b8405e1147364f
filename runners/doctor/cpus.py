"""What can be read and set of the CPUs.

Core kinds, the CPUs that this process may use, governors, turbo, temperatures, throttling, and
settings that a tuning, or a study that is gone, has left changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from base.cpulist import format_cpulist
from base.errors import UserError
from runners.doctor.capability import AskedNode, Capability
from runners.host.privileges import may_be_root
from runners.host.tree import known
from runners.measure.conditions.temperature import NO_SENSOR, Thermometer
from runners.measure.conditions.throttling import ThrottleMeter
from runners.node.cpufreq import (
    BOOST,
    NO_TURBO,
    POLICIES,
    Cpufreq,
    governor_label,
    read_turbo,
)
from runners.settings.journal import STUDY, TUNE, Journal, open_journal
from runners.settings.setting import POLICY_FILES, unwritable_file

_UNDO = "pinstudy restore"


def probe_core_kinds(node: AskedNode) -> Iterator[Capability]:
    """Tell the core kinds and their evidence; a guest with one kind may hide others."""
    topology = node.topology
    listed = "; ".join(
        f"{kind.name} {format_cpulist(kind.cpus)}: {kind.evidence}" for kind in topology.kinds
    )
    declared = any(kind.declared for kind in topology.kinds)
    if topology.hybrid or declared or not node.guest:
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


def probe_governor(node: AskedNode) -> Iterator[Capability]:
    """Tell the governors in force, those offered, and whether this process may set them."""
    cpufreq = node.cpufreq
    if not cpufreq.policies:
        where = "set governors on the virtual machine's host" if node.guest else ""
        yield Capability("governor", "missing", cpufreq.reason, where)
        return
    reasons = [policy.unavailable.get("governor") for policy in cpufreq.policies]
    labels = dict.fromkeys(governor_label(policy) for policy in cpufreq.policies if policy.governor)
    unreadable = next(filter(None, reasons), "")
    if not labels:
        yield Capability("governor", "missing", unreadable)
        return
    state = f"{', '.join(labels)}{_offered(cpufreq)}"
    if unreadable:
        yield Capability("governor", "limited", f"{state}; {unreadable}")
    elif not node.live:
        yield Capability("governor", "ok", f"{state}; setting it was not tried")
    else:
        yield _settable(node, cpufreq, state)


def probe_turbo(node: AskedNode) -> Iterator[Capability]:
    """Tell whether turbo is on: whether frequencies above the base may be used."""
    turbo = read_turbo(node.tree)
    if turbo is None:
        reason = f"{NO_TURBO} and {BOOST} are missing: not known whether it is on"
        yield Capability("turbo", "missing", reason)
    else:
        yield Capability("turbo", "ok", "on" if turbo else "off")


def _offered(cpufreq: Cpufreq) -> str:
    names = dict.fromkeys(name for policy in cpufreq.policies for name in policy.governors)
    return f"; offered: {' '.join(names)}" if names else ""


def _settable(node: AskedNode, cpufreq: Cpufreq, state: str) -> Capability:
    directories = [f"{POLICIES}/{policy.name}" for policy in cpufreq.policies]
    locked = unwritable_file(node.tree, directories)
    if locked is None:
        return Capability("governor", "ok", f"{state}; this process may set it")
    if may_be_root():
        reason = f"{state}; not even root may write {locked} here"
        return Capability("governor", "limited", reason, "mount /sys writable (in a container)")
    there = known(node.tree.names(locked.rpartition("/")[0])) or ()
    # A change of governor writes the first, and all of them have to be put back after it.
    written = [name for name in POLICY_FILES if name in there]
    return Capability(
        "governor",
        "limited",
        f"{state}; no permission to write {locked}",
        f'sudo chown "$USER" {" ".join(f"{POLICIES}/policy*/{name}" for name in written)}',
        _lasting(written),
    )


def _lasting(written: list[str]) -> str:
    # Policies are no devices, so udev has no rules for them; systemd-tmpfiles runs at each boot.
    lines = "\\n".join(f"z {POLICIES}/policy*/{name} - $USER -" for name in written)
    return f'printf "{lines}\\n" | sudo tee /etc/tmpfiles.d/pinstudy.conf'


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


def probe_settings(node: AskedNode) -> Iterator[Capability]:
    """Tell who changed settings that are not put back yet."""
    left, tuned = (open_journal(node.root, purpose, os.environ) for purpose in (STUDY, TUNE))
    if left.exists():
        yield Capability("settings", "limited", f"changed by a study: {_told(left)}", _UNDO)
    elif tuned.exists():
        yield Capability("settings", "ok", f"tuned for measuring: {_told(tuned)}", _UNDO)
    else:
        yield Capability("settings", "ok", "none is changed by pinstudy")


def _told(journal: Journal) -> str:
    try:
        entry = journal.read()
    except UserError as error:
        return str(error)
    return entry.told if entry else "not any more"
