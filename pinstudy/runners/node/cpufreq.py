"""The state of frequency scaling: drivers, governors, limits, turbo. Reads, and never writes.

A governor's name means little without its driver: `powersave` is the lowest frequency under
acpi-cpufreq, and dynamic under intel_pstate and amd-pstate in active mode (Linux
Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst). The two are read together.

With dynamic EPP, amd-pstate itself moves the EPP when the node goes from mains to battery or gets
another platform profile. Linux 7.1 and 7.2 have a switch for all CPUs, and refuse other EPPs while
it is on; from 7.3 on it is an EPP of a policy, and writing another one ends it (amd-pstate.rst,
"Dynamic energy performance profile"; drivers/cpufreq/amd-pstate.c since commit b7294b627598).

Where heat or power limit an AMD CPU, its firmware first lowers frequencies to each CPU's floor,
which Linux tells from 7.1 on (amd-pstate.rst, "amd_pstate_floor_freq").

`scaling_max_freq` is what is in force: the lowest of what users, the kernel's cooling of CPUs and
the driver ask for, and of the hardware's limit, which the firmware may move. What is written there
is one of these requests (drivers/cpufreq/cpufreq.c, store_scaling_max_freq and cpufreq_set_policy).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import cpulists_by_value, format_cpulist
from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.runners.host.tree import Tree

CPUS = "/sys/devices/system/cpu"
POLICIES = f"{CPUS}/cpufreq"
# 1 means off in the file of intel_pstate, and on in that of other drivers.
NO_TURBO, BOOST = f"{CPUS}/intel_pstate/no_turbo", f"{POLICIES}/boost"
THERMAL = "/sys/class/thermal"
# `cpufreq-cpu0`, before Linux 5.12 `thermal-cpufreq-0`; `Processor` is ACPI's.
_CPU_COOLING = re.compile(r"(?:thermal-)?cpufreq-.*|Processor", re.ASCII)
DYNAMIC_EPP = "dynamic EPP"
# Linux 7.1 and 7.2; from 7.3 on a policy's EPP reads `dynamic(profile:NAME)` instead.
_DYNAMIC_EPP_SWITCH = f"{CPUS}/amd_pstate/dynamic_epp"
_DYNAMIC = "dynamic"

# The files of a policy, by the attributes of Policy; the limits are in kHz.
_TEXTS = {
    "driver": "scaling_driver",
    "governor": "scaling_governor",
    "governors": "scaling_available_governors",
    "epp": "energy_performance_preference",
}
_LIMITS = {
    "min_khz": "scaling_min_freq",
    "max_khz": "scaling_max_freq",
    "highest_khz": "cpuinfo_max_freq",
    "base_khz": "base_frequency",
    "floor_khz": "amd_pstate_floor_freq",
}

EPP_IS_DYNAMIC = f"amd-pstate's {DYNAMIC_EPP} moves it ({PINSTUDY} doctor says what turns it off)"


@dataclass(frozen=True)
class Policy:
    """CPUs that are scaled together, and how. Frequencies are in kHz.

    `min_khz` and `max_khz` are the limits in force, `highest_khz` is that of the hardware,
    `floor_khz` what firmware lowers frequencies to first. A value that could not be read is None,
    with its reason in `unavailable`.
    """

    name: str
    cpus: tuple[int, ...]
    driver: str | None
    governor: str | None
    governors: tuple[str, ...]
    epp: str | None
    min_khz: int | None
    max_khz: int | None
    highest_khz: int | None
    base_khz: int | None
    floor_khz: int | None = None
    unavailable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cpufreq:
    """The node's policies, or those of some CPUs; `reason` says why the node has none at all.

    `turbo` is whether frequencies above the base may be used, `mode` the mode of the pstate
    driver (active, passive, guided, off); each is None where the node does not report it.
    `dynamic_epp` is whether amd-pstate moves the EPP of one of them by itself.
    """

    policies: tuple[Policy, ...]
    reason: str = ""
    turbo: bool | None = None
    mode: str | None = None
    dynamic_epp: bool = False

    def directories(self, cpus: Collection[int]) -> tuple[str, ...]:
        """Return the directories of the policies that scale these CPUs."""
        return tuple(f"{POLICIES}/{policy.name}" for policy in self.policies_of(cpus))

    def in_force_problem(self, governor: str, cpus: Collection[int]) -> str | None:
        """Return why `governor` is not in force on these CPUs; None when it is."""
        if missing := self._without_policy(governor, cpus):
            return missing
        found = self._values("governor", cpus)
        if set(found) == {governor}:
            return None
        return f"the governor {governor} is not in force (but {_listed(found)})"

    def offer_problem(self, governor: str, cpus: Collection[int]) -> str | None:
        """Return why `governor` cannot be had on these CPUs; None when it can."""
        if missing := self._without_policy(governor, cpus):
            return missing
        if self.dynamic_epp and self.in_force_problem(governor, cpus):
            return f"the EPP of the governor {governor} cannot be held: {EPP_IS_DYNAMIC}"
        for policy in self.policies_of(cpus):
            if governor in (policy.governor, *policy.governors):
                continue
            if not policy.governors:
                return policy.unavailable.get("governors", f"{policy.name} offers no governor")
            offered = " and ".join(policy.governors)
            driver = policy.driver or "the driver"
            return (
                f"{driver} does not offer the governor {governor} on CPUs "
                f"{format_cpulist(policy.cpus)} (but {offered})"
            )
        return None

    def state_of(self, cpus: Collection[int]) -> Reading:
        """Return how these CPUs are scaled, as fields of a run's record.

        Where CPUs differ, a governor, driver or EPP is given with its CPUs (`performance on 0-7,
        powersave on 8-23`); the limits, `…_khz`, map each one to its CPU list.
        """
        names = {"governor_read": "governor", "driver": "driver", "epp": "epp"}
        limits = {name: name for name in ("min_khz", "max_khz", "highest_khz", "floor_khz")}
        fields: dict[str, Any] = {}
        unavailable = {}
        for name, attribute in (names | limits).items():
            found = self._values(attribute, cpus)
            if None in found or not found:
                reasons = (policy.unavailable.get(attribute) for policy in self.policies_of(cpus))
                none = self.reason or "no policy covers these CPUs"
                unavailable[name] = next(filter(None, reasons), none)
            elif name in limits:
                fields[name] = {str(khz): on for khz, on in found.items()}
            else:
                fields[name] = _listed(found)
        modes = (self.mode, DYNAMIC_EPP if self.dynamic_epp else None)
        mode = ", ".join(filter(None, modes)) or None
        for name, value in (("driver_mode", mode), ("turbo", self.turbo)):
            if value is None:
                unavailable[name] = self.reason or "the driver does not tell it"
            else:
                fields[name] = value
        return Reading(fields, unavailable)

    def _without_policy(self, governor: str, cpus: Collection[int]) -> str | None:
        left = set(cpus).difference(*(policy.cpus for policy in self.policies))
        if not (left or self.reason):
            return None
        reason = self.reason or f"no policy covers CPUs {format_cpulist(left)}"
        return f"the governor {governor} cannot be had: {reason}"

    def policies_of(self, cpus: Collection[int]) -> list[Policy]:
        """Return the policies that scale these CPUs."""
        wanted = set(cpus)
        return [policy for policy in self.policies if not wanted.isdisjoint(policy.cpus)]

    def _values(self, attribute: str, cpus: Collection[int]) -> dict[str | None, str]:
        """Return the CPU lists by the value of an attribute of their policies."""
        wanted, policies = set(cpus), self.policies
        return cpulists_by_value(
            {
                cpu: getattr(policy, attribute)
                for policy in policies
                for cpu in policy.cpus
                if cpu in wanted
            }
        )


def _listed(found: dict[str | None, str]) -> str:
    if len(found) == 1:
        return next(iter(found)) or "unknown"
    return ", ".join(f"{value or 'unknown'} on {cpus}" for value, cpus in found.items())


def read_cpufreq(root: Path, cpus: Iterable[int] | None = None) -> Cpufreq:
    """Read the state of frequency scaling, of all policies or only of those of `cpus`."""
    tree = Tree(root)
    wanted = None if cpus is None else set(cpus)
    directories = [(directory, of) for directory, of in _directories(tree) if of]
    policies = tuple(
        _policy(tree, directory, of)
        for directory, of in directories
        if wanted is None or wanted.intersection(of)
    )
    reason = "" if directories else f"no frequency scaling here ({POLICIES} has no policy)"
    dynamic = is_epp_locked(tree) or any(
        (policy.epp or "").startswith(_DYNAMIC) for policy in policies
    )
    return Cpufreq(policies, reason, read_turbo(tree), read_mode(tree), dynamic)


def dynamic_epp(tree: Tree) -> bool | Unavailable:
    """Return whether amd-pstate moves the EPP by itself; `Unavailable` without any EPP."""
    cpufreq = read_cpufreq(tree.root)
    if not any(policy.epp for policy in cpufreq.policies):
        return Unavailable(cpufreq.reason or "the driver has no EPP")
    return cpufreq.dynamic_epp


def is_epp_locked(tree: Tree) -> bool:
    """Return whether amd-pstate refuses other EPPs, because its dynamic EPP is switched on.

    From Linux 7.3 on there is no switch: another EPP ends it.
    """
    return tree.text(_DYNAMIC_EPP_SWITCH) == "enabled"


def dynamic_epp_off(tree: Tree) -> str:
    """Return the command that turns dynamic EPP off."""
    if known(tree.text(_DYNAMIC_EPP_SWITCH)) is not None:
        return f"echo disabled | sudo tee {_DYNAMIC_EPP_SWITCH}"
    epps = f"{POLICIES}/policy*/{_TEXTS['epp']}"
    return f"echo balance_performance | sudo tee {epps}"


def policy_directories(tree: Tree) -> dict[int, str]:
    """Return the directory with each CPU's frequency files."""
    return {cpu: directory for directory, cpus in _directories(tree) for cpu in cpus}


def governor_label(policy: Policy) -> str:
    """Return the governor with its driver, `powersave (intel_pstate)`, as tables name it."""
    return f"{policy.governor or 'unknown'} ({policy.driver or 'unknown driver'})"


def _directories(tree: Tree) -> list[tuple[str, tuple[int, ...]]]:
    """Return each policy's directory and its CPUs that are online.

    A policy whose CPUs are all offline keeps its files; reading them fails with EBUSY (Linux
    drivers/cpufreq/cpufreq.c, show, since 6.0).
    """
    found = []
    for number in tree.numbered(POLICIES, "policy"):
        directory = f"{POLICIES}/policy{number}"
        cpus = tree.cpulist(f"{directory}/affected_cpus")
        if isinstance(cpus, Unavailable) and cpus.busy:
            cpus = ()
        elif isinstance(cpus, Unavailable):
            cpus = tree.cpulist(f"{directory}/related_cpus")
        found.append((directory, (number,) if isinstance(cpus, Unavailable) else cpus))
    return found


def _policy(tree: Tree, directory: str, cpus: tuple[int, ...]) -> Policy:
    texts = {name: tree.text(f"{directory}/{file}") for name, file in _TEXTS.items()}
    limits = {name: tree.natural(f"{directory}/{file}") for name, file in _LIMITS.items()}
    floor = limits["floor_khz"]
    if isinstance(floor, Unavailable) and floor.missing:
        limits["floor_khz"] = Unavailable("the driver has no floor")
    read = reading_of({**texts, **limits})
    values: dict[str, Any] = dict.fromkeys((*_TEXTS, *_LIMITS)) | read.fields
    values["governors"] = tuple((values["governors"] or "").split())
    name = directory.rpartition("/")[2]
    return Policy(name=name, cpus=cpus, **values, unavailable=read.unavailable)


def read_turbo(tree: Tree) -> bool | None:
    """Return whether turbo is on, on all CPUs; None where the node does not report it."""
    off = known(tree.integer(NO_TURBO))
    if off is not None:
        return off == 0
    on = known(tree.integer(BOOST))
    if not on:
        return None if on is None else False
    return "0" not in policy_boosts(tree).values()


def policy_boosts(tree: Tree) -> dict[str, str]:
    """Return the text of each policy's own switch of turbo, by its path; 1 means on.

    From Linux 6.7 on (commit 218a06a79d9a), drivers have such files beside the node's: that one
    sets all of them, and while it holds 0 the kernel refuses theirs; while it holds 1 one of them
    may hold 0 (drivers/cpufreq/cpufreq.c, cpufreq_boost_trigger_state and store_local_boost).
    """
    paths = (f"{POLICIES}/policy{number}/boost" for number in tree.numbered(POLICIES, "policy"))
    texts = {path: tree.text(path) for path in paths}
    return {path: text for path, text in texts.items() if isinstance(text, str)}


def cooling_states(tree: Tree) -> dict[str, str]:
    """Return the file of each CPU cooling device's state, which is 0 where it does nothing."""
    return {
        name: f"{THERMAL}/{name}/cur_state"
        for name in known(tree.names(THERMAL)) or ()
        if name.startswith("cooling_device")
        and _CPU_COOLING.fullmatch(known(tree.text(f"{THERMAL}/{name}/type")) or "")
    }


def is_cooled(tree: Tree) -> bool:
    """Return whether the kernel lowers the highest frequency of hot CPUs now."""
    return any(known(tree.natural(path)) for path in cooling_states(tree).values())


def read_mode(tree: Tree) -> str | None:
    """Return the mode of the pstate driver; None without such a driver."""
    for driver in ("intel_pstate", "amd_pstate"):
        if status := known(tree.text(f"{CPUS}/{driver}/status")):
            return status
    return None
