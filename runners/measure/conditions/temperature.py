"""Temperatures of a node's packages, from the kernel's sensors, before and after a run.

A read may interrupt a CPU of the package (coretemp and x86_pkg_temp read a model-specific register
there), so packages are never read while a program runs. coretemp renews its values once a
second (Linux drivers/hwmon/coretemp.c, show_temp).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from base.reading import Reading
from runners.host.tree import Tree, Unavailable
from runners.measure.meter import BeforeAfterMeter
from runners.node.topology import Topology

HWMON = "/sys/class/hwmon"
ZONES = "/sys/class/thermal"
NO_SENSOR = (
    f"no package temperature: {HWMON} has neither coretemp nor k10temp, and {ZONES} no zone of "
    "type x86_pkg_temp (virtual machines have none; else load the kernel's module coretemp or "
    "k10temp)"
)
# Degrees Celsius; a value outside this range comes from a broken sensor.
LOWEST_C, HIGHEST_C = -60.0, 200.0

_PACKAGE = re.compile(r"Package id ([0-9]{1,4})")
_LABEL = re.compile(r"temp([0-9]{1,4})_label")
# k10temp's labels, best first: Tctl may have an offset for fan control, Tdie has none (Linux
# Documentation/hwmon/k10temp.rst).
_K10_LABELS = ("Tdie", "Tctl")


@dataclass(frozen=True)
class Sensor:
    """One package's sensor: its name (`package 0`), and its file of millidegrees Celsius."""

    package: str
    path: str

    def read_c(self, tree: Tree) -> float | Unavailable:
        """Return the temperature in degrees Celsius."""
        value = tree.integer(self.path)
        if isinstance(value, Unavailable):
            return value
        if not LOWEST_C < value / 1000 < HIGHEST_C:
            return Unavailable(f"{self.path} holds {value}, no temperature in millidegrees Celsius")
        return value / 1000


class Thermometer:
    """A node's package sensors, found once: their numbers change only at boot."""

    def __init__(self, tree: Tree, topology: Topology) -> None:
        self._tree = tree
        self.sensors = find_sensors(tree, topology)

    def read_c(self) -> tuple[dict[str, float], dict[str, str]]:
        """Return degrees Celsius by package, and a reason for each that cannot be read."""
        temperatures: dict[str, float] = {}
        problems: dict[str, str] = {}
        for sensor in self.sensors:
            value = sensor.read_c(self._tree)
            if isinstance(value, Unavailable):
                problems[sensor.package] = value.reason
            else:
                temperatures[sensor.package] = value
        return temperatures, problems


class TemperatureMeter(BeforeAfterMeter["tuple[dict[str, float], dict[str, str]]"]):
    """Reads every package before and after a run; one meter serves many runs."""

    def __init__(self, thermometer: Thermometer) -> None:
        super().__init__(({}, {}))
        self._thermometer = thermometer

    def _read(self) -> tuple[dict[str, float], dict[str, str]]:
        return self._thermometer.read_c()

    def reading(self) -> Reading:
        """Return `temperature_before_c` and `temperature_after_c`: degrees Celsius by package."""
        reading = Reading()
        states = {"temperature_before_c": self._before, "temperature_after_c": self._after}
        for name, (temperatures, problems) in states.items():
            if temperatures:
                reading.fields[name] = temperatures
            elif not problems:
                reading.unavailable[name] = NO_SENSOR
            reading.unavailable.update(
                {f"{name}.{package}": reason for package, reason in problems.items()}
            )
        return reading


def find_sensors(tree: Tree, topology: Topology) -> tuple[Sensor, ...]:
    """Return the packages' sensors: coretemp's, else k10temp's, else x86_pkg_temp's, else none."""
    packages = sorted({core.package for core in topology.cores})
    return (
        _coretemp(tree)
        or _numbered(_k10temp(tree), packages, "k10temp")
        or _numbered(_package_zones(tree), packages, "x86_pkg_temp")
    )


def _coretemp(tree: Tree) -> tuple[Sensor, ...]:
    found = []
    for path, label in _labelled(tree, "coretemp"):
        match = _PACKAGE.fullmatch(label)
        if match:
            found.append(Sensor(f"package {int(match[1])}", path))
    return tuple(found)


def _k10temp(tree: Tree) -> list[str]:
    """Return one input of each k10temp device, in the order of their PCI addresses."""
    devices: dict[str, dict[str, str]] = {}
    for path, label in _labelled(tree, "k10temp"):
        devices.setdefault(path.rpartition("/")[0], {})[label] = path
    return [
        next(inputs[label] for label in _K10_LABELS if label in inputs)
        for device, inputs in sorted(devices.items(), key=lambda item: _pci_address(tree, item[0]))
        if inputs.keys() & set(_K10_LABELS)
    ]


def _pci_address(tree: Tree, device: str) -> str:
    described = tree.text(f"{device}/device/uevent")
    if isinstance(described, Unavailable):
        return device
    match = re.search(r"^PCI_SLOT_NAME=(\S+)$", described, re.MULTILINE)
    return match[1] if match else device


def _package_zones(tree: Tree) -> list[str]:
    zones = [f"{ZONES}/thermal_zone{number}" for number in tree.numbered(ZONES, "thermal_zone")]
    return [f"{zone}/temp" for zone in zones if tree.text(f"{zone}/type") == "x86_pkg_temp"]


def _labelled(tree: Tree, driver: str) -> Iterable[tuple[str, str]]:
    """Yield each input and label of a driver's devices; device numbers do not identify them."""
    for number in tree.numbered(HWMON, "hwmon"):
        device = f"{HWMON}/hwmon{number}"
        if tree.text(f"{device}/name") != driver:
            continue
        names = tree.names(device)
        for match in filter(
            None, map(_LABEL.fullmatch, () if isinstance(names, Unavailable) else names)
        ):
            label = tree.text(f"{device}/{match[0]}")
            if not isinstance(label, Unavailable):
                yield f"{device}/temp{match[1]}_input", label


def _numbered(paths: list[str], packages: list[int], driver: str) -> tuple[Sensor, ...]:
    """Name sensors without a package: by order, if there is one for each package."""
    if len(paths) == len(packages):
        return tuple(
            Sensor(f"package {package}", path)
            for package, path in zip(packages, paths, strict=True)
        )
    return tuple(Sensor(f"{driver} {number}", path) for number, path in enumerate(paths))
