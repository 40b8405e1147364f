"""The mean power of the packages before a run, and waiting until it is low.

A package may draw more than its long-term limit (PL1) as long as a moving average of its power
over about tau seconds stays below that limit (Intel SDM volume 3B, "Package RAPL Domain"; tau is
powercap's `time_window_us`). So what it took in the last tau seconds decides how long a run may
burst: it is the run's turbo budget.

Counters are read before and after each run, and in a run only as often as they could wrap around: a
read interrupts a core. Between two readings power counts as constant.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.base.units import duration
from pinstudy.runners.measure.conditions.temperature import wait_while
from pinstudy.runners.measure.energy.powercap import PowercapMeter, Zones

if TYPE_CHECKING:
    from pinstudy.configs.study import PowerGate

_PACKAGE = "package"
# Rounding of the clock.
_SLACK_S = 1e-6


class PowerBefore:
    """A meter of the packages' mean power over a window before a run.

    It remembers the joules counted so far at each reading. `problem` is why there will be none.
    """

    def __init__(
        self,
        zones: Zones | Unavailable,
        window_s: float | Unavailable,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`window_s` is tau in seconds, or why it is not known; `clock` gives seconds."""
        self._clock = clock
        self._window_s = window_s
        self.problem = next((u.reason for u in (zones, window_s) if isinstance(u, Unavailable)), "")
        if isinstance(zones, Zones):
            packages = tuple(zone for zone in zones.chosen if zone.domain == _PACKAGE)
            self.problem = zones.unavailable.get(_PACKAGE, "") or self.problem
            self._meter = PowercapMeter(replace(zones, chosen=packages), clock)
        self._times_s: list[float] = []
        self._joules: list[float] = []
        self._before: float | Unavailable = Unavailable(self.problem)

    def start(self) -> None:
        """Read the counters, and keep the mean power before this run."""
        self._before = self.mean_w()

    def sample(self) -> None:
        """Read the counters if they could wrap around unseen."""
        if self._times_s and self._clock() - self._times_s[-1] >= self._meter.sample_within_s / 4:
            self._look()

    def stop(self) -> None:
        """Read the counters."""
        if not self.problem:
            self._look()

    def reading(self) -> Reading:
        """Return `power_before_w`, watts of all packages, and `power_before_window_s`."""
        found = reading_of({"power_before_w": self._before})
        if "power_before_w" in found.fields:
            found.fields["power_before_window_s"] = self._window_s
        return found

    def mean_w(self) -> float | Unavailable:
        """Read the counters; return the mean watts of all packages over the window until now."""
        if self.problem or isinstance(self._window_s, Unavailable):
            return Unavailable(self.problem)
        if why := self._look():
            return Unavailable(why)
        end_s = self._times_s[-1]
        begin_s = end_s - self._window_s
        if self._times_s[0] > begin_s + _SLACK_S:
            # The same for every run, because a record's reasons take most of its room.
            return Unavailable(f"energy was read for less than {duration(self._window_s)} before")
        return max(0.0, (self._joules[-1] - self._joules_at(begin_s)) / self._window_s)

    def _joules_at(self, moment_s: float) -> float:
        """Return the joules counted until a moment that lies between two readings."""
        at = min(max(bisect_right(self._times_s, moment_s), 1), len(self._times_s) - 1)
        (first_s, last_s), (first, last) = (
            values[at - 1 : at + 1] for values in (self._times_s, self._joules)
        )
        passed_s = last_s - first_s
        return first + (last - first) * ((moment_s - first_s) / passed_s if passed_s else 0.0)

    def _look(self) -> str:
        """Read the counters and return why they tell nothing; then the next look begins anew."""
        now_s = self._clock()
        if not self._times_s or now_s - self._times_s[-1] > self._meter.sample_within_s:
            self._meter.start()
            self._times_s, self._joules = [], []
        joules, why = self._meter.joules(), self._meter.problems().get(_PACKAGE, "")
        if why:
            self._times_s, self._joules = [], []
            return why
        self._times_s.append(now_s)
        self._joules.append(joules[_PACKAGE])
        self._forget(now_s)
        return ""

    def _forget(self, now_s: float) -> None:
        """Forget all but one of the readings from before the window."""
        window_s = 0.0 if isinstance(self._window_s, Unavailable) else self._window_s
        old = max(0, bisect_right(self._times_s, now_s - window_s) - 1)
        del self._times_s[:old], self._joules[:old]


def wait_for_power(
    rule: PowerGate,
    power: PowerBefore,
    notify: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Reading:
    """Wait until the mean power is known and low enough, but not longer than the rule's limit.

    Fields: `power_gate_wait_s` and `power_gate_reached`. `notify` is called with a line for the
    user when waiting begins. KeyboardInterrupt passes through.
    """
    if power.problem:
        return Reading(
            {}, dict.fromkeys(("power_gate_wait_s", "power_gate_reached"), power.problem)
        )
    mean_w: float | Unavailable = Unavailable("")

    def high() -> str:
        nonlocal mean_w
        mean_w = power.mean_w()
        if isinstance(mean_w, Unavailable):
            return f"power before the run to be known and at most {rule.below_w:g} W"
        if mean_w <= rule.below_w:
            return ""
        return f"mean power to fall from {mean_w:.1f} to {rule.below_w:g} W"

    waited_s = wait_while(high, rule.limit_s, notify, clock, sleep)
    reached = mean_w if isinstance(mean_w, Unavailable) else mean_w <= rule.below_w
    return reading_of({"power_gate_wait_s": waited_s, "power_gate_reached": reached})
