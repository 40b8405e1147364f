"""Whether governors can be told and set, and whether turbo is known."""

from __future__ import annotations

from collections.abc import Iterator

from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import Capability
from runners.host.privileges import may_be_root
from runners.host.tree import Absent
from runners.node.cpufreq import (
    BOOST,
    NO_TURBO,
    POLICIES,
    Cpufreq,
    governor_label,
    read_cpufreq,
)

# What a governor's change writes, and what has to be put back after it.
_WRITTEN = (
    "scaling_governor",
    "energy_performance_preference",
    "scaling_min_freq",
    "scaling_max_freq",
)


def probe_governor(node: AskedNode) -> Iterator[Capability]:
    """Tell the governors in force, those offered, and whether this process may set them."""
    cpufreq = read_cpufreq(node.root)
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
    """Tell whether frequencies above the base may be used."""
    turbo = read_cpufreq(node.root).turbo
    if turbo is None:
        reason = f"{NO_TURBO} and {BOOST} are missing: not known whether it is on"
        yield Capability("turbo", "missing", reason)
    else:
        yield Capability("turbo", "ok", "on" if turbo else "off")


def _offered(cpufreq: Cpufreq) -> str:
    names = dict.fromkeys(name for policy in cpufreq.policies for name in policy.governors)
    return f"; offered: {' '.join(names)}" if names else ""


def _settable(node: AskedNode, cpufreq: Cpufreq, state: str) -> Capability:
    closed = [
        policy.name
        for policy in cpufreq.policies
        if not node.tree.writable(f"{POLICIES}/{policy.name}/scaling_governor")
    ]
    if not closed:
        return Capability("governor", "ok", f"{state}; this process may set it")
    first = f"{POLICIES}/{closed[0]}"
    if may_be_root():
        reason = f"{state}; not even root may write {first}/scaling_governor here"
        return Capability("governor", "limited", reason, "mount /sys writable (in a container)")
    there = node.tree.names(first)
    written = [name for name in _WRITTEN if not isinstance(there, Absent) and name in there]
    return Capability(
        "governor",
        "limited",
        f"{state}; no permission to write {first}/scaling_governor",
        f'sudo chown "$USER" {" ".join(f"{POLICIES}/policy*/{name}" for name in written)}',
        _lasting(written),
    )


def _lasting(written: list[str]) -> str:
    # Policies are no devices that udev knows; systemd-tmpfiles sets owners at each boot.
    lines = "\\n".join(f"z {POLICIES}/policy*/{name} - $USER -" for name in written)
    return f'printf "{lines}\\n" | sudo tee /etc/tmpfiles.d/pinstudy.conf'
