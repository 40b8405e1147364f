"""Degrees of each package before and after a run, from the sensor that the node has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pinstudy.base.reading import Reading
from pinstudy.configs.study import TemperatureGate
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.temperature import NO_SENSOR, Gate, Thermometer
from pinstudy.runners.node.topology import Topology
from tests.runners.sensor_trees import ONE_PACKAGE, TWO_PACKAGES, hwmon, zone
from tests.support.trees import write

Devices = dict[str, dict[str, object]]


@pytest.mark.parametrize(
    ("topology", "devices", "zones", "expected"),
    [
        # By its name, on any device.
        (
            ONE_PACKAGE,
            {
                "nvme": {"Composite": 33850, "Package id 0": 99000},
                "coretemp": {"Package id 0": 45000, "Core 0": 47000, "Core 4": 44000},
            },
            *({}, {"package 0": 45.0}),
        ),
        (
            TWO_PACKAGES,
            {"coretemp ": {"Package id 1": 51000}, "coretemp": {"Package id 0": 38000}},
            *({}, {"package 0": 38.0, "package 1": 51.0}),
        ),
        # Without the fans' offset where it says so.
        (ONE_PACKAGE, {"k10temp": {"Tctl": 68000, "Tdie": 48000}}, {}, {"package 0": 48.0}),
        (ONE_PACKAGE, {"k10temp": {"Tctl": 61500, "Tccd1": 59000}}, {}, {"package 0": 61.5}),
        # In the order of their addresses.
        (
            TWO_PACKAGES,
            {"k10temp 0000:00:19.3": {"Tctl": 71000}, "k10temp 0000:00:18.3": {"Tctl": 40000}},
            *({}, {"package 0": 40.0, "package 1": 71.0}),
        ),
        # More sensors than packages are not said to be packages.
        (
            ONE_PACKAGE,
            {"k10temp 0000:00:18.3": {"Tctl": 40000}, "k10temp 0000:00:19.3": {"Tctl": 41000}},
            *({}, {"k10temp 0": 40.0, "k10temp 1": 41.0}),
        ),
        # Thermal zones stand in for a missing driver, in the order of their numbers.
        (
            TWO_PACKAGES,
            {"acpitz": {"Package id 0": 16800}},
            {0: ("acpitz", 27800), 10: ("x86_pkg_temp", 52000), 9: ("x86_pkg_temp", 39000)},
            {"package 0": 39.0, "package 1": 52.0},
        ),
    ],
)
def test_packages_are_told_by_the_devices_of_their_driver(
    tmp_path: Path,
    topology: Topology,
    devices: Devices,
    zones: dict[int, tuple[str, int]],
    expected: dict[str, float],
) -> None:
    for number, (name, values) in enumerate(devices.items()):
        driver, _, pci = name.partition(" ")
        hwmon(tmp_path, number, driver, values, pci)
    for number, (kind, value) in zones.items():
        zone(tmp_path, number, kind, value)
    assert Thermometer(Tree(tmp_path), topology).read_c() == (expected, {})


def test_a_run_has_both_readings_and_no_zero_for_a_sensor_that_vanishes(tmp_path: Path) -> None:
    def around(between: Callable[[], object] = lambda: None) -> Reading:
        meter = Thermometer(Tree(tmp_path), TWO_PACKAGES)
        meter.start()
        between()
        meter.stop()
        return meter.reading()

    names = ("temperature_before_c", "temperature_after_c")
    assert around() == Reading({}, dict.fromkeys(names, NO_SENSOR))
    folder = hwmon(tmp_path, 0, "coretemp", {"Package id 0": 45000})
    gone = hwmon(tmp_path, 1, "coretemp", {"Package id 1": 50000})
    both = {"package 0": 45.0, "package 1": 50.0}
    hotter = around(lambda: write(tmp_path, f"{folder}/temp1_input", 71000))
    assert hotter == Reading(dict(zip(names, (both, both | {"package 0": 71.0}), strict=True)))
    reading = around((tmp_path / gone / "temp1_input").unlink)
    assert reading.fields[names[1]] == {"package 0": 71.0}
    missing = {f"{names[1]}.package 1": "/sys/class/hwmon/hwmon1/temp1_input is missing"}
    assert reading.unavailable == missing
    # The only one that is left, too.
    (tmp_path / folder / "temp1_input").unlink()
    reading = around()
    assert reading.fields == {}
    assert reading.unavailable.keys() == {f"{name}.package {n}" for name in names for n in (0, 1)}


GARBAGE = st.sampled_from([b"", b"hot", b"-273000", b"200000", b"9" * 19, b"45.0"])


@given(st.binary(max_size=40), st.binary(max_size=40) | GARBAGE)
@example(b"", b"\x1c0")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_bytes_are_degrees_or_a_reason(tmp_path: Path, label: bytes, value: bytes) -> None:
    folder = hwmon(tmp_path, 0, "coretemp", {"Package id 0": 45000, "Package id 1": 45000})
    (tmp_path / folder / "temp1_label").write_bytes(label)
    (tmp_path / folder / "temp2_input").write_bytes(value)
    temperatures, problems = Thermometer(Tree(tmp_path), TWO_PACKAGES).read_c()
    if "package 1" in temperatures:
        assert "package 1" not in problems
        assert temperatures["package 1"] == int(value) / 1000
        assert -100 < temperatures["package 1"] < 200
    else:
        assert "/sys/class/hwmon/hwmon0/temp2_input" in problems["package 1"]


class Room:
    """A node that cools by so many kelvins a second, while somebody sleeps."""

    def __init__(self, root: Path, start_c: float, cools_k: float = 0.0) -> None:
        self.now_s = 0.0
        self.celsius, self._cools_k = start_c, cools_k
        self.slept: list[float] = []
        self.in_sleep: Callable[[], object] = lambda: None
        self._input = f"{hwmon(root, 0, 'coretemp', {'Package id 0': 0})}/temp1_input"
        self.root = root
        self.heat(start_c)

    def heat(self, celsius: float) -> None:
        self.celsius = celsius
        write(self.root, self._input, round(celsius * 1000))

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        self.heat(self.celsius - self._cools_k * seconds)
        self.in_sleep()

    def lose_the_sensor(self) -> None:
        (self.root / self._input).unlink()


def gate_of(room: Room, limit_s: float = 120.0, topology: Topology = ONE_PACKAGE) -> Gate:
    rule = TemperatureGate(within_k=5.0, limit_s=limit_s)
    return Gate(rule, Thermometer(Tree(room.root), topology), room.clock, room.sleep)


def nothing(_: str) -> None:
    raise AssertionError("the user was told to wait")


def test_a_cool_package_is_let_pass_at_once(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(room)
    passed = {"gate_wait_s": 0.0, "gate_reached": True}
    for celsius in (50.0, 20.0):
        room.heat(celsius)
        found = gate.wait(nothing)
        assert found == Reading(passed | {"temperature_reference_c": {"package 0": 45.0}})


def test_a_hot_package_is_waited_for_looking_once_a_second(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0, cools_k=2.0)
    gate = gate_of(room)
    room.heat(60.5)
    messages: list[str] = []
    # 60.5 -> at most 50 °C, at 2 K a second: after 5 s it is 50.5, after 6 s 48.5 °C.
    fields = gate.wait(messages.append).fields
    assert (fields["gate_wait_s"], fields["gate_reached"]) == (6.0, True)
    assert room.slept == [1.0] * 6
    assert messages == ["waiting 2 min 00 s at most for package 0 to cool from 60.5 to 50 °C"]


def test_waiting_for_any_package_ends_at_the_limit_and_says_so(tmp_path: Path) -> None:
    hwmon(tmp_path, 1, "coretemp", {"Package id 1": 40000})
    room = Room(tmp_path, 45.0)
    gate = gate_of(room, 1.5, TWO_PACKAGES)
    write(tmp_path, "sys/class/hwmon/hwmon1/temp1_input", 46000)
    messages: list[str] = []
    fields = gate.wait(messages.append).fields
    assert (fields["gate_wait_s"], fields["gate_reached"]) == (1.5, False)
    assert room.slept == [1.0, 0.5]
    assert messages == ["waiting 1.5 s at most for package 1 to cool from 46 to 45 °C"]


def test_without_a_sensor_there_is_a_reason_and_no_waiting(tmp_path: Path) -> None:
    gate = Gate(TemperatureGate(5.0, 120.0), Thermometer(Tree(tmp_path), ONE_PACKAGE))
    assert gate.wait(nothing) == Reading({}, {"gate_wait_s": NO_SENSOR, "gate_reached": NO_SENSOR})


def test_a_sensor_that_vanishes_ends_the_waiting(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(room)
    room.heat(90.0)
    room.in_sleep = room.lose_the_sensor
    reading = gate.wait(lambda _: None)
    assert reading.fields["gate_wait_s"] == 1.0
    assert "gate_reached" not in reading.fields
    assert "temp1_input is missing" in reading.unavailable["gate_reached"]


def test_a_package_that_was_not_there_at_the_start_is_not_judged(tmp_path: Path) -> None:
    gate = gate_of(Room(tmp_path, 45.0))
    gate.resume({"package 7": 30.0})
    reading = gate.wait(nothing)
    assert "gate_reached" not in reading.fields
    assert "package 0 had no temperature" in reading.unavailable["gate_reached"]
