"""Meters beside RAPL made by hand, as the kernel's documents of /sys lay them out."""

from __future__ import annotations

from pathlib import Path

from tests.support.power_supplies import add_supply
from tests.support.trees import write


def chip(root: Path, number: int, name: str, device: str = "", **files: object) -> str:
    """Write a chip of hwmon, at an address such as 1-0040; return its folder."""
    folder = f"sys/class/hwmon/hwmon{number}"
    for file, value in {"name": name, **files}.items():
        write(root, f"{folder}/{file}", value)
    if device:
        (root / "sys/devices" / device).mkdir(parents=True)
        (root / folder / "device").symlink_to(f"/sys/devices/{device}")
    return folder


def ina226(root: Path, number: int = 0, device: str = "1-0040", **files: object) -> str:
    """Write a chip that tells 6.25 W every 35 ms."""
    told = {"update_interval": 35, "power1_input": 6_250_000, "curr1_input": 1250}
    return chip(root, number, "ina226", device, **told | files)


def zones(root: Path, control: str, *power_uw: int | None, **files: object) -> None:
    """Write top zones of a control type of powercap, each with a part that does not count."""
    for number, power in enumerate(power_uw):
        for key, name in ((f"{control}:{number}", "soc"), (f"{control}:{number}:0", "cpu")):
            folder = f"sys/class/powercap/{key}"
            for file, value in {"name": f"{name}{number}", **files}.items():
                write(root, f"{folder}/{file}", value)
            if power is not None:
                write(root, f"{folder}/power_uw", power)


def battery(root: Path, name: str = "BAT0", status: str = "Discharging", **files: object) -> None:
    """Write a battery of the node."""
    add_supply(root, name, "Battery", present=1, status=status, **files)
