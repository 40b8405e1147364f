"""Powercap trees made by hand, as the kernel's powercap.rst lays them out."""

from __future__ import annotations

from pathlib import Path

from tests.support.trees import CPU

INTEL_RANGE_UJ = 262_143_328_850
AMD_RANGE_UJ = 65_532_610_987

# Zone's key -> (name, energy in microjoules).
INTEL_CLIENT = {
    "intel-rapl:0": ("package-0", 1_000_000),
    "intel-rapl:0:0": ("core", 600_000),
    "intel-rapl:0:1": ("uncore", 5_000),
    "intel-rapl:1": ("psys", 9_000_000),
    "intel-rapl-mmio:0": ("package-0", 1_000_100),
}
TWO_SOCKETS = {
    "intel-rapl:0": ("package-1", 10_000_000),
    "intel-rapl:0:0": ("dram", 1_000_000),
    "intel-rapl:1": ("package-0", 20_000_000),
    "intel-rapl:1:0": ("dram", 2_000_000),
}
DIES = {
    "intel-rapl:0": ("package-0-die-0", 5_000_000),
    "intel-rapl:0:0": ("core", 70_000),
    "intel-rapl:1": ("package-0-die-1", 5_000_030),
    "intel-rapl:1:0": ("core", 80_000),
}


def powercap_tree(
    root: Path,
    zones: dict[str, tuple[str, int]],
    vendor: str = "GenuineIntel",
    range_uj: int = INTEL_RANGE_UJ,
) -> Path:
    """Write the zones below `root`, listed flat as in the kernel's class folder."""
    for key, (name, energy_uj) in zones.items():
        folder = zone_folder(root, key)
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "energy_uj").write_text(f"{energy_uj}\n")
        (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (root / CPU).mkdir(parents=True, exist_ok=True)
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n")
    return root


def zone_folder(root: Path, key: str) -> Path:
    return root / "sys/class/powercap" / key


def set_energy(root: Path, key: str, energy_uj: int) -> None:
    (zone_folder(root, key) / "energy_uj").write_text(f"{energy_uj}\n")
