"""The node's RAPL energy counters in /sys/class/powercap: which of them count, and which repeat.

Layout: Linux Documentation/power/powercap/powercap.rst. A zone is known by its file `name`; its
number says nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runners.core_pmus import read_cpuinfo

POWERCAP_FOLDER = "sys/class/powercap"
_SUB_DOMAINS = ("core", "uncore", "dram")
DOMAINS = ("package", *_SUB_DOMAINS, "psys")

# energy_uj is 0400 since Linux 5.10 (CVE-2020-8694). Every zone, of either level, is listed there.
GRANT = "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"

_AMD = ("AuthenticAMD", "HygonGenuine")
_MMIO = "intel-rapl-mmio"
_ZONE = re.compile(r"(intel-rapl(?:-mmio)?):\d+(?::\d+)?", re.ASCII)
_PACKAGE = re.compile(r"package-(?P<package>\d+)(?:-die-(?P<die>\d+))?", re.ASCII)
_PSYS = re.compile(r"psys(?:-\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,20}", re.ASCII)


@dataclass(frozen=True)
class Zone:
    """One energy counter: its folder, the domain it counts, where it wraps (microjoules).

    `range_uj` is None when the node does not tell it.
    """

    folder: Path
    domain: str
    name: str
    range_uj: int | None


@dataclass(frozen=True)
class Zones:
    """The zones to add up, none counting what another counts; a reason for each domain without."""

    chosen: tuple[Zone, ...] = ()
    unavailable: dict[str, str] = field(default_factory=dict)

    def of(self, domain: str) -> tuple[Zone, ...]:
        """Return the zones of a domain: one a package, or none."""
        return tuple(zone for zone in self.chosen if zone.domain == domain)


class UnreadableError(Exception):
    """A counter or its name could not be read; the text says why and what helps."""


@dataclass(frozen=True)
class _Named:
    """A zone's folder with its control type, its parent's key and what its name says."""

    key: str
    folder: Path
    name: str

    @property
    def mmio(self) -> bool:
        return self.key.startswith(_MMIO)

    @property
    def parent(self) -> str | None:
        return self.key.rpartition(":")[0] if self.key.count(":") == 2 else None


def find_zones(root: Path) -> Zones:
    """Return the energy counters of the node whose files are under `root`; never raises.

    Left out are zones that repeat others: `intel-rapl-mmio` (the same silicon through other
    registers) where `intel-rapl` has the package, and `package-0-die-1` on other than Intel CPUs,
    where each die shows its socket's counter; Intel's count each die by itself. AMD's `core` zone
    is the energy of one core (MSR C001_029A is per core), so it is left out too. Where a name
    cannot be read there would be a sum without that zone, so there is none.
    """
    folder = root / POWERCAP_FOLDER
    try:
        folders = _zone_folders(folder)
    except FileNotFoundError:
        why = f"{folder} does not exist: no energy counters (usual in virtual machines)"
        return Zones((), dict.fromkeys(DOMAINS, why))
    except OSError as error:
        return Zones((), dict.fromkeys(DOMAINS, f"{folder}: {error.strerror}"))
    if not folders:
        why = f"{folder} has no RAPL zones; as root: modprobe intel_rapl_msr"
        return Zones((), dict.fromkeys(DOMAINS, why))
    named, unreadable = _read_names(folders)
    return _choose(named, unreadable, read_cpuinfo(root).get("vendor_id", ""))


def read_energy_uj(zone: Zone) -> int:
    """Return a zone's counter in microjoules; raises UnreadableError."""
    return _read_whole(zone.folder / "energy_uj")


def _zone_folders(folder: Path) -> dict[str, Path]:
    """Return the zones' folders by key: the class lists both levels, a recorded tree may nest."""
    found = {path.name: path for path in folder.iterdir() if _ZONE.fullmatch(path.name)}
    for path in list(found.values()):
        with contextlib.suppress(OSError):
            for inner in path.iterdir():
                if _ZONE.fullmatch(inner.name):
                    found.setdefault(inner.name, inner)
    return dict(sorted(found.items()))


def _read_names(folders: Mapping[str, Path]) -> tuple[list[_Named], dict[str, str]]:
    """Return every zone with its name, and why others, by key, have none."""
    named: list[_Named] = []
    unreadable: dict[str, str] = {}
    for key, folder in folders.items():
        try:
            named.append(_Named(key, folder, _read_text(folder / "name")))
        except UnreadableError as error:
            unreadable[key] = str(error)
    if any(not zone.mmio for zone in named):
        unreadable = {key: why for key, why in unreadable.items() if not key.startswith(_MMIO)}
    return named, unreadable


def _choose(named: Sequence[_Named], unreadable: Mapping[str, str], vendor: str) -> Zones:
    tops = _top_zones([zone for zone in named if not zone.parent], vendor)
    unavailable: dict[str, str] = {}
    for key, why in unreadable.items():
        unavailable |= dict.fromkeys(_SUB_DOMAINS if key.count(":") == 2 else DOMAINS, why)
    chosen: list[Zone] = []
    for zone in named:
        domain = tops.get(zone.key) or _sub_domain(zone, tops)
        if domain == "core" and vendor in _AMD:
            unavailable["core"] = f"{zone.folder}: AMD's counter is of one core, not of all"
        elif domain and domain not in unavailable:
            chosen.append(Zone(zone.folder, domain, zone.name, _range_uj(zone.folder)))
    for domain in DOMAINS:
        if all(zone.domain != domain for zone in chosen):
            unavailable.setdefault(domain, f"no {domain} energy counter on this node")
    return Zones(tuple(chosen), unavailable)


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


def _range_uj(folder: Path) -> int | None:
    try:
        return _read_whole(folder / "max_energy_range_uj") or None
    except UnreadableError:
        return None


def _read_whole(path: Path) -> int:
    text = _read_text(path)
    if not _WHOLE.fullmatch(text):
        raise UnreadableError(f"{path}: {text[:40]!r} is not a number of microjoules")
    return int(text)


def _read_text(path: Path) -> str:
    try:
        text = path.read_bytes()[:200].decode(errors="replace").strip()
    except PermissionError:
        raise UnreadableError(f"no permission to read {path}; as root: {GRANT}") from None
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror}") from None
    if not text:
        raise UnreadableError(f"{path} is empty")
    return text
