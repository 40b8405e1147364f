"""Energy around a run from perf's power PMU: a system-wide perf that counts nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from base.reading import Measured
from runners.measure.energy.figures import domain_fields
from runners.measure.energy.perf_power import PowerPmu, power_command, read_joules
from runners.measure.perf.stat import PerfStat


class PerfMeter:
    """Counts the power PMU's events from `start` to `stop`; one meter serves many runs.

    The kernel follows the counters by itself, so that `sample` has nothing to do.
    """

    def __init__(
        self, perf: str, pmu: PowerPmu, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Measure with this perf; `clock` gives seconds."""
        self._build = partial(power_command, perf, pmu)
        self._pmu = pmu
        self._clock = clock
        self._stat: PerfStat | None = None
        self._start_s = self._stop_s = 0.0
        self._joules: dict[str, float] = {}
        self._problems: dict[str, str] = {}

    def start(self) -> None:
        """Start perf, which takes some 20 ms, and turn its counters on."""
        self.close()
        self._stat = PerfStat(self._build, held=True)
        self._joules = {}
        self._problems = self._if_any(self._stat.problem)
        self._start_s = self._stop_s = self._clock()

    def sample(self) -> None:
        """Do nothing: perf's counters do not wrap around."""

    def stop(self) -> None:
        """Turn the counters off, then let perf tell them."""
        if self._stat is None:
            return
        self._stat.disable()
        self._stop_s = self._clock()
        output = self._stat.finish()
        self._problems = self._if_any(self._stat.problem)
        self.close()
        if not self._problems:
            self._joules, self._problems = read_joules(output)
            for domain in set(self._pmu.events) - set(self._joules) - set(self._problems):
                self._problems[domain] = f"perf told nothing of {self._pmu.events[domain]}"

    def close(self) -> None:
        """End a perf that was started and not stopped."""
        if self._stat:
            self._stat.close()
            self._stat = None

    def problems(self) -> dict[str, str]:
        """Return why which domains cannot be measured, as far as it is known now."""
        return self._problems | dict(self._pmu.unavailable)

    def reading(self) -> Measured:
        """Return what was measured between `start` and `stop`.

        Fields as those of `runners.measure.energy.powercap.PowercapMeter.reading`.
        """
        window_s = self._stop_s - self._start_s
        return domain_fields(self._joules, self.problems(), window_s, "perf")

    def _if_any(self, problem: str) -> dict[str, str]:
        return dict.fromkeys(self._pmu.events, problem) if problem else {}
