"""Sensor and throttle files made by hand, as the kernel's drivers lay them out."""

from __future__ import annotations

from pathlib import Path

from pinstudy.runners.node.topology import Core, Topology
from tests.support.trees import CPU, write


def topology(*cores: tuple[tuple[int, ...], int]) -> Topology:
    """Return a node of these cores: the CPUs of each, and its package."""
    made = tuple(Core(cpus, "P", package) for cpus, package in cores)
    online = tuple(sorted(cpu for core in made for cpu in core.cpus))
    return Topology((), made, (), (), online, (), online)


# Two packages of two cores; the first package's cores have two CPUs each.
TWO_PACKAGES = topology(((0, 1), 0), ((2, 3), 0), ((4,), 1), ((5,), 1))
ONE_PACKAGE = topology(((0, 1), 0), ((2,), 0))


def hwmon(root: Path, number: int, driver: str, values: dict[str, object], pci: str = "") -> str:
    """Write one device with inputs by label, in millidegrees; return its folder."""
    folder = f"sys/class/hwmon/hwmon{number}"
    write(root, f"{folder}/name", driver)
    for index, (label, value) in enumerate(values.items(), 1):
        write(root, f"{folder}/temp{index}_label", label)
        write(root, f"{folder}/temp{index}_input", value)
    if pci:
        write(root, f"{folder}/device/uevent", f"DRIVER={driver}\nPCI_SLOT_NAME={pci}")
    return folder


def zone(root: Path, number: int, type_: str, value: object) -> None:
    """Write one thermal zone, in millidegrees."""
    write(root, f"sys/class/thermal/thermal_zone{number}/type", type_)
    write(root, f"sys/class/thermal/thermal_zone{number}/temp", value)


def throttle(root: Path, cpu: int, **values: object) -> None:
    """Write counters of one CPU: `core_throttle_count=3`."""
    for name, value in values.items():
        write(root, f"{CPU}/cpu{cpu}/thermal_throttle/{name}", value)
