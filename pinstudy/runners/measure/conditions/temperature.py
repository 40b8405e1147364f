"""Temperatures of a node's packages, before and after a run, and waiting until they are cool.

A read may interrupt a CPU of the package (coretemp and x86_pkg_temp read a model-specific register
there), so packages are never read while a program runs. coretemp renews its values once a
second (Linux drivers/hwmon/coretemp.c, show_temp).

The temperature at which a run starts decides how long it may burst above its power limit, so runs
should start equally warm. Waiting can only cool: a package cooler than the reference passes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.base.units import HIGHEST_C, LOWEST_C, duration
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.meter import BeforeAfterMeter
from pinstudy.runners.node.cpufreq import THERMAL
from pinstudy.runners.node.power import HWMON
from pinstudy.runners.node.topology import Topology

if TYPE_CHECKING:
    from pinstudy.configs.study import TemperatureGate

NO_SENSOR = (
    f"no coretemp or k10temp in {HWMON}, no x86_pkg_temp in {THERMAL} (usual in virtual machines; "
    "else load one of them)"
)
# Reading more often than coretemp renews its values would only wake the package.
READ_EVERY_S = 1.0

_PACKAGE = re.compile(r"Package id ([0-9]{1,4})")
_LABEL = re.compile(r"temp([0-9]{1,4})_label")
# k10temp's labels, best first: Tctl may have an offset for fan control, Tdie has none (Linux
# Documentation/hwmon/k10temp.rst).
_K10_LABELS = ("Tdie", "Tctl")


class Thermometer(BeforeAfterMeter["tuple[dict[str, float], dict[str, str]]"]):
    """A node's package sensors, found once: their numbers change only at boot."""

    def __init__(self, tree: Tree, topology: Topology) -> None:
        self._tree = tree
        self.sensors = find_sensors(tree, topology)

    def read_c(self) -> tuple[dict[str, float], dict[str, str]]:
        """Return degrees Celsius by package, and a reason for each that cannot be read."""
        temperatures: dict[str, float] = {}
        problems: dict[str, str] = {}
        for package, path in self.sensors.items():
            value = self._tree.integer(path)
            if isinstance(value, Unavailable):
                problems[package] = value.reason
            elif LOWEST_C < value / 1000 < HIGHEST_C:
                temperatures[package] = value / 1000
            else:
                problems[package] = f"{path} holds {value}, no temperature in millidegrees Celsius"
        return temperatures, problems

    def _read(self) -> tuple[dict[str, float], dict[str, str]]:
        return self.read_c()

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


class Gate:
    """A study's temperature gate; `reference_c` are the packages' temperatures at its start."""

    def __init__(
        self,
        rule: TemperatureGate,
        thermometer: Thermometer,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Use the packages' present temperatures as the reference."""
        self._rule = rule
        self._thermometer = thermometer
        self._clock, self._sleep = clock, sleep
        self.reference_c: Mapping[str, float] = thermometer.read_c()[0]

    def resume(self, reference_c: Mapping[str, float] | None) -> None:
        """Use the temperatures of the study's first attempt as the reference, if there are any."""
        self.reference_c = reference_c or self.reference_c

    def wait(self, notify: Callable[[str], None]) -> Reading:
        """Wait until every package is cool enough, but not longer than the rule's limit.

        Fields: `gate_wait_s`, `gate_reached` (whether all were cool enough in time) and
        `temperature_reference_c`. `notify` is called with a line for the user when waiting begins.
        KeyboardInterrupt passes through.
        """
        if not self._thermometer.sensors:
            return Reading({}, dict.fromkeys(("gate_wait_s", "gate_reached"), NO_SENSOR))
        hot, problem = list[str](), ""

        def too_hot() -> str:
            nonlocal hot, problem
            hot, problem = self._hot()
            return "" if problem else ", ".join(hot)

        waited_s = wait_while(too_hot, self._rule.limit_s, notify, self._clock, self._sleep)
        return reading_of(
            {
                "gate_wait_s": waited_s,
                "gate_reached": Unavailable(problem) if problem else not hot,
                "temperature_reference_c": dict(self.reference_c),
            }
        )

    def _hot(self) -> tuple[list[str], str]:
        """Return a phrase for each package that is too hot, and a sensor's problem, if any."""
        temperatures, problems = self._thermometer.read_c()
        hot = []
        for package, celsius in temperatures.items():
            if package not in self.reference_c:
                problems[package] = f"{package} had no temperature when the study started"
                continue
            highest_c = self.reference_c[package] + self._rule.within_k
            if celsius > highest_c:
                hot.append(f"{package} to cool from {celsius:g} to {highest_c:g} °C")
        for package, reference_c in self.reference_c.items():
            if package not in temperatures:
                lost = f"{package}, of {reference_c:g} °C at the start, has no sensor"
                problems.setdefault(package, lost)
        return hot, next(iter(problems.values()), "")


def wait_while(
    pending: Callable[[], str],
    limit_s: float,
    notify: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> float:
    """Wait, looking once a second, while `pending` says what for; return the seconds waited.

    After `limit_s` seconds waiting ends all the same. `notify` gets a line for the user at first.
    """
    began_s, told = clock(), False
    while (why := pending()) and (waited_s := clock() - began_s) < limit_s:
        if not told:
            notify(f"waiting {duration(limit_s)} at most for {why}")
            told = True
        sleep(min(READ_EVERY_S, limit_s - waited_s))
    return clock() - began_s


def find_sensors(tree: Tree, topology: Topology) -> dict[str, str]:
    """Return the files of millidegrees Celsius by package (`package 0`).

    They are coretemp's, else k10temp's, else x86_pkg_temp's, else none.
    """
    packages = sorted({core.package for core in topology.cores})
    return (
        _coretemp(tree)
        or _numbered(_k10temp(tree), packages, "k10temp")
        or _numbered(_package_zones(tree), packages, "x86_pkg_temp")
    )


def _coretemp(tree: Tree) -> dict[str, str]:
    found = ((_PACKAGE.fullmatch(label), path) for path, label in _labelled(tree, "coretemp"))
    return {f"package {int(match[1])}": path for match, path in found if match}


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
    described = known(tree.text(f"{device}/device/uevent")) or ""
    match = re.search(r"^PCI_SLOT_NAME=(\S+)$", described, re.MULTILINE)
    return match[1] if match else device


def _package_zones(tree: Tree) -> list[str]:
    zones = [f"{THERMAL}/thermal_zone{number}" for number in tree.numbered(THERMAL, "thermal_zone")]
    return [f"{zone}/temp" for zone in zones if tree.text(f"{zone}/type") == "x86_pkg_temp"]


def _labelled(tree: Tree, driver: str) -> Iterable[tuple[str, str]]:
    """Yield each input and label of a driver's devices; device numbers do not identify them."""
    for number in tree.numbered(HWMON, "hwmon"):
        device = f"{HWMON}/hwmon{number}"
        if tree.text(f"{device}/name") != driver:
            continue
        for match in filter(None, map(_LABEL.fullmatch, known(tree.names(device)) or ())):
            label = tree.text(f"{device}/{match[0]}")
            if not isinstance(label, Unavailable):
                yield f"{device}/temp{match[1]}_input", label


def _numbered(paths: list[str], packages: list[int], driver: str) -> dict[str, str]:
    """Name sensors without a package: by order, if there is one for each package."""
    if len(paths) == len(packages):
        return {f"package {package}": path for package, path in zip(packages, paths, strict=True)}
    return {f"{driver} {number}": path for number, path in enumerate(paths)}
