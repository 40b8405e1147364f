"""Meters of /sys/class/hwmon: chips that count energy, or tell a power.

Linux Documentation/ABI/testing/sysfs-class-hwmon: `energyN_input` in µJ, `powerN_input` and
`powerN_average` in µW, `powerN_average_interval` and `update_interval` in ms, `powerN_label`. What
a chip measures, its maker's wiring decides: few chips are known to measure all of a board.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.energy.sampled import FoundMeter
from pinstudy.runners.node.power import HWMON, POWER_CHANNEL, SUPPLIES

# Of supplies of boards: Linux drivers/hwmon/ina2xx.c, ina238.c, ina3221.c.
_OF_BOARDS = re.compile(r"ina[23][0-9]{2}|ina3221|ina4230", re.ASCII)
# ACPI's meter of the whole node (drivers/hwmon/acpi_power_meter.c), and what Apple's controller
# calls that (drivers/hwmon/macsmc-hwmon.c, and the device tree's labels).
_OF_NODES = {"power_meter": "", "macsmc_hwmon": "Total System Power"}
_UNKNOWN = "what a chip {chip} measures, its wiring decides"


@dataclass(frozen=True)
class _Channel:
    directory: str
    chip: str
    kind: str
    number: str
    file: str

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.file}"


def find_hwmon(root: Path) -> list[FoundMeter]:
    """Return the meters of the node whose files are under `root`; never raises.

    One is chosen without being named where it alone measures a board, or the node.
    """
    tree = Tree(root)
    found = [_meter(tree, channel) for channel in _channels(tree)]
    free = [meter.name for meter in found if not meter.by_name and not meter.problem]
    if len(free) < 2:
        return found
    several = f"{', '.join(free)} measure parts of it: name the one that is meant"
    return [replace(meter, by_name=meter.by_name or several) for meter in found]


def _channels(tree: Tree) -> Iterator[_Channel]:
    """Yield a channel for each quantity, the average of one that has both."""
    directories = [f"{HWMON}/hwmon{number}" for number in tree.numbered(HWMON, "hwmon")]
    # A battery is shown here, too, by its name there (drivers/power/supply/power_supply_hwmon.c).
    batteries = {name.replace("-", "_") for name in known(tree.names(SUPPLIES)) or ()}
    chips = {
        path: name
        for path in directories
        if (name := known(tree.word(f"{path}/name"))) and name not in batteries
    }
    often = Counter(chips.values())
    for directory, name in chips.items():
        # Numbers of hwmon are given anew at each boot; that of an I2C address is not.
        device = f"{directory}/device"
        place = tree.last_name(device if tree.is_directory(device) else directory)
        chip = f"{name}@{place}" if often[name] > 1 else name
        files: dict[tuple[str, str], str] = {}
        for file in known(tree.names(directory)) or ():
            if match := POWER_CHANNEL.fullmatch(file):
                files.setdefault((match[1], match[2]), file)
        for (kind, number), file in files.items():
            yield _Channel(directory, chip, kind, number, file)


def _meter(tree: Tree, channel: _Channel) -> FoundMeter:
    stem = f"{channel.directory}/{channel.kind}{channel.number}"
    label = known(tree.text(f"{stem}_label")) or ""
    chip = channel.chip.partition("@")[0]
    of_node = chip in _OF_NODES and _OF_NODES[chip] in ("", label)
    of_board = _OF_BOARDS.fullmatch(chip) is not None
    tried = _read(tree, channel.path)
    problem = tried if isinstance(tried, Unavailable) else Unavailable("")
    return FoundMeter(
        f"hwmon:{channel.chip}/{channel.kind}{channel.number}",
        "system" if of_node else "board",
        partial(_read, tree, channel.path),
        "J" if channel.kind == "energy" else "W",
        _update_s(tree, f"{stem}_average_interval", f"{channel.directory}/update_interval"),
        label=label,
        problem=problem.reason,
        grant=f"chmod a+r {channel.path}" if problem.denied else "",
        by_name="" if of_node or of_board else _UNKNOWN.format(chip=chip),
    )


def _read(tree: Tree, path: str) -> float | Unavailable:
    """Return watts or joules."""
    found = tree.natural(path)
    return found if isinstance(found, Unavailable) else found / 1e6


def _update_s(tree: Tree, *paths: str) -> float | None:
    """Return the update period of the first file that tells it, in milliseconds."""
    found = (known(tree.natural(path)) for path in paths)
    return next((period_ms / 1e3 for period_ms in found if period_ms), None)
