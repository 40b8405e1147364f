"""Turbo: frequencies above the base.

intel_pstate has one file for the node, which holds 1 for off; other drivers have one that holds 1
for on, and newer kernels one for each policy beside it (Linux
Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst "The boost file in sysfs",
amd-pstate.rst; pinstudy/runners/node/cpufreq.py, policy_boosts).

intel_pstate lowers its lower limit of performance to what is possible without turbo, and leaves it
there when turbo is on again (drivers/cpufreq/intel_pstate.c, store_no_turbo): it is put back after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pinstudy.base.cpulist import cpulists_by_value
from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import OFF, ON
from pinstudy.runners.node.cpufreq import (
    BOOST,
    CPUS,
    NO_TURBO,
    POLICIES,
    policy_boosts,
    policy_directories,
    read_turbo,
)
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile, listed

FILE = "boost"
FILES = (NO_TURBO, BOOST)
# In percent of the highest performance with turbo.
MIN_PERFORMANCE = f"{CPUS}/intel_pstate/min_perf_pct"
# Each of the node's files, with its texts for on and off.
TEXTS = {NO_TURBO: {ON: "0", OFF: "1"}, BOOST: {ON: "1", OFF: "0"}}
MISSING = f"turbo cannot be switched here: {' and '.join(FILES)} are missing"


class Turbo(Setting):
    """Whether frequencies above the base may be used, on all CPUs of the node."""

    name = "turbo"
    title = "turbo"
    paths = re.compile(
        rf"{POLICIES}/policy[0-9]{{1,5}}/{FILE}|"
        + "|".join(map(re.escape, (*FILES, MIN_PERFORMANCE))),
        re.ASCII,
    )
    texts = WHOLE_NUMBER
    scaling = True

    def read(self, now: Present) -> str | Unavailable:
        """Return ON or OFF, each with its CPUs where policies differ."""
        boosts = policy_boosts(now.tree)
        if not boosts or now.tree.text(BOOST) == TEXTS[BOOST][OFF]:
            turbo = read_turbo(now.tree)
            return Unavailable(MISSING) if turbo is None else (OFF, ON)[turbo]
        folders = policy_directories(now.tree)
        off = {path.rpartition("/")[0] for path, text in boosts.items() if text == "0"}
        return listed(cpulists_by_value({cpu: (ON, OFF)[folders[cpu] in off] for cpu in folders}))

    def is_in_force(self, now: Present, value: str) -> bool:
        """Return whether the node's file and those of all policies have the value."""
        return self.all_hold(now, value)

    def impossible(self, now: Present, value: str) -> str | None:
        found = self.read(now)
        return found.reason if isinstance(found, Unavailable) else None

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the node's file, and those of its policies where they have to be written, too."""
        there = [path for path in FILES if isinstance(now.tree.text(path), str)]
        files = [SettingFile(path, TEXTS[path][value]) for path in there]
        if BOOST in there and value == OFF:
            return files
        return files + [SettingFile(path, TEXTS[BOOST][value]) for path in policy_boosts(now.tree)]


def follows_node(file: SettingFile, asked: Mapping[str, str]) -> bool:
    """Return whether a file is a policy's, which the node's file that a case asks for sets, too."""
    is_off = asked.get(BOOST) == TEXTS[BOOST][OFF]
    return is_off and file.name == FILE and file.path not in FILES
