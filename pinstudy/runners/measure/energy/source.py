"""The choice of an energy source: powercap, else perf's power PMU, else none with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pinstudy.base.reading import Reading
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.measure.energy.perf import PerfMeter, find_power_pmu, permission_problem
from pinstudy.runners.measure.energy.powercap import PowercapMeter, find_zones
from pinstudy.runners.measure.meter import Meter
from pinstudy.runners.measure.perf.events import read_permission
from pinstudy.runners.records.energy import DOMAINS, FIELDS


class EnergyMeter(Meter, Protocol):
    """Measures energy between `start` and `stop`."""

    def problems(self) -> dict[str, str]:
        """Return the reason of each domain that cannot be measured, as far as known now."""

    def reading(self) -> Reading:
        """Return the joules of each domain, the window in seconds, the source; or the reasons."""


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
