"""What a node runs from, mains or battery, and its platform profile: both decide its limits.

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

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.records.settings_of_runs import BATTERY, MAINS, PowerSupply

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
