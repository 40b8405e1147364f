"""The node's batteries as a meter of all that it takes, as long as they alone feed it.

Linux Documentation/ABI/testing/sysfs-class-power: `power_now` in µW, `current_now` in µA,
`voltage_now` in µV, of which some drivers give a discharging battery's with a minus sign; where
both are missing `energy_now` in µWh. How often they are renewed, the battery's controller decides
and no file tells: seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.energy.sampled import FoundMeter
from pinstudy.runners.node.power import SUPPLIES, read_power_supply, supply_directories
from pinstudy.runners.records.settings_of_runs import MAINS

# Taken for granted: embedded controllers ask their batteries every few seconds.
UPDATE_S = 5.0
_DISCHARGING = "Discharging"


def find_batteries(root: Path) -> list[FoundMeter]:
    """Return one meter of all the batteries together; none on a node without any; never raises."""
    tree = Tree(root)
    batteries = [
        path
        for path in supply_directories(tree)
        if tree.word(f"{path}/type") == "Battery" and known(tree.integer(f"{path}/present")) != 0
    ]
    if not batteries:
        return []
    counts = all(isinstance(_watts(tree, path), Unavailable) for path in batteries) and all(
        known(tree.natural(f"{path}/energy_now")) is not None for path in batteries
    )
    read = partial(read_batteries, tree, batteries, _used_j if counts else _watts)
    tried = read()
    names = "+".join(path.removeprefix(f"{SUPPLIES}/") for path in batteries)
    return [
        FoundMeter(
            f"battery:{names}",
            "system",
            read,
            "J" if counts else "W",
            UPDATE_S,
            problem=tried.reason if isinstance(tried, Unavailable) else "",
            grant="disconnect the adapter" if read_power_supply(tree) == MAINS else "",
        )
    ]


def read_batteries(
    tree: Tree, batteries: list[str], value_of: Callable[[Tree, str], float | Unavailable]
) -> float | Unavailable:
    """Return the sum over the batteries that feed the node; why not where something else does."""
    if read_power_supply(tree) == MAINS:
        return Unavailable("the adapter feeds the node: batteries tell its power only without one")
    total = 0.0
    discharging = False
    for battery in batteries:
        status = tree.text(f"{battery}/status")
        if isinstance(status, Unavailable):
            return status
        discharging |= status == _DISCHARGING
        # One that rests beside another gives no power; what it has given before still counts.
        if status == _DISCHARGING or value_of is _used_j:
            value = value_of(tree, battery)
            if isinstance(value, Unavailable):
                return value
            total += value
    return total if discharging else Unavailable("no battery is discharging")


def _used_j(tree: Tree, battery: str) -> float | Unavailable:
    """Return what is left, as joules below 0, which rise as it is used."""
    left_uwh = tree.natural(f"{battery}/energy_now")
    return left_uwh if isinstance(left_uwh, Unavailable) else -left_uwh * 3.6e-3


def _watts(tree: Tree, battery: str) -> float | Unavailable:
    power_uw = tree.integer(f"{battery}/power_now")
    if not isinstance(power_uw, Unavailable):
        return abs(power_uw) / 1e6
    current_ua, voltage_uv = (
        tree.integer(f"{battery}/{name}") for name in ("current_now", "voltage_now")
    )
    if isinstance(current_ua, Unavailable):
        return Unavailable(f"{power_uw.reason}, and {current_ua.reason}")
    if isinstance(voltage_uv, Unavailable):
        return voltage_uv
    return abs(current_ua) * voltage_uv / 1e12
