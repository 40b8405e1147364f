"""A node with all settings that a study may ask for, and values of each.

As a program, it switches them without end, to be killed by a test:

    python -m tests.runners.settings.factors ROOT SEED

What is done between two runs of a study is done here back to back, so that a kill at a random
moment hits the journal and the writes and not the programs between them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from pinstudy.configs.settings import Settings, settings_of
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.settings.node_settings import NodeSettings
from tests.support.governors import GovernorsAlone
from tests.support.trees import CPU, write

ENERGY_AWARE = "proc/sys/kernel/sched_energy_aware"
ITMT = "proc/sys/kernel/sched_itmt_enabled"
CACHE_AWARE = "sys/kernel/debug/sched/llc_balancing/enabled"
NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
PACKAGE = "sys/class/powercap/intel-rapl:0"
MMIO = "sys/class/powercap/intel-rapl-mmio:0"
PLATFORM = "sys/class/powercap/intel-rapl:1"
# Possible together, whichever of them are asked for, but an EPP under the governor performance.
VALUES = {
    "epp": ("balance_power", "power"),
    "max_frequency": ("2.4 GHz", "highest"),
    "min_frequency": ("1 GHz", "lowest"),
    "turbo": ("on", "off"),
    "power_limit": ("65 W", "95 W"),
    "cache_aware": ("on", "off"),
    "energy_aware": ("on", "off"),
    "itmt": ("on", "off"),
}


def distinct_settings(root: Path) -> None:
    """Give policies values that differ, so that no default can pass for a restored value."""
    for cpu in range(24):
        policy = f"{CPU}/cpufreq/policy{cpu}"
        write(root, f"{policy}/scaling_governor", ("powersave", "performance")[cpu % 3 == 0])
        preference = ("performance", "balance_power", "power")[cpu % 3]
        write(root, f"{policy}/energy_performance_preference", preference)
        write(root, f"{policy}/scaling_min_freq", 800000 + 1000 * cpu)
        write(root, f"{policy}/cpuinfo_min_freq", 800000)
        offered = "default performance balance_performance balance_power power"
        write(root, f"{policy}/energy_performance_available_preferences", offered)
    with_other_settings(root)


def with_other_settings(root: Path) -> None:
    """Give a node power limits, turbo and the switches of its scheduler."""
    write(root, NO_TURBO, 0)
    for zone, name, microwatts in (
        (PACKAGE, "package-0", 125_000_000),
        (MMIO, "package-0", 253_000_000),
        (PLATFORM, "psys", 300_000_000),
    ):
        write(root, f"{zone}/name", name)
        write(root, f"{zone}/constraint_0_name", "long_term")
        write(root, f"{zone}/constraint_0_power_limit_uw", microwatts)
        write(root, f"{zone}/constraint_1_name", "short_term")
        write(root, f"{zone}/constraint_1_power_limit_uw", 2 * microwatts)
    write(root, ENERGY_AWARE, 1)
    write(root, ITMT, 1)
    write(root, CACHE_AWARE, "Y")


def all_settings(root: Path) -> dict[str, str]:
    """Return every file of a node that pinstudy may change, and those beside it, by path."""
    folders = [root / CPU / "cpufreq", root / CPU / "intel_pstate", root / "sys/class/powercap"]
    files = [root / path for path in (ENERGY_AWARE, ITMT, CACHE_AWARE)]
    files += [path for folder in folders for path in folder.rglob("*")]
    return {str(path.relative_to(root)): path.read_text() for path in files if path.is_file()}


def some_settings(choice: random.Random) -> tuple[str, Settings]:
    """Return a governor with settings that are possible under it."""
    governor = choice.choice(["performance", "powersave", "current"])
    names = choice.sample(sorted(VALUES), choice.randrange(len(VALUES) + 1))
    values = {name: choice.choice(VALUES[name]) for name in names}
    return ("powersave" if "epp" in values else governor), settings_of(**values)


def main(root: Path, seed: int) -> None:
    choice = random.Random(seed)
    topology = read_topology(root)
    while True:
        settings = NodeSettings(root, topology, environment={})
        try:
            for _ in range(choice.randrange(1, 6)):
                kind = choice.choice(topology.kinds)
                cpus = choice.choice([topology.online, kind.cpus, kind.cpus[:2]])
                governor, asked = some_settings(choice)
                problem = settings.apply(governor, asked, cpus)
                assert problem is None, problem
                print(governor, asked.words, flush=True)
        finally:
            settings.restore()


def text(root: Path, path: str) -> str:
    """Return what a file of a node says."""
    return (root / path).read_text().strip()


def put_back(settings: NodeSettings | GovernorsAlone) -> None:
    """End a study: all that it has changed is as before, and its journal is gone."""
    done = settings.restore()
    assert done is not None and done.problems == {}


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
