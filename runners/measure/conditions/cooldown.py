"""Waiting before a run until the packages are as cool as they were when the study started.

The temperature at which a run starts decides how long it may burst above its power limit, so runs
should start equally warm. Waiting can only cool: a package cooler than the reference passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from base.reading import Reading
from base.units import duration
from configs.study import TemperatureGate
from runners.measure.conditions.temperature import HIGHEST_C, LOWEST_C, NO_SENSOR, Thermometer

# coretemp renews its values once a second; reading more often would only wake the package.
LOOK_EVERY_S = 1.0


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

    def wait(self, tell: Callable[[str], None]) -> Reading:
        """Wait until every package is cool enough, but not longer than the rule's limit.

        Fields: `gate_wait_s`, `gate_reached` (whether all were cool enough in time) and
        `temperature_reference_c`. `tell` is called with a line for the user when waiting begins.
        KeyboardInterrupt passes through.
        """
        if not self._thermometer.sensors:
            return _unknown(NO_SENSOR)
        began_s = self._clock()
        told = False
        while True:
            hot, problem = self._hot()
            waited_s = self._clock() - began_s
            if problem or not hot or waited_s >= self._rule.limit_s:
                break
            if not told:
                tell(f"waiting {duration(self._rule.limit_s)} at most for {', '.join(hot)}")
                told = True
            self._sleep(min(LOOK_EVERY_S, self._rule.limit_s - waited_s))
        reading = Reading(
            {"gate_wait_s": waited_s, "temperature_reference_c": dict(self.reference_c)}
        )
        if problem:
            reading.unavailable["gate_reached"] = problem
        else:
            reading.fields["gate_reached"] = not hot
        return reading

    def _hot(self) -> tuple[list[str], str]:
        """Return a phrase for each package that is too hot, and a sensor's problem, if any."""
        temperatures, problems = self._thermometer.read_c()
        for package, reference_c in self.reference_c.items():
            if package not in temperatures and package not in problems:
                problems[package] = f"{package}, of {reference_c:g} °C at the start, has no sensor"
        hot = [
            f"{package} to cool from {celsius:g} to {highest_c:g} °C"
            for package, celsius in temperatures.items()
            if celsius > (highest_c := self._highest_c(package))
        ]
        missing = [package for package in temperatures if package not in self.reference_c]
        if missing:
            return hot, f"{missing[0]} had no temperature when the study started"
        return hot, next(iter(problems.values()), "")

    def _highest_c(self, package: str) -> float:
        return self.reference_c.get(package, float("inf")) + self._rule.within_k


def recorded_reference_c(record: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the start-of-study temperatures that a record holds, or None when it holds none."""
    found = record.get("temperature_reference_c")
    if not isinstance(found, dict) or not found:
        return None
    return found if all(map(_is_temperature, found.values())) else None


def _is_temperature(value: object) -> bool:
    # NaN is not in the range either.
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and LOWEST_C < value < HIGHEST_C
    )


def _unknown(reason: str) -> Reading:
    return Reading({}, dict.fromkeys(("gate_wait_s", "gate_reached"), reason))
