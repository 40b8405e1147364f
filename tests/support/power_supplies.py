"""Power supplies as the kernel lists them, for trees of nodes: a laptop on mains and on battery."""

from __future__ import annotations

from pathlib import Path

from tests.support.trees import write

SUPPLIES = "sys/class/power_supply"


def add_supply(root: Path, name: str, type_: str, **files: object) -> None:
    """Write one supply; `files` are those beside its `type`, by their names."""
    for file, text in {"type": type_, **files}.items():
        write(root, f"{SUPPLIES}/{name}/{file}", text)


def plug_in(root: Path) -> None:
    """Make it a laptop whose adapter feeds it, with a full battery."""
    add_supply(root, "AC0", "Mains", online=1)
    add_supply(root, "BAT0", "Battery", present=1, status="Full", scope="System")


def unplug(root: Path) -> None:
    """Make it a laptop on battery."""
    add_supply(root, "AC0", "Mains", online=0)
    add_supply(root, "BAT0", "Battery", present=1, status="Discharging", scope="System")
