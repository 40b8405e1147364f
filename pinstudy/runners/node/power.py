"""What bounds a node's power: limits of packages and of the platform, mains or battery, profile.

A supply whose `scope` is `Device` feeds a mouse or a keyboard. Every other one that is no battery
(`Mains`, `USB`, `Wireless`, …) is an adapter, and one that is `online` is enough: a laptop may have
several, and a weak one leaves the battery discharging under load. Without such an adapter a battery
that discharges feeds the node. Adapters that are offline prove nothing alone: the firmware of some
laptops says so of one that charges the battery.

A node without a battery is a desktop, a server or a virtual machine. The kernel assumes mains there
(power_supply_is_system_supplied: "most probably"). Here it is not known, because it was not read.

Sources: Linux Documentation/ABI/testing/sysfs-class-power and sysfs-platform_profile;
drivers/power/supply/power_supply_core.c; drivers/usb/typec/ucsi/psy.c, ucsi_psy_get_online (a port
that feeds another device is offline); systemd src/shared/battery-util.c, on_ac_power, which has the
same rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.records.settings_of_runs import BATTERY, MAINS, PowerSupply

POWERCAP = "/sys/class/powercap"
# Linux drivers/powercap/arm_scmi_powercap.c.
SCMI = "arm-scmi"
HWMON = "/sys/class/hwmon"
# Linux Documentation/ABI/testing/sysfs-class-hwmon.
POWER_CHANNEL = re.compile(r"(energy|power)([0-9]{1,3})_(input|average)", re.ASCII)
# Top zones only: intel-rapl:0 is a package or the platform, intel-rapl:0:0 a part of it.
_POWER_ZONE = re.compile(r"intel-rapl(-mmio)?:[0-9]{1,4}")
_CONSTRAINTS = range(3)
# Linux Documentation/power/powercap/powercap.rst, "Constraint names".
LONG_TERM = "long_term"
_NAMES = {
    LONG_TERM: (("pl1_w", "power_w"), ("tau_s", "window_s")),
    "short_term": (("pl2_w", "power_w"),),
}


def long_term_files(tree: Tree) -> dict[str, str] | Unavailable:
    """Return the domain that each file of a long-term limit in microwatts is of, by path."""
    names = tree.names(POWERCAP)
    if isinstance(names, Unavailable):
        return names
    found = {}
    for zone in filter(_POWER_ZONE.fullmatch, names):
        domain = known(tree.text(f"{POWERCAP}/{zone}/name"))
        for number in _CONSTRAINTS:
            constraint = f"{POWERCAP}/{zone}/constraint_{number}"
            if domain and known(tree.text(f"{constraint}_name")) == LONG_TERM:
                found[f"{constraint}_power_limit_uw"] = domain
    return found


def doubt_of_pl1(tree: Tree, zone: str, domain: str) -> str:
    """Return why PL1 of a zone may not be in force; empty where it is.

    The kernel shows 0 where PL1 is disabled, and also where the firmware has locked it, so that it
    is in force (Linux drivers/powercap/intel_rapl_common.c, get_domain_enable).
    """
    path = f"{POWERCAP}/{zone}/enabled"
    if tree.text(path) != "0":
        return ""
    return (
        f"PL1 of {domain} is disabled, or locked by the firmware: the kernel does not tell which "
        f"({path} is 0; `echo 1 > {path}` enables it)"
    )


def read_power_limits(tree: Tree) -> list[dict[str, Any]] | Unavailable:
    """Return every limit: its zone, domain, name, watts, window in seconds.

    A limit that cannot be read has None for its watts, and a `reason`; a long-term one that may not
    be in force has its watts and a `reason`.
    """
    names = tree.names(POWERCAP)
    if isinstance(names, Unavailable):
        return names
    limits = []
    for zone in filter(_POWER_ZONE.fullmatch, names):
        domain = known(tree.text(f"{POWERCAP}/{zone}/name"))
        for number in _CONSTRAINTS:
            constraint = f"{POWERCAP}/{zone}/constraint_{number}"
            power = tree.natural(f"{constraint}_power_limit_uw")
            if isinstance(power, Unavailable) and power.missing:
                continue
            window_us = known(tree.natural(f"{constraint}_time_window_us"))
            limit: dict[str, Any] = {
                "zone": zone,
                "domain": domain,
                "name": known(tree.text(f"{constraint}_name")),
                "power_w": None if isinstance(power, Unavailable) else power / 1e6,
                "window_s": None if window_us is None else window_us / 1e6,
            }
            if isinstance(power, Unavailable):
                limit["reason"] = power.reason
            elif limit["name"] == LONG_TERM and (doubt := doubt_of_pl1(tree, zone, domain or zone)):
                limit["reason"] = doubt
            limits.append(limit)
    return limits or Unavailable(f"{POWERCAP} has no zone with a power limit")


def limits_by_domain(limits: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return `pl1_w` with its `tau_s`, and `pl2_w`, of each domain, as far as they are known.

    Of the two interfaces to one package (MSR and MMIO), the limit that decides counts, with its own
    window.
    """
    found: dict[str, dict[str, float]] = {}
    for (domain, name), limit in deciding_limits(limits).items():
        for field, source in _NAMES.get(name, ()):
            if limit[source] is not None:
                found.setdefault(domain, {})[field] = limit[source]
    return found


def deciding_limits(
    limits: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the limit that decides, by domain and name: the one of the lowest power.

    One that may not be in force decides only where no other does.
    """
    # 0 W is no limit: the interface is there but not in use.
    in_use = [limit for limit in limits if limit["power_w"] and limit["domain"] is not None]
    highest_first = sorted(in_use, key=_power_and_window, reverse=True)
    doubtful_first = sorted(highest_first, key=lambda limit: "reason" not in limit)
    return {(limit["domain"], limit["name"]): limit for limit in doubtful_first}


def long_term_window_s(tree: Tree) -> float | Unavailable:
    """Return tau, over which the long-term limit of a package holds; of several the longest."""
    limits = read_power_limits(tree)
    if isinstance(limits, Unavailable):
        return limits
    found = limits_by_domain(limits)
    windows = [found[name].get("tau_s", 0.0) for name in found if name.startswith("package")]
    return max(windows, default=0.0) or Unavailable(
        f"{POWERCAP} tells no time window (tau) of a package's long-term limit"
    )


def _power_and_window(limit: Mapping[str, Any]) -> tuple[float, float]:
    # Of equal powers, the limit with the shorter window takes effect first.
    return limit["power_w"], math.inf if limit["window_s"] is None else limit["window_s"]


SUPPLIES = "/sys/class/power_supply"
NO_BATTERY = f"{SUPPLIES} has no battery of the node"
# Which frequencies and sleep states the firmware prefers.
PLATFORM_PROFILE = "/sys/firmware/acpi/platform_profile"

_DISCHARGING = "Discharging"
# What a battery does while another supply feeds the node.
_SPARED = frozenset({"Charging", "Full", "Not charging"})


def read_power_supply(tree: Tree) -> PowerSupply | Unavailable:
    """Return what the node runs from, MAINS or BATTERY."""
    names = tree.names(SUPPLIES)
    if isinstance(names, Unavailable):
        return names
    batteries = []
    for directory in supply_directories(tree):
        if tree.word(f"{directory}/type") == "Battery":
            batteries.append(directory)
        elif (known(tree.integer(f"{directory}/online")) or 0) > 0:
            return MAINS
    # Only now: the firmware of a battery may take milliseconds to answer.
    batteries = [path for path in batteries if known(tree.integer(f"{path}/present")) != 0]
    if not batteries:
        return Unavailable(NO_BATTERY)
    statuses = {known(tree.text(f"{path}/status")) for path in batteries}
    if _DISCHARGING in statuses:
        return BATTERY
    if _SPARED & statuses:
        return MAINS
    return Unavailable("no adapter is online, and no battery tells whether it discharges")


def supply_directories(tree: Tree) -> tuple[str, ...]:
    """Return the directories of the node's supplies, without those of devices beside it."""
    names = known(tree.names(SUPPLIES)) or ()
    directories = [f"{SUPPLIES}/{name}" for name in names]
    return tuple(path for path in directories if tree.word(f"{path}/scope") != "Device")
