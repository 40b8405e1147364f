"""Degrees of each package before and after a run, from the sensor that the node has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from base.reading import Reading
from runners.host.tree import Tree
from runners.measure.conditions.temperature import NO_SENSOR, Thermometer
from runners.node.topology import Topology
from tests.runners.sensor_trees import ONE_PACKAGE, TWO_PACKAGES, hwmon, zone
from tests.support.trees import write


def read(root: Path, topology: Topology = ONE_PACKAGE) -> dict[str, float]:
    temperatures, problems = Thermometer(Tree(root), topology).read_c()
    assert not problems
    return temperatures


def test_coretemp_is_found_by_its_name_on_any_device(tmp_path: Path) -> None:
    hwmon(tmp_path, 0, "nvme", {"Composite": 33850, "Package id 0": 99000})
    hwmon(tmp_path, 4, "coretemp", {"Package id 0": 45000, "Core 0": 47000, "Core 4": 44000})
    assert read(tmp_path) == {"package 0": 45.0}


def test_each_package_of_coretemp_has_its_own_device(tmp_path: Path) -> None:
    hwmon(tmp_path, 2, "coretemp", {"Package id 1": 51000})
    hwmon(tmp_path, 3, "coretemp", {"Package id 0": 38000})
    assert read(tmp_path, TWO_PACKAGES) == {"package 0": 38.0, "package 1": 51.0}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"Tctl": 68000, "Tdie": 48000, "Tccd1": 50000}, 48.0),
        ({"Tctl": 61500, "Tccd1": 59000}, 61.5),
    ],
)
def test_k10temp_without_the_fans_offset_where_it_says_so(
    tmp_path: Path, values: dict[str, object], expected: float
) -> None:
    hwmon(tmp_path, 1, "k10temp", values)
    assert read(tmp_path) == {"package 0": expected}


def test_k10temp_devices_are_packages_in_the_order_of_their_addresses(tmp_path: Path) -> None:
    hwmon(tmp_path, 1, "k10temp", {"Tctl": 71000}, pci="0000:00:19.3")
    hwmon(tmp_path, 2, "k10temp", {"Tctl": 40000}, pci="0000:00:18.3")
    assert read(tmp_path, TWO_PACKAGES) == {"package 0": 40.0, "package 1": 71.0}


def test_more_sensors_than_packages_are_not_said_to_be_packages(tmp_path: Path) -> None:
    hwmon(tmp_path, 1, "k10temp", {"Tctl": 40000}, pci="0000:00:18.3")
    hwmon(tmp_path, 2, "k10temp", {"Tctl": 41000}, pci="0000:00:19.3")
    assert read(tmp_path, ONE_PACKAGE) == {"k10temp 0": 40.0, "k10temp 1": 41.0}


def test_a_thermal_zone_stands_in_for_a_missing_driver(tmp_path: Path) -> None:
    hwmon(tmp_path, 0, "acpitz", {"Package id 0": 16800})
    zone(tmp_path, 0, "acpitz", 27800)
    zone(tmp_path, 10, "x86_pkg_temp", 52000)
    assert read(tmp_path) == {"package 0": 52.0}


def test_zones_count_as_numbers_do(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("value", ["", "hot", "-273000", "200000", "9" * 19, "45.0"])
def test_no_temperature_comes_of_garbage(tmp_path: Path, value: str) -> None:
    hwmon(tmp_path, 0, "coretemp", {"Package id 0": value})
    temperatures, problems = Thermometer(Tree(tmp_path), ONE_PACKAGE).read_c()
    assert temperatures == {}
    assert "/sys/class/hwmon/hwmon0/temp1_input" in problems["package 0"]


@given(st.binary(max_size=40), st.binary(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_bytes_are_a_temperature_or_a_reason(
    tmp_path: Path, label: bytes, value: bytes
) -> None:
    folder = hwmon(tmp_path, 0, "coretemp", {"Package id 0": 45000, "Package id 1": 45000})
    (tmp_path / folder / "temp1_label").write_bytes(label)
    (tmp_path / folder / "temp2_input").write_bytes(value)
    temperatures, problems = Thermometer(Tree(tmp_path), TWO_PACKAGES).read_c()
    assert ("package 1" in temperatures) != ("package 1" in problems)
