"""Meters of /sys/class/powercap beside RAPL: zones of firmware (SCMI) and other control types.

Linux drivers/powercap/arm_scmi_powercap.c, control type `arm-scmi`: `power_uw` is the average over
the constraint's time window, and there is no `energy_uj`. Its zones, and their names, are the
firmware's own. dtpm_cpu.c computes `power_uw` from the energy model and load: no measurement.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.energy.sampled import FoundMeter
from pinstudy.runners.node.power import POWERCAP, SCMI

_RAPL = "intel-rapl"
# Top zones only: others are parts of them.
_TOP = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,60}):[0-9]{1,4}", re.ASCII)
_ESTIMATES = "dtpm computes power from the energy model and load; it measures nothing"


def find_power_zones(root: Path) -> list[FoundMeter]:
    """Return a meter for each control type but RAPL: the sum of its top zones; never raises."""
    tree = Tree(root)
    by_type: dict[str, list[str]] = {}
    for name in known(tree.names(POWERCAP)) or ():
        match = _TOP.fullmatch(name)
        if match and not match[1].startswith(_RAPL):
            by_type.setdefault(match[1], []).append(f"{POWERCAP}/{name}")
    return [_meter(tree, control, zones) for control, zones in by_type.items()]


def _meter(tree: Tree, control: str, zones: list[str]) -> FoundMeter:
    counts = all(known(tree.natural(f"{zone}/energy_uj")) is not None for zone in zones)
    file = "energy_uj" if counts else "power_uw"
    windows = [known(tree.natural(f"{zone}/constraint_0_time_window_us")) for zone in zones]
    renewed = [window_us / 1e6 for window_us in windows if window_us]
    tried = _sum(tree, zones, file)
    by_name = _ESTIMATES if control == "dtpm" else ""
    if control not in (SCMI, "dtpm"):
        by_name = f"what the zones of {control} hold is not known"
    return FoundMeter(
        "scmi" if control == SCMI else f"powercap:{control}",
        "board",
        partial(_sum, tree, zones, file),
        "J" if counts else "W",
        max(renewed) if len(renewed) == len(zones) else None,
        label=" + ".join(known(tree.text(f"{zone}/name")) or "?" for zone in zones),
        problem=tried.reason if isinstance(tried, Unavailable) else "",
        by_name=by_name,
    )


def _sum(tree: Tree, zones: list[str], file: str) -> float | Unavailable:
    """Return the watts or joules of all zones."""
    total_u = 0
    for zone in zones:
        found = tree.natural(f"{zone}/{file}")
        if isinstance(found, Unavailable):
            return found
        total_u += found
    return total_u / 1e6
