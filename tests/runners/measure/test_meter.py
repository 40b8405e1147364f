"""A run's meters nest, and are sampled while the program runs."""

from __future__ import annotations

import math

from runners.measure.meter import Meters


class Written:
    """A meter that writes down what it was asked for."""

    def __init__(self, name: str, asked: list[str]) -> None:
        self._name, self._asked = name, asked

    def start(self) -> None:
        self._asked.append(f"{self._name} start")

    def sample(self) -> None:
        self._asked.append(f"{self._name} sample")

    def stop(self) -> None:
        self._asked.append(f"{self._name} stop")


def test_the_first_meter_starts_first_and_stops_last() -> None:
    asked: list[str] = []
    meters = Meters((Written("outer", asked), Written("inner", asked)))
    meters.start()
    meters.stop()
    assert asked == ["outer start", "inner start", "inner stop", "outer stop"]


def test_meters_are_sampled_when_it_is_time_and_not_before() -> None:
    asked: list[str] = []
    meters = Meters((Written("outer", asked), Written("inner", asked)))
    meters.start()
    asked.clear()
    assert not meters.sample_if_due(-math.inf)
    assert asked == []
    assert meters.sample_if_due(1e30)
    assert asked == ["outer sample", "inner sample"]
    assert not meters.sample_if_due(1e30 / 2)
