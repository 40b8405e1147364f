"""Runs wait for packages to cool, for so long and no longer."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from base.reading import Reading
from configs.study import TemperatureGate
from runners.host.tree import Tree
from runners.measure.conditions.temperature import (
    NO_SENSOR,
    Gate,
    Thermometer,
    recorded_reference_c,
)
from runners.node.topology import Topology
from tests.runners.sensor_trees import ONE_PACKAGE, TWO_PACKAGES, hwmon
from tests.support.trees import write

RULE = TemperatureGate(within_k=5.0, limit_s=120.0)


class Room:
    """A node that cools by so many kelvins a second, while somebody sleeps."""

    def __init__(self, root: Path, start_c: float, cools_k: float = 0.0) -> None:
        self.now_s = 0.0
        self.celsius, self._cools_k = start_c, cools_k
        self.slept: list[float] = []
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
    told: list[str] = []
    # 60.5 -> at most 50 °C, at 2 K a second: after 5 s it is 50.5, after 6 s 48.5 °C.
    fields = gate.wait(told.append).fields
    assert (fields["gate_wait_s"], fields["gate_reached"]) == (6.0, True)
    assert room.slept == [1.0] * 6
    assert told == ["waiting 2 min 00 s at most for package 0 to cool from 60.5 to 50 °C"]


def test_waiting_ends_at_the_limit_and_says_that_it_was_not_reached(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room, TemperatureGate(5.0, 2.5))
    room.heat(90.0)
    fields = gate.wait(lambda _: None).fields
    assert (fields["gate_wait_s"], fields["gate_reached"]) == (2.5, False)
    assert room.slept == [1.0, 1.0, 0.5]


def test_a_resumed_study_keeps_the_temperature_of_its_first_attempt(tmp_path: Path) -> None:
    room = Room(tmp_path, 70.0, cools_k=10.0)
    gate = gate_of(tmp_path, room)
    gate.resume({"package 0": 45.0})
    fields = gate.wait(lambda _: None).fields
    assert fields["temperature_reference_c"] == {"package 0": 45.0}
    assert fields["gate_wait_s"] == 2.0


def test_an_attempt_without_predecessors_has_its_own(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room)
    gate.resume(None)
    assert gate.wait(nothing).fields["temperature_reference_c"] == {"package 0": 45.0}


def test_every_package_counts(tmp_path: Path) -> None:
    hwmon(tmp_path, 1, "coretemp", {"Package id 1": 40000})
    room = Room(tmp_path, 45.0)
    gate = gate_of(tmp_path, room, TemperatureGate(5.0, 1.0), TWO_PACKAGES)
    write(tmp_path, "sys/class/hwmon/hwmon1/temp1_input", 46000)
    told: list[str] = []
    assert gate.wait(told.append).fields["gate_reached"] is False
    assert told == ["waiting 1 s at most for package 1 to cool from 46 to 45 °C"]


def test_without_a_sensor_there_is_a_reason_and_no_waiting(tmp_path: Path) -> None:
    def sleep(_: float) -> None:
        raise AssertionError("waited")

    gate = Gate(RULE, Thermometer(Tree(tmp_path), ONE_PACKAGE), lambda: 0.0, sleep)
    assert gate.wait(nothing) == Reading({}, {"gate_wait_s": NO_SENSOR, "gate_reached": NO_SENSOR})


def test_a_sensor_that_vanishes_ends_the_waiting(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)

    def sleep(seconds: float) -> None:
        room.sleep(seconds)
        room.lose_the_sensor()

    gate = Gate(RULE, Thermometer(Tree(tmp_path), ONE_PACKAGE), room.clock, sleep)
    room.heat(90.0)
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


def test_ctrl_c_ends_the_waiting(tmp_path: Path) -> None:
    room = Room(tmp_path, 45.0)

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    gate = Gate(RULE, Thermometer(Tree(tmp_path), ONE_PACKAGE), room.clock, interrupted)
    room.heat(90.0)
    with pytest.raises(KeyboardInterrupt):
        gate.wait(lambda _: None)


@pytest.mark.parametrize(
    "value",
    [
        *(None, {}, [], "hot", 45, {"package 0": "45"}, {"package 0": None}),
        *({"package 0": value} for value in (True, math.nan, -math.inf, -1e308, 10**30)),
    ],
)
def test_no_record_makes_a_wrong_reference(value: object) -> None:
    assert recorded_reference_c({"temperature_reference_c": value}) is None


def test_a_record_gives_its_reference_back() -> None:
    reference = {"package 0": 45.0, "package 1": 44}
    assert recorded_reference_c({"temperature_reference_c": reference}) == reference
