"""Energy around a run from the node's RAPL counters in /sys/class/powercap.

Layout: Linux Documentation/power/powercap/powercap.rst. A zone is identified by its file `name`;
its number has no meaning. Some zones repeat others and are not added up.

A counter is 32 bits wide in hardware: it wraps after 65 kJ on most AMD parts and 262 kJ on most
Intel ones, which is minutes at full load. It counts the gross energy of whole packages, idle cores
and other processes included.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from base.reading import Reading
from runners.host.tree import Tree, Unavailable, known
from runners.measure.energy.figures import DOMAINS, domain_fields
from runners.node.cpuinfo import first_block
from runners.node.power_limits import POWERCAP

# Twice the long-term power limit of the hottest packages on sale (500 W).
MAX_POWER_W = 1000.0
# The smallest range seen, AMD's; for zones whose own range is unknown.
SMALLEST_RANGE_UJ = 65_532_610_987
# A read interrupts a core of the package: four times as often as needed is often enough.
_SAMPLES_PER_RANGE = 4

_SUB_DOMAINS = ("core", "uncore", "dram")

# energy_uj is 0400 since Linux 5.10 (CVE-2020-8694). The class lists the zones of both levels.
GRANT = f"chmod a+r {POWERCAP}/intel-rapl:*/energy_uj"

_AMD = ("AuthenticAMD", "HygonGenuine")
_MMIO = "intel-rapl-mmio"
_ZONE = re.compile(r"(intel-rapl(?:-mmio)?):\d+(?::\d+)?", re.ASCII)
_PACKAGE = re.compile(r"package-(?P<package>\d+)(?:-die-(?P<die>\d+))?", re.ASCII)
_PSYS = re.compile(r"psys(?:-\d+)?", re.ASCII)


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


@dataclass(frozen=True)
class Zone:
    """One energy counter: its directory, the domain it counts, where it wraps (microjoules).

    `range_uj` is None when the range is 0 or cannot be read.
    """

    path: str
    domain: str
    range_uj: int | None


@dataclass(frozen=True)
class Zones:
    """The zones to add up, none of which repeats another; a reason for each domain without one."""

    tree: Tree
    chosen: tuple[Zone, ...] = ()
    unavailable: dict[str, str] = field(default_factory=dict)

    def read_uj(self, zone: Zone) -> int | Unavailable:
        """Return a zone's counter in microjoules, or why it cannot be read and the remedy."""
        found = self.tree.natural(f"{zone.path}/energy_uj")
        if isinstance(found, Unavailable) and found.reason.startswith("no permission"):
            return Unavailable(f"{found.reason}; as root: {GRANT}")
        return found

    def problems(self) -> dict[str, str]:
        """Return the reason of each domain that cannot be read now."""
        found = dict(self.unavailable)
        for zone in self.chosen:
            value = self.read_uj(zone)
            if isinstance(value, Unavailable):
                found.setdefault(zone.domain, value.reason)
        return found


@dataclass(frozen=True)
class _Named:
    """A zone's key (its directory's name), its path, and what its file `name` holds."""

    key: str
    path: str
    name: str

    @property
    def mmio(self) -> bool:
        return self.key.startswith(_MMIO)

    @property
    def parent(self) -> str | None:
        return self.key.rpartition(":")[0] if self.key.count(":") == 2 else None


def find_zones(root: Path) -> Zones:
    """Return the energy counters of the node whose files are under `root`; never raises.

    Zones that repeat others are left out: `intel-rapl-mmio` (the same silicon through other
    registers) where `intel-rapl` has the package, and `package-0-die-1` on CPUs that are not
    Intel's, where each die shows its socket's counter; Intel's dies have counters of their own.
    AMD's `core` zone is left out too: it is the energy of one core (MSR C001_029A is per core).
    A zone whose name cannot be read, or is none of the kernel's (rapl_domain_names in
    drivers/powercap/intel_rapl_common.c), would be missing in a sum, so there is no sum.
    """
    tree = Tree(root)
    paths = _zone_paths(tree)
    if isinstance(paths, Unavailable):
        return Zones(tree, (), dict.fromkeys(DOMAINS, paths.reason))
    named, unreadable = _read_names(tree, paths)
    chosen, unavailable = _choose(named, unreadable, first_block(tree).get("vendor_id", ""))
    zones = (
        Zone(zone.path, domain, known(tree.natural(f"{zone.path}/max_energy_range_uj")) or None)
        for zone, domain in chosen
    )
    return Zones(tree, tuple(zones), unavailable)


def _zone_paths(tree: Tree) -> dict[str, str] | Unavailable:
    """Return the zones' directories by key; a recorded tree may nest sub-zones in their parents."""
    names = tree.names(POWERCAP)
    if isinstance(names, Unavailable):
        usual = ": no energy counters (usual in virtual machines)" if names.missing else ""
        return Unavailable(f"{names.reason}{usual}")
    found = {name: f"{POWERCAP}/{name}" for name in names if _ZONE.fullmatch(name)}
    if not found:
        return Unavailable(f"{POWERCAP} has no RAPL zones; as root: modprobe intel_rapl_msr")
    for path in list(found.values()):
        for name in known(tree.names(path)) or ():
            if _ZONE.fullmatch(name):
                found.setdefault(name, f"{path}/{name}")
    return dict(sorted(found.items()))


def _read_names(tree: Tree, paths: Mapping[str, str]) -> tuple[list[_Named], dict[str, str]]:
    """Return the zones with a valid name, and by key the reasons of the others."""
    named: list[_Named] = []
    unreadable: dict[str, str] = {}
    for key, path in paths.items():
        name = tree.text(f"{path}/name")
        if isinstance(name, Unavailable):
            unreadable[key] = name.reason
        elif not _is_domain(name):
            unreadable[key] = f"{path}/name holds no RAPL domain's name"
        else:
            named.append(_Named(key, path, name))
    if any(not zone.mmio for zone in named):
        unreadable = {key: why for key, why in unreadable.items() if not key.startswith(_MMIO)}
    return named, unreadable


def _is_domain(name: str) -> bool:
    return bool(name in _SUB_DOMAINS or _PACKAGE.fullmatch(name) or _PSYS.fullmatch(name))


def _choose(
    named: Sequence[_Named], unreadable: Mapping[str, str], vendor: str
) -> tuple[list[tuple[_Named, str]], dict[str, str]]:
    """Return the zones to use with their domains, and a reason for every domain without one."""
    tops = _top_zones([zone for zone in named if not zone.parent], vendor)
    unavailable: dict[str, str] = {}
    for key, why in unreadable.items():
        unavailable |= dict.fromkeys(_SUB_DOMAINS if key.count(":") == 2 else DOMAINS, why)
    chosen: list[tuple[_Named, str]] = []
    for zone in named:
        domain = tops.get(zone.key) or _sub_domain(zone, tops)
        if domain == "core" and vendor in _AMD:
            unavailable["core"] = f"{zone.path}: AMD's counter is of one core, not of all"
        elif domain and domain not in unavailable:
            chosen.append((zone, domain))
    for domain in DOMAINS:
        if all(of != domain for _, of in chosen):
            unavailable.setdefault(domain, f"no {domain} energy counter on this node")
    return chosen, unavailable


def _top_zones(zones: Iterable[_Named], vendor: str) -> dict[str, str]:
    """Return the domains of the top zones to use, by key."""
    used: dict[str, str] = {}
    seen: set[str] = set()
    for zone in sorted(zones, key=lambda zone: (zone.mmio, _die(zone), zone.key)):
        package = _PACKAGE.fullmatch(zone.name)
        if package:
            per_die = package["die"] is not None and vendor == "GenuineIntel"
            what, domain = zone.name if per_die else f"package-{package['package']}", "package"
        elif _PSYS.fullmatch(zone.name):
            what, domain = zone.name, "psys"
        else:
            continue
        if what not in seen:
            seen.add(what)
            used[zone.key] = domain
    return used


def _die(zone: _Named) -> int:
    match = _PACKAGE.fullmatch(zone.name)
    return int(match["die"] or 0) if match else 0


def _sub_domain(zone: _Named, tops: Mapping[str, str]) -> str | None:
    within = tops.get(zone.parent or "")
    return zone.name if within == "package" and zone.name in _SUB_DOMAINS else None
