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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pinstudy.base.reading import Reading, Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpuinfo import first_block
from pinstudy.runners.node.power import POWERCAP
from pinstudy.runners.records.energy import DOMAINS, domain_fields

# Twice the long-term power limit of the hottest packages on sale (500 W).
MAX_POWER_W = 1000.0
# Counters are updated about every millisecond: a read may find the energy of some time before.
_UPDATED_WITHIN_S = 0.01
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
_NAME = re.compile(rf"package-\d+(?:-die-\d+)?|psys(?:-\d+)?|{'|'.join(_SUB_DOMAINS)}", re.ASCII)


@dataclass
class _Account:
    """What one zone has counted so far, from its latest reading, or why that cannot be used."""

    zone: Zone
    last_s: float
    last_uj: int | Unavailable
    total_uj: int = 0


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
        self._accounts = [
            _Account(zone, self._clock(), self._zones.read_uj(zone)) for zone in self._zones.chosen
        ]

    def sample(self) -> None:
        """Read the counters during a run, unless the last reading is recent enough."""
        if self._clock() - self._sampled_s >= self.sample_within_s / _SAMPLES_PER_RANGE:
            self._follow()

    def stop(self) -> None:
        """Read the counters after a run."""
        self._follow()
        self._stop_s = self._sampled_s

    def twin(self) -> PowercapMeter:
        """Return another meter of the same counters."""
        return PowercapMeter(self._zones, self._clock)

    def joules(self) -> dict[str, float]:
        """Read the counters and return the joules by domain since `start`.

        A domain with a failed counter has none.
        """
        self._follow()
        return self._sums()

    def reading(self) -> Reading:
        """Return what was measured between `start` and `stop`.

        Fields: `energy_{pkg,core,uncore,dram,psys}_j`, the sum over packages in joules, gross;
        `energy_window_s`, the seconds between the readings; `energy_source`. A domain with a failed
        counter has a reason and no sum.
        """
        window_s = self._stop_s - self._start_s
        return domain_fields(self._sums(), self.problems(), window_s, "powercap")

    def _sums(self) -> dict[str, float]:
        joules: dict[str, float] = {}
        for account in self._accounts:
            domain = account.zone.domain
            joules[domain] = joules.get(domain, 0.0) + account.total_uj / 1e6
        return joules

    def problems(self) -> dict[str, str]:
        """Return the reason of each domain that cannot be measured, as far as known now."""
        problems = dict(self._zones.unavailable)
        for account in self._accounts:
            if isinstance(account.last_uj, Unavailable):
                problems.setdefault(account.zone.domain, account.last_uj.reason)
        return problems

    def _follow(self) -> None:
        self._sampled_s = self._clock()
        for account in self._accounts:
            self._add(account)

    def _add(self, account: _Account) -> None:
        last_uj = account.last_uj
        if isinstance(last_uj, Unavailable):
            return
        account.last_uj = now_uj = self._zones.read_uj(account.zone)
        if isinstance(now_uj, Unavailable):
            return
        now_s = self._clock()
        passed_s, account.last_s = now_s - account.last_s, now_s
        gained_uj = now_uj - last_uj
        went_back = gained_uj < 0
        if went_back:
            gained_uj += account.zone.range_uj or 0
        most_uj = MAX_POWER_W * 1e6 * (passed_s + _UPDATED_WITHIN_S)
        if gained_uj < 0 or (went_back and gained_uj > most_uj):
            account.last_uj = Unavailable(
                f"{account.zone.path}: the counter went back from {last_uj} to {now_uj} uJ in "
                f"{passed_s:.3g} s, which a wrap-around at max_energy_range_uj does not explain; "
                "sleep and a reload of its driver set it anew"
            )
        elif passed_s > _wrap_s(account.zone):
            account.last_uj = Unavailable(
                f"{account.zone.path}: not read for {passed_s:.0f} s, in which the counter may "
                "have wrapped around unseen"
            )
        account.total_uj += gained_uj


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
    read = {key: _read_name(tree, path) for key, path in paths.items()}
    names = {key: name for key, name in read.items() if isinstance(name, str)}
    only_mmio = all(key.startswith(_MMIO) for key in names)
    unavailable: dict[str, str] = {}
    for key, name in read.items():
        if isinstance(name, Unavailable) and (only_mmio or not key.startswith(_MMIO)):
            harmed = _SUB_DOMAINS if key.count(":") == 2 else DOMAINS
            unavailable |= dict.fromkeys(harmed, name.reason)
    vendor = first_block(tree).get("vendor_id", "")
    chosen: list[Zone] = []
    for key, domain in _domains(names, vendor).items():
        path = paths[key]
        if domain == "core" and vendor in _AMD:
            unavailable["core"] = f"{path}: AMD's counter is of one core, not of all"
        elif domain not in unavailable:
            range_uj = known(tree.natural(f"{path}/max_energy_range_uj")) or None
            chosen.append(Zone(path, domain, range_uj))
    for domain in DOMAINS:
        if all(zone.domain != domain for zone in chosen):
            unavailable.setdefault(domain, f"no {domain} energy counter on this node")
    return Zones(tree, tuple(chosen), unavailable)


def _zone_paths(tree: Tree) -> dict[str, str] | Unavailable:
    """Return the zones' directories by key, which is the directory's name.

    A recorded tree may nest sub-zones in their parents.
    """
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


def _read_name(tree: Tree, path: str) -> str | Unavailable:
    name = tree.text(f"{path}/name")
    if isinstance(name, Unavailable) or _NAME.fullmatch(name):
        return name
    return Unavailable(f"{path}/name holds no RAPL domain's name")


def _domains(names: Mapping[str, str], vendor: str) -> dict[str, str]:
    """Return the domains of the zones that repeat no other, by key; `names` is by key, sorted."""
    tops: dict[str, str] = {}
    seen: set[str] = set()
    for key in sorted(names, key=lambda key: (key.startswith(_MMIO), names[key], key)):
        name = names[key]
        counted = name if vendor == "GenuineIntel" else name.partition("-die-")[0]
        if key.count(":") == 1 and name not in _SUB_DOMAINS and counted not in seen:
            seen.add(counted)
            tops[key] = name.partition("-")[0]
    found: dict[str, str] = {}
    for key, name in names.items():
        if key in tops:
            found[key] = tops[key]
        elif name in _SUB_DOMAINS and tops.get(key.rpartition(":")[0]) == "package":
            found[key] = name
    return found
