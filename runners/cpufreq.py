"""The state of frequency scaling: drivers, governors, limits, turbo. Reads, and never writes.

A governor's name means little without its driver: `powersave` is the lowest frequency under
acpi-cpufreq, and dynamic under intel_pstate and amd-pstate in active mode (Linux
Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst). The two are read together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from configs.cpulist import format_cpulist
from runners.sysfs import Absent, Tree

CPUS = "/sys/devices/system/cpu"
POLICIES = f"{CPUS}/cpufreq"
# Asks for whatever is in force, and so is in force everywhere.
CURRENT = "current"

_POLICY_NAME = re.compile(r"policy([0-9]{1,5})")


@dataclass(frozen=True)
class Policy:
    """CPUs that are scaled together, and how. Frequencies are in kHz.

    `min_khz` and `max_khz` are the limits in force, `lowest_khz` and `highest_khz` those of the
    hardware. What could not be read is None and has its reason in `unavailable`.
    """

    name: str
    cpus: tuple[int, ...]
    driver: str | None
    governor: str | None
    governors: tuple[str, ...]
    epp: str | None
    min_khz: int | None
    max_khz: int | None
    lowest_khz: int | None
    highest_khz: int | None
    base_khz: int | None
    unavailable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cpufreq:
    """The node's policies; `reason` says why there are none.

    `turbo` is whether frequencies above the base may be used, `mode` what the pstate driver is
    set to (active, passive, guided, off); None where the node does not say.
    """

    policies: tuple[Policy, ...]
    reason: str = ""
    turbo: bool | None = None
    mode: str | None = None

    def policy_of(self, cpu: int) -> Policy | None:
        """Return the policy that scales a CPU, or None."""
        return next((policy for policy in self.policies if cpu in policy.cpus), None)


def read_cpufreq(tree: Tree) -> Cpufreq:
    """Return the state of frequency scaling now."""
    policies = tuple(
        _policy(tree, directory, cpus) for directory, cpus in _directories(tree) if cpus
    )
    reason = "" if policies else f"this node has no frequency scaling: {POLICIES} has no policy"
    return Cpufreq(policies, reason, _turbo(tree), _mode(tree))


def policy_directories(tree: Tree) -> dict[int, str]:
    """Return the directory with each CPU's frequency files."""
    return {cpu: directory for directory, cpus in _directories(tree) for cpu in cpus}


def governor_not_in_force(cpufreq: Cpufreq, governor: str, cpus: Iterable[int]) -> str | None:
    """Return why `governor` is not what scales these CPUs now; None when it is."""
    if governor == CURRENT:
        return None
    if missing := _without_policy(cpufreq, governor, cpus):
        return missing
    others: dict[str, list[int]] = {}
    for cpu, policy in _policies_of(cpufreq, cpus):
        if policy.governor != governor:
            now = policy.governor or policy.unavailable.get("governor", "unknown")
            others.setdefault(now, []).append(cpu)
    if not others:
        return None
    found = ", ".join(f"{now} on CPUs {format_cpulist(on)}" for now, on in others.items())
    return f"the governor {governor} is not in force: {found}"


def governor_not_offered(cpufreq: Cpufreq, governor: str, cpus: Iterable[int]) -> str | None:
    """Return why `governor` cannot be set on these CPUs, whoever sets it; None when it can."""
    if governor == CURRENT:
        return None
    if missing := _without_policy(cpufreq, governor, cpus):
        return missing
    for cpu, policy in _policies_of(cpufreq, cpus):
        if governor in (policy.governor, *policy.governors):
            continue
        if not policy.governors:
            return policy.unavailable.get("governors", f"CPU {cpu} has no list of governors")
        offered = " and ".join(policy.governors)
        return f"{policy.driver or 'the driver'} offers {offered} on CPU {cpu}, not {governor}"
    return None


def governor_label(policy: Policy) -> str:
    """Return the governor with its driver, `powersave (intel_pstate)`, as tables name it."""
    return f"{policy.governor or 'unknown'} ({policy.driver or 'unknown driver'})"


def _without_policy(cpufreq: Cpufreq, governor: str, cpus: Iterable[int]) -> str | None:
    if not cpufreq.policies:
        return f"the governor {governor} cannot be in force: {cpufreq.reason}"
    left = [cpu for cpu in cpus if cpufreq.policy_of(cpu) is None]
    if left:
        return (
            f"the governor {governor} cannot be in force: no policy for CPUs {format_cpulist(left)}"
        )
    return None


def _policies_of(cpufreq: Cpufreq, cpus: Iterable[int]) -> list[tuple[int, Policy]]:
    pairs = ((cpu, cpufreq.policy_of(cpu)) for cpu in cpus)
    return [(cpu, policy) for cpu, policy in pairs if policy is not None]


def _directories(tree: Tree) -> list[tuple[str, tuple[int, ...]]]:
    """Return each policy's directory and its CPUs that are online."""
    names = tree.names(POLICIES)
    matches = () if isinstance(names, Absent) else (_POLICY_NAME.fullmatch(name) for name in names)
    found = []
    for number in sorted(int(match[1]) for match in matches if match):
        directory = f"{POLICIES}/policy{number}"
        cpus = tree.cpulist(f"{directory}/affected_cpus")
        if isinstance(cpus, Absent):
            cpus = tree.cpulist(f"{directory}/related_cpus")
        found.append((directory, (number,) if isinstance(cpus, Absent) else cpus))
    return found


def _policy(tree: Tree, directory: str, cpus: tuple[int, ...]) -> Policy:
    unavailable: dict[str, str] = {}

    def text(name: str, file: str) -> str | None:
        value = tree.text(f"{directory}/{file}")
        if isinstance(value, Absent):
            unavailable[name] = value.reason
            return None
        return value

    def khz(name: str, file: str) -> int | None:
        value = tree.integer(f"{directory}/{file}")
        if isinstance(value, Absent):
            unavailable[name] = value.reason
            return None
        return value

    return Policy(
        name=directory.rpartition("/")[2],
        cpus=cpus,
        driver=text("driver", "scaling_driver"),
        governor=text("governor", "scaling_governor"),
        governors=tuple((text("governors", "scaling_available_governors") or "").split()),
        epp=text("epp", "energy_performance_preference"),
        min_khz=khz("min_khz", "scaling_min_freq"),
        max_khz=khz("max_khz", "scaling_max_freq"),
        lowest_khz=khz("lowest_khz", "cpuinfo_min_freq"),
        highest_khz=khz("highest_khz", "cpuinfo_max_freq"),
        base_khz=khz("base_khz", "base_frequency"),
        unavailable=unavailable,
    )


def _turbo(tree: Tree) -> bool | None:
    """Return whether turbo is on: intel_pstate says when it is not, other drivers when it is."""
    off = tree.integer(f"{CPUS}/intel_pstate/no_turbo")
    if not isinstance(off, Absent):
        return off == 0
    on = tree.integer(f"{POLICIES}/boost")
    return None if isinstance(on, Absent) else on != 0


def _mode(tree: Tree) -> str | None:
    for driver in ("intel_pstate", "amd_pstate"):
        status = tree.text(f"{CPUS}/{driver}/status")
        if not isinstance(status, Absent):
            return status
    return None
