"""A study's energy source: powercap, else perf's power PMU, else none; and the idle power by it.

RAPL counts whole packages, idle cores and graphics included. So the packages' power is also
measured while the node is idle, under the governor and settings of the next run, because idle power
depends on them. A run's net energy excludes it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.configs.settings import Settings
from pinstudy.configs.study import IdlePower
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.measure.energy.perf import PerfMeter, find_power_pmu, permission_problem
from pinstudy.runners.measure.energy.powercap import PowercapMeter, find_zones
from pinstudy.runners.measure.perf.events import read_permission
from pinstudy.runners.records.energy import DOMAINS, FIELDS, powers

EnergyMeter = PowercapMeter | PerfMeter


@dataclass(frozen=True)
class EnergySource:
    """A study's energy meter, or None; `reasons` says, by domain, why no source measures it."""

    meter: EnergyMeter | None
    reasons: dict[str, str] = field(default_factory=dict)

    def reading(self) -> Reading:
        """Return what the meter measured last, with the reasons for what it cannot measure."""
        found = self.meter.reading() if self.meter else Reading()
        reasons = {FIELDS[domain]: why for domain, why in self.reasons.items()}
        return Reading(found.fields, found.unavailable | reasons)

    def at_marks(self) -> tuple[PowercapMeter | None, dict[str, str]]:
        """Return a meter for the regions of a program, which are marked while it runs.

        Without one, also the reason for each domain.
        """
        if isinstance(self.meter, PowercapMeter):
            return self.meter.twin(), {}
        of_perf = "energy comes from perf here, which tells that of whole runs only"
        return None, dict.fromkeys(DOMAINS, of_perf) | self.reasons


def no_energy(reason: str) -> EnergySource:
    """Return the source that measures nothing, for this reason."""
    return EnergySource(None, dict.fromkeys(DOMAINS, reason))


def choose_energy(root: Path, perf: str | None) -> EnergySource:
    """Try the sources; return the first that can measure the packages of the node at `root`.

    `perf` is perf's path, None where it is not installed. Sources are never mixed: a domain that
    the chosen source lacks is unavailable. If no source has the packages, the first that has
    another domain is chosen.
    """
    powercap, first = try_powercap(root)
    if "package" not in first:
        return EnergySource(powercap)
    counting, second = try_perf(root, perf)
    if "package" not in second:
        return EnergySource(counting)
    both = {
        domain: f"powercap: {first[domain]}; perf: {second[domain]}"
        for domain in DOMAINS
        if domain in first and domain in second
    }
    for meter, problems in ((powercap, first), (counting, second)):
        if len(problems) < len(DOMAINS):
            return EnergySource(meter, {"package": both["package"]})
    return EnergySource(None, both)


def may_have_energy(root: Path) -> bool:
    """Whether a source's files show the packages' energy; only a trial proves that it works."""
    return "package" not in try_powercap(root)[1] or "package" in find_power_pmu(root).events


def try_powercap(root: Path) -> tuple[EnergyMeter, dict[str, str]]:
    """Return the counters' meter, and the reason of each domain that it cannot measure."""
    meter = PowercapMeter(find_zones(root))
    meter.start()
    return meter, meter.problems()


def try_perf(root: Path, perf: str | None) -> tuple[EnergyMeter | None, dict[str, str]]:
    """Return the power PMU's meter, and the reason of each domain that it cannot measure."""
    pmu = find_power_pmu(root)
    if not pmu.events:
        return None, dict(pmu.unavailable)
    if perf is None:
        return None, dict.fromkeys(DOMAINS, f"not installed; {for_tools().sentence}")
    meter = PerfMeter(perf, pmu)
    meter.start()
    meter.stop()
    problems = meter.problems()
    # Checked only after the trial: perf may have been granted rights that this process lacks.
    forbidden = permission_problem(read_permission(root))
    if forbidden and len(problems) == len(DOMAINS):
        return None, dict.fromkeys(DOMAINS, forbidden)
    return meter, problems


# Energy counters must be sampled before they wrap around, and Ctrl-C must be handled at once.
READ_EVERY_S = 1.0
# A governor, and the other settings that a case asks for.
Under: TypeAlias = tuple[str, Settings]


class IdleMeasurements:
    """One attempt's measurements: when the next one is due, and the idle power from the latest.

    `under` is what the node is set to (`pinstudy.runners.plan.runs.set_to`).
    """

    def __init__(
        self,
        rule: IdlePower | None,
        source: EnergySource,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`rule` is the study's, None to measure none; `clock` gives seconds."""
        self._rule, self._source = rule, source
        self._clock, self.sleep = clock, sleep
        # By what the node was set to: the latest power, and how many runs were made since.
        self._power_w: dict[Under, float | Unavailable] = {}
        self._runs: Counter[Under] = Counter()

    def due_s(self, under: Under) -> float | None:
        """Return how many seconds the measurement takes that is due; None when none is due."""
        if self._rule is None or self._meter is None:
            return None
        return self._rule.duration_s if self._runs_to_next(under) == 0 else None

    def measure(self, under: Under) -> Reading:
        """Let the node idle for the study's duration; return its energy and its power by domain.

        Fields: those of an energy reading and `power_{pkg,core,uncore,dram,psys}_w`, averages in
        watts. Does not wait when the packages' energy cannot be measured.
        """
        assert self._rule is not None and self._meter is not None
        self._meter.start()
        end_s = self._clock()
        if "package" not in self._meter.problems():
            end_s += self._rule.duration_s
        try:
            while (left_s := end_s - self._clock()) > 0:
                self.sleep(min(READ_EVERY_S, left_s))
                self._meter.sample()
        finally:
            self._meter.stop()
        energy = self._source.reading()
        found = powers(energy)
        why = f"the idle measurement has no energy: {found.unavailable.get('power_pkg_w')}"
        self._power_w[under] = found.fields.get("power_pkg_w", Unavailable(why))
        self._runs[under] = 0
        return energy | found

    def count_run(self, under: Under) -> None:
        """Count one more run under these settings."""
        self._runs[under] += 1

    def power_w(self, under: Under) -> float | Unavailable:
        """Return the packages' idle power in watts under these settings, or why it is not known."""
        if self._rule is None:
            return Unavailable("the study asks for no idle power")
        if self._meter is None:
            return Unavailable(self._source.reasons["package"])
        unmeasured = Unavailable("idle power was not measured before this run")
        return self._power_w.get(under, unmeasured)

    def pending_s(self, pending_runs: Mapping[Under, int]) -> float:
        """Return how many seconds all further measurements take; `pending_runs` is by `under`."""
        if self._rule is None or self._meter is None:
            return 0.0
        return sum(
            self._rule.duration_s
            * measurement_count(runs, self._rule.every, self._runs_to_next(key))
            for key, runs in pending_runs.items()
        )

    @property
    def _meter(self) -> EnergyMeter | None:
        return None if "package" in self._source.reasons else self._source.meter

    def _runs_to_next(self, under: Under) -> int | None:
        """Return how many runs come before the next measurement; None when there is no next one."""
        if under not in self._power_w:
            return 0
        every = self._rule.every if self._rule else None
        return None if every is None else max(0, every - self._runs[under])


def measurement_count(runs: int, every: int | None, to_next: int | None = 0) -> int:
    """Return how many measurements are made before or between `runs` runs under the same settings.

    The next is due after `to_next` more runs (None: never), then one after each `every` runs.
    """
    if to_next is None or runs <= to_next:
        return 0
    return 1 if every is None else 1 + (runs - to_next - 1) // every
