"""A study's energy source: RAPL by powercap or perf, else another meter; and the idle power by it.

Meters count whole packages or more, idle cores and graphics included. So that power is also
measured while the node is idle, under the governor and settings of the next run, because idle power
depends on them. A run's net energy excludes it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pinstudy.base.errors import UserError
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.configs.settings import Settings
from pinstudy.configs.site import EnergyRule, Site
from pinstudy.configs.study import IdlePower, Study
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.measure.energy.battery import find_batteries
from pinstudy.runners.measure.energy.commands import COMMAND, DCMI, command_meter, find_dcmi
from pinstudy.runners.measure.energy.hwmon import find_hwmon
from pinstudy.runners.measure.energy.perf import PerfMeter, find_power_pmu, permission_problem
from pinstudy.runners.measure.energy.powercap import PowercapMeter, find_zones
from pinstudy.runners.measure.energy.sampled import FoundMeter, SampledMeter
from pinstudy.runners.measure.energy.zones import find_power_zones
from pinstudy.runners.measure.perf.events import read_permission
from pinstudy.runners.records.energy import DOMAINS, FIELDS, POWERS, SCOPES, powers

EnergyMeter = PowercapMeter | PerfMeter | SampledMeter
RAPL = ("powercap", "perf")
# By domain of RAPL or by scope, the field of its joules.
_FIELDS = FIELDS | SCOPES


@dataclass(frozen=True)
class EnergySource:
    """A study's energy meter, or None; `reasons` says, by domain, why no source measures it."""

    meter: EnergyMeter | None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> str:
        """What the meter takes in: a key of SCOPES."""
        return self.meter.found.scope if isinstance(self.meter, SampledMeter) else "package"

    @property
    def name(self) -> str:
        """The meter's name, as `energy_source` has it."""
        if isinstance(self.meter, SampledMeter):
            return self.meter.found.name
        return RAPL[0] if isinstance(self.meter, PowercapMeter) else RAPL[1]

    def reading(self) -> Reading:
        """Return what the meter measured last, with the reasons for what it cannot measure."""
        found = self.meter.reading() if self.meter else Reading()
        reasons = {_FIELDS[domain]: why for domain, why in self.reasons.items()}
        return Reading(found.fields, found.unavailable | reasons)

    def at_marks(self) -> tuple[PowercapMeter | None, dict[str, str]]:
        """Return a meter for the regions of a program, which are marked while it runs.

        Without one, also the reason for each domain.
        """
        if isinstance(self.meter, PowercapMeter):
            return self.meter.twin(), {}
        of_whole = f"energy comes from {self.name} here, which tells that of whole runs only"
        return None, dict.fromkeys(DOMAINS, of_whole) | self.reasons


@dataclass(frozen=True)
class AskedMeter:
    """The meter that a study or a site names, empty for the best one; `rule` is the site's."""

    name: str = ""
    rule: EnergyRule | None = None


def asked_meter(study: Study, site: Site | None) -> AskedMeter:
    """Return the meter to measure a study by: the study's own, else its site's."""
    rule = site.energy if site else None
    by_site = "" if rule is None else rule.meter or COMMAND
    return AskedMeter(study.meter or by_site, rule)


ANY_METER = AskedMeter()


def no_energy(reason: str) -> EnergySource:
    """Return the source that measures nothing, for this reason."""
    return EnergySource(None, dict.fromkeys(DOMAINS, reason))


def choose_energy(root: Path, perf: str | None, asked: AskedMeter = ANY_METER) -> EnergySource:
    """Try the meters; return the one that is asked for, else the first that can measure.

    The order: powercap and perf for packages, SCMI, hwmon, batteries, DCMI. `perf` is perf's path,
    None where it is not installed. Sources are never mixed: a domain that the chosen one lacks is
    unavailable. If no source has a whole scope, the first that has another domain is chosen. Raises
    UserError when the node has no meter of that name.
    """
    if asked.name and asked.name not in RAPL:
        return _of_name(root, asked)
    powercap, first = try_powercap(root)
    if "package" not in first and asked.name != RAPL[1]:
        return EnergySource(powercap)
    counting, second = try_perf(root, perf)
    if "package" not in second and asked.name != RAPL[0]:
        return EnergySource(counting)
    if asked.name:
        tried = {RAPL[0]: (powercap, first), RAPL[1]: (counting, second)}
        meter, problems = tried[asked.name]
        return EnergySource(meter if len(problems) < len(DOMAINS) else None, problems)
    both = {
        domain: f"powercap: {first[domain]}; perf: {second[domain]}"
        for domain in DOMAINS
        if domain in first and domain in second
    }
    others = find_meters(root)
    if usable := next((meter for meter in others if not (meter.problem or meter.by_name)), None):
        # A part of a package that RAPL counts alone is not mixed with it.
        apart = dict.fromkeys(DOMAINS, f"energy comes from {usable.name} here")
        return EnergySource(SampledMeter(usable), apart | both)
    refused = [f"{meter.name}: {meter.problem or meter.by_name}" for meter in others]
    both["package"] = "; ".join((both["package"], *refused))
    for meter, problems in ((powercap, first), (counting, second)):
        if len(problems) < len(DOMAINS):
            return EnergySource(meter, {"package": both["package"]})
    return EnergySource(None, both)


def check_meter(root: Path, asked: AskedMeter) -> None:
    """Raise UserError when the node has no meter of the name that is asked for."""
    if asked.name and asked.name not in RAPL:
        _named_meter(root, asked)


def _named_meter(root: Path, asked: AskedMeter) -> FoundMeter:
    found = find_meters(root, asked.rule)
    for meter in found:
        if meter.name == asked.name:
            return meter
    names = ", ".join((*RAPL, *(meter.name for meter in found)))
    raise UserError(f"meter {asked.name!r} is not on this node; expected one of {names}")


def _of_name(root: Path, asked: AskedMeter) -> EnergySource:
    """Return the meter of a name, also where it cannot be used now; raises UserError."""
    meter = _named_meter(root, asked)
    others = dict.fromkeys(DOMAINS, f"the energy of {meter.name} is asked for")
    if meter.scope in others:
        del others[meter.scope]
    if meter.problem:
        others[meter.scope] = f"{meter.name}: {meter.problem}"
    return EnergySource(SampledMeter(meter), others)


def find_meters(root: Path, rule: EnergyRule | None = None) -> list[FoundMeter]:
    """Return the meters beside RAPL, the best first, and the site's own command if `rule` has one.

    Of the meter that `rule` names, scope and update period are as it says.
    """
    found = find_file_meters(root)
    environment = dict(os.environ)
    found += find_dcmi(root, shutil.which(DCMI[0]), environment)
    if rule is None:
        return found
    if rule.command:
        return [*found, command_meter(rule, environment)]
    return [
        replace(meter, scope=rule.scope or meter.scope, update_s=rule.update_s or meter.update_s)
        if meter.name == rule.meter
        else meter
        for meter in found
    ]


def find_file_meters(root: Path) -> list[FoundMeter]:
    """Return the meters beside RAPL that are files of the kernel, the best first."""
    return [*find_power_zones(root), *find_hwmon(root), *find_batteries(root)]


def may_have_energy(root: Path, asked: AskedMeter = ANY_METER) -> bool:
    """Whether a meter is asked for, or files show energy or power; only a trial proves that."""
    return (
        bool(asked.name)
        or "package" not in try_powercap(root)[1]
        or "package" in find_power_pmu(root).events
        or any(not (meter.problem or meter.by_name) for meter in find_file_meters(root))
    )


def try_powercap(root: Path) -> tuple[PowercapMeter, dict[str, str]]:
    """Return the counters' meter, and the reason of each domain that it cannot measure."""
    meter = PowercapMeter(find_zones(root))
    meter.start()
    return meter, meter.problems()


def try_perf(root: Path, perf: str | None) -> tuple[PerfMeter | None, dict[str, str]]:
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
        if self._source.scope not in self._meter.problems():
            end_s += self._rule.duration_s
        try:
            while (left_s := end_s - self._clock()) > 0:
                self.sleep(min(READ_EVERY_S, left_s))
                self._meter.sample()
        finally:
            self._meter.stop()
        energy = self._source.reading()
        found, name = powers(energy), POWERS[self._source.scope]
        why = f"the idle measurement has no energy: {found.unavailable.get(name)}"
        self._power_w[under] = found.fields.get(name, Unavailable(why))
        self._runs[under] = 0
        return energy | found

    def count_run(self, under: Under) -> None:
        """Count one more run under these settings."""
        self._runs[under] += 1

    def power_w(self, under: Under) -> float | Unavailable:
        """Return the scope's idle power in watts under these settings, or why it is not known."""
        if self._rule is None:
            return Unavailable("the study asks for no idle power")
        if self._meter is None:
            return Unavailable(self._source.reasons[self._source.scope])
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
        return None if self._source.scope in self._source.reasons else self._source.meter

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
