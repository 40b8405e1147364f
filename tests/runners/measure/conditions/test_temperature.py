"""Degrees of each package before and after a run, from the sensor that the node has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from base.reading import Reading
from configs.study import TemperatureGate
from runners.host.tree import Tree
from runners.measure.conditions.temperature import (
    NO_SENSOR,
    Gate,
    Thermometer,
)
from runners.node.topology import Topology
from tests.runners.sensor_trees import ONE_PACKAGE, TWO_PACKAGES, hwmon, zone
from tests.support.trees import write


def read(root: Path, topology: Topology = ONE_PACKAGE) -> dict[str, float]:
    temperatures, problems = Thermometer(Tree(root), topology).read_c()
    assert not problems
    return temperatures


Devices = dict[str, dict[str, object]]


@pytest.mark.parametrize(
    ("topology", "devices", "expected"),
    [
        # By its name, on any device.
        (
            ONE_PACKAGE,
            {
                "nvme": {"Composite": 33850, "Package id 0": 99000},
                "coretemp": {"Package id 0": 45000, "Core 0": 47000, "Core 4": 44000},
            },
            {"package 0": 45.0},
        ),
        # Without the fans' offset where it says so.
        (ONE_PACKAGE, {"k10temp": {"Tctl": 68000, "Tdie": 48000}}, {"package 0": 48.0}),
        (ONE_PACKAGE, {"k10temp": {"Tctl": 61500, "Tccd1": 59000}}, {"package 0": 61.5}),
        # In the order of their addresses.
        (
            TWO_PACKAGES,
            {"k10temp 0000:00:19.3": {"Tctl": 71000}, "k10temp 0000:00:18.3": {"Tctl": 40000}},
            {"package 0": 40.0, "package 1": 71.0},
        ),
        # More sensors than packages are not said to be packages.
        (
            ONE_PACKAGE,
            {"k10temp 0000:00:18.3": {"Tctl": 40000}, "k10temp 0000:00:19.3": {"Tctl": 41000}},
            {"k10temp 0": 40.0, "k10temp 1": 41.0},
        ),
    ],
)
def test_packages_are_told_by_the_devices_of_their_driver(
    tmp_path: Path, topology: Topology, devices: Devices, expected: dict[str, float]
) -> None:
    for number, (name, values) in enumerate(devices.items()):
        driver, _, pci = name.partition(" ")
        hwmon(tmp_path, number, driver, values, pci)
    assert read(tmp_path, topology) == expected


def test_each_package_of_coretemp_has_its_own_device(tmp_path: Path) -> None:
    hwmon(tmp_path, 2, "coretemp", {"Package id 1": 51000})
    hwmon(tmp_path, 3, "coretemp", {"Package id 0": 38000})
    assert read(tmp_path, TWO_PACKAGES) == {"package 0": 38.0, "package 1": 51.0}


def test_thermal_zones_stand_in_for_a_missing_driver_in_the_order_of_numbers(
    tmp_path: Path,
) -> None:
    hwmon(tmp_path, 0, "acpitz", {"Package id 0": 16800})
    zone(tmp_path, 0, "acpitz", 27800)
    zone(tmp_path, 10, "x86_pkg_temp", 52000)
    zone(tmp_path, 9, "x86_pkg_temp", 39000)
    assert read(tmp_path, TWO_PACKAGES) == {"package 0": 39.0, "package 1": 52.0}


def test_a_run_has_both_readings(tmp_path: Path) -> None:
    folder = hwmon(tmp_path, 0, "coretemp", {"Package id 0": 45000})
    meter = Thermometer(Tree(tmp_path), ONE_PACKAGE)
    meter.start()
    write(tmp_path, f"{folder}/temp1_input", 88000)
    meter.sample()
    write(tmp_path, f"{folder}/temp1_input", 71000)
    meter.stop()
    assert meter.reading() == Reading(
        {"temperature_before_c": {"package 0": 45.0}, "temperature_after_c": {"package 0": 71.0}}
    )


def test_a_node_without_sensors_says_so_and_has_no_zeros(tmp_path: Path) -> None:
    meter = Thermometer(Tree(tmp_path), ONE_PACKAGE)
    meter.start()
    meter.stop()
    assert meter.reading() == Reading(
        {}, {"temperature_before_c": NO_SENSOR, "temperature_after_c": NO_SENSOR}
    )


def test_a_sensor_that_vanishes_leaves_the_others(tmp_path: Path) -> None:
    hwmon(tmp_path, 0, "coretemp", {"Package id 0": 45000})
    gone = hwmon(tmp_path, 1, "coretemp", {"Package id 1": 50000})
    meter = Thermometer(Tree(tmp_path), TWO_PACKAGES)
    meter.start()
    (tmp_path / gone / "temp1_input").unlink()
    meter.stop()
    reading = meter.reading()
    assert reading.fields["temperature_before_c"] == {"package 0": 45.0, "package 1": 50.0}
    assert reading.fields["temperature_after_c"] == {"package 0": 45.0}
    assert reading.unavailable == {
        "temperature_after_c.package 1": "/sys/class/hwmon/hwmon1/temp1_input is missing"
    }


def test_the_only_sensor_that_vanishes_leaves_its_reason(tmp_path: Path) -> None:
    folder = hwmon(tmp_path, 0, "coretemp", {"Package id 0": 45000})
    meter = Thermometer(Tree(tmp_path), ONE_PACKAGE)
    meter.start()
    (tmp_path / folder / "temp1_input").unlink()
    meter.stop()
    assert meter.reading() == Reading(
        {"temperature_before_c": {"package 0": 45.0}},
        {"temperature_after_c.package 0": "/sys/class/hwmon/hwmon0/temp1_input is missing"},
    )


GARBAGE = st.sampled_from([b"", b"hot", b"-273000", b"200000", b"9" * 19, b"45.0"])


@given(st.binary(max_size=40), st.binary(max_size=40) | GARBAGE)
@example(b"", b"\x1c0")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_bytes_are_a_temperature_or_a_reason(
    tmp_path: Path, label: bytes, value: bytes
) -> None:
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


RULE = TemperatureGate(within_k=5.0, limit_s=120.0)


class Room:
    """A node that cools by so many kelvins a second, while somebody sleeps."""

    def __init__(self, root: Path, start_c: float, cools_k: float = 0.0) -> None:
        self.now_s = 0.0
        self.celsius, self._cools_k = start_c, cools_k
        self.slept: list[float] = []
        self.in_sleep: Callable[[], object] = lambda: None
        self._input = f"{hwmon(root, 0, 'coretemp', {'Package id 0': 0})}/temp1_input"
        self._root = root
        self.heat(start_c)

    def heat(self, celsius: float) -> None:
        self.celsius = celsius
        write(self._root, self._input, round(celsius * 1000))

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        self.heat(self.celsius - self._cools_k * seconds)
        self.in_sleep()

    def lose_the_sensor(self) -> None:
        (self._root / self._input).unlink()


def gate_of(
    root: Path, room: Room, rule: TemperatureGate = RULE, topology: Topology = ONE_PACKAGE
) -> Gate:
    return Gate(rule, Thermometer(Tree(root), topology), room.clock, room.sleep)


def nothing(_: str) -> None:
    raise AssertionError("the user was told to wait")


def test_a_cool_package_is_let_pass_at_once(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room)
    room.heat(50.0)
    assert gate.wait(nothing) == Reading(
        {
            "gate_wait_s": 0.0,
            "gate_reached": True,
            "temperature_reference_c": {"package 0": 45.0},
        }
    )
    room.heat(20.0)
    assert gate.wait(nothing).fields["gate_reached"] is True


def test_a_hot_package_is_waited_for_looking_once_a_second(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0, cools_k=2.0)
    gate = gate_of(tmp_path, room)
    room.heat(60.5)
    messages: list[str] = []
    # 60.5 -> at most 50 °C, at 2 K a second: after 5 s it is 50.5, after 6 s 48.5 °C.
    fields = gate.wait(messages.append).fields
    assert (fields["gate_wait_s"], fields["gate_reached"]) == (6.0, True)
    assert room.slept == [1.0] * 6
    assert messages == ["waiting 2 min 00 s at most for package 0 to cool from 60.5 to 50 °C"]


def test_waiting_ends_at_the_limit_and_says_that_it_was_not_reached(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room, TemperatureGate(5.0, 2.5))
    room.heat(90.0)
    fields = gate.wait(lambda _: None).fields
    assert (fields["gate_wait_s"], fields["gate_reached"]) == (2.5, False)
    assert room.slept == [1.0, 1.0, 0.5]


def test_every_package_counts(tmp_path: Path) -> None:
    hwmon(tmp_path, 1, "coretemp", {"Package id 1": 40000})
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room, TemperatureGate(5.0, 1.0), TWO_PACKAGES)
    write(tmp_path, "sys/class/hwmon/hwmon1/temp1_input", 46000)
    messages: list[str] = []
    assert gate.wait(messages.append).fields["gate_reached"] is False
    assert messages == ["waiting 1 s at most for package 1 to cool from 46 to 45 °C"]


def test_without_a_sensor_there_is_a_reason_and_no_waiting(tmp_path: Path) -> None:
    gate = Gate(
        RULE, Thermometer(Tree(tmp_path), ONE_PACKAGE), lambda: 0.0, lambda _: pytest.fail()
    )
    assert gate.wait(nothing) == Reading({}, {"gate_wait_s": NO_SENSOR, "gate_reached": NO_SENSOR})


def test_a_sensor_that_vanishes_ends_the_waiting(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room)
    room.heat(90.0)
    room.in_sleep = room.lose_the_sensor
    reading = gate.wait(lambda _: None)
    assert reading.fields["gate_wait_s"] == 1.0
    assert "gate_reached" not in reading.fields
    assert "temp1_input is missing" in reading.unavailable["gate_reached"]


def test_a_package_that_was_not_there_at_the_start_is_not_judged(tmp_path: Path) -> None:
    gate = gate_of(tmp_path, Room(tmp_path, 45.0))
    gate.resume({"package 7": 30.0})
    reading = gate.wait(nothing)
    assert "gate_reached" not in reading.fields
    assert "package 0 had no temperature" in reading.unavailable["gate_reached"]
