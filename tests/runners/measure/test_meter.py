"""A run's meters nest, and are sampled while the program runs."""

from __future__ import annotations

import math

from runners.measure.meter import Meters


class LoggingMeter:
    """A meter that logs its calls."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name, self._calls = name, calls

    def start(self) -> None:
        self._calls.append(f"{self._name} start")

    def sample(self) -> None:
        self._calls.append(f"{self._name} sample")

    def stop(self) -> None:
        self._calls.append(f"{self._name} stop")


def test_the_first_meter_starts_first_and_stops_last() -> None:
    calls: list[str] = []
    meters = Meters((LoggingMeter("outer", calls), LoggingMeter("inner", calls)))
    meters.start()
    meters.stop()
    assert calls == ["outer start", "inner start", "inner stop", "outer stop"]


def test_meters_are_sampled_when_it_is_time_and_not_before() -> None:
    calls: list[str] = []
    meters = Meters((LoggingMeter("outer", calls), LoggingMeter("inner", calls)))
    meters.start()
    calls.clear()
    assert not meters.sample_if_due(-math.inf)
    assert calls == []
    assert meters.sample_if_due(1e30)
    assert calls == ["outer sample", "inner sample"]
    assert not meters.sample_if_due(1e30 / 2)
