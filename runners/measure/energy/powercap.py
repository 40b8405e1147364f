"""Energy around a run from the powercap counters, corrected where they wrap around.

A counter is 32 bits wide in hardware: it wraps after 65 kJ on most AMD parts and 262 kJ on most
Intel ones, which is minutes at full load. It counts the gross energy of whole packages, idle cores
and other processes included.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from base.reading import Reading
from runners.host.tree import Unavailable
from runners.measure.energy.figures import domain_fields
from runners.measure.energy.powercap_zones import Zone, Zones

# Twice the long-term power limit of the hottest packages on sale (500 W).
MAX_POWER_W = 1000.0
# The smallest range seen, AMD's; for zones whose own range is unknown.
SMALLEST_RANGE_UJ = 65_532_610_987

# A read interrupts a core of the package: four times as often as needed is often enough.
_SAMPLES_PER_RANGE = 4


@dataclass
class _Account:
    """What one zone has counted so far; `problem` is why that cannot be used."""

    zone: Zone
    last_uj: int = 0
    last_s: float = 0.0
    total_uj: int = 0
    problem: str = ""


class PowercapMeter:
    """Adds up the node's energy counters from `start` to `stop`; one meter serves many runs.

    In between, `sample` must be called at least every `sample_within_s` seconds; it reads nothing
    when called too soon.
    """

    def __init__(self, zones: Zones, clock: Callable[[], float] = time.monotonic) -> None:
        """Measure these zones; `clock` gives seconds."""
        self._zones = zones
        self._clock = clock
        self._accounts: list[_Account] = []
        self._start_s = self._sampled_s = self._stop_s = 0.0

    @property
    def sample_within_s(self) -> float:
        """The seconds after which the first counter could wrap around: range / 1000 W."""
        return min((_wrap_s(zone) for zone in self._zones.chosen), default=float("inf"))

    def start(self) -> None:
        """Read the counters before a run."""
        self._start_s = self._sampled_s = self._stop_s = self._clock()
        self._accounts = [_Account(zone) for zone in self._zones.chosen]
        for account in self._accounts:
            account.last_s = self._clock()
            found = self._zones.read_uj(account.zone)
            if isinstance(found, Unavailable):
                account.problem = found.reason
            else:
                account.last_uj = found

    def sample(self) -> None:
        """Read the counters during a run, unless the last reading is recent enough."""
        if self._clock() - self._sampled_s >= self.sample_within_s / _SAMPLES_PER_RANGE:
            self._follow()

    def stop(self) -> None:
        """Read the counters after a run."""
        self._follow()
        self._stop_s = self._sampled_s

    def reading(self) -> Reading:
        """Return what was measured between `start` and `stop`.

        Fields: `energy_{pkg,core,uncore,dram,psys}_j`, the sum over packages in joules, gross;
        `energy_window_s`, the seconds between the readings; `energy_source`. A domain with a failed
        counter has a reason and no sum.
        """
        joules: dict[str, float] = {}
        for account in self._accounts:
            domain = account.zone.domain
            joules[domain] = joules.get(domain, 0.0) + account.total_uj / 1e6
        return domain_fields(joules, self.problems(), self._stop_s - self._start_s, "powercap")

    def problems(self) -> dict[str, str]:
        """Return the reason of each domain that cannot be measured, as far as known now."""
        problems = dict(self._zones.unavailable)
        for account in self._accounts:
            if account.problem:
                problems.setdefault(account.zone.domain, account.problem)
        return problems

    def _follow(self) -> None:
        self._sampled_s = self._clock()
        for account in self._accounts:
            if not account.problem:
                self._add(account)

    def _add(self, account: _Account) -> None:
        now_uj = self._zones.read_uj(account.zone)
        if isinstance(now_uj, Unavailable):
            account.problem = now_uj.reason
            return
        now_s = self._clock()
        passed_s = now_s - account.last_s
        gained_uj = now_uj - account.last_uj
        if gained_uj < 0:
            gained_uj += account.zone.range_uj or 0
        if gained_uj < 0:
            account.problem = (
                f"{account.zone.path}: the counter went back by {-gained_uj / 1e6:g} J more than "
                "max_energy_range_uj explains"
            )
        elif passed_s > _wrap_s(account.zone):
            account.problem = (
                f"{account.zone.path}: not read for {passed_s:.0f} s, in which the counter may "
                "have wrapped around unseen"
            )
        account.last_uj, account.last_s = now_uj, now_s
        account.total_uj += max(0, gained_uj)


def _wrap_s(zone: Zone) -> float:
    return (zone.range_uj or SMALLEST_RANGE_UJ) / 1e6 / MAX_POWER_W
