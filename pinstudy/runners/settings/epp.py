"""The energy performance preference (EPP) of pstate drivers.

Under the governor performance it is always `performance`: intel_pstate and amd-pstate refuse
others then in active mode (Linux Documentation/admin-guide/pm/intel_pstate.rst, "Energy vs
Performance Hints", and drivers/cpufreq/amd-pstate.c, store_energy_performance_preference). With
intel_pstate in passive mode no governor moves it (intel_pstate.c, function of the same name).
"""

from __future__ import annotations

import re

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import CURRENT, EPPS
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import EPP_IS_DYNAMIC, POLICIES, is_epp_locked
from pinstudy.runners.settings.governor import FILE as GOVERNOR
from pinstudy.runners.settings.governor import PERFORMANCE
from pinstudy.runners.settings.setting import Present, Setting, SettingFile

FILE = "energy_performance_preference"
AVAILABLE = "energy_performance_available_preferences"

_DYNAMIC = "dynamic"
# intel_pstate in passive mode.
_PASSIVE = "intel_cpufreq"
_FIXED = f"the EPP is always {PERFORMANCE} under the governor {PERFORMANCE}"


def follows_governor(driver: object) -> bool:
    """Return whether a driver moves the EPP with the governor."""
    return driver != _PASSIVE


def read_offered(tree: Tree, folder: str) -> tuple[str, ...] | Unavailable:
    """Return the EPPs of a policy, whatever its governor.

    Under the governor performance amd-pstate lists that one alone (Linux
    drivers/cpufreq/amd-pstate.c, show_energy_performance_available_preferences).
    """
    found = tree.text(f"{folder}/{AVAILABLE}")
    if isinstance(found, Unavailable):
        return found
    listed = tuple(found.split())
    if listed == (PERFORMANCE,) and tree.text(f"{folder}/{GOVERNOR}") == PERFORMANCE:
        return tuple(name for name in EPPS if name != CURRENT)
    return listed


class Epp(Setting):
    """The EPP of each policy."""

    name = "epp"
    title = "the EPP"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{FILE}", re.ASCII)
    scaling = True

    def read(self, now: Present) -> str | Unavailable:
        return now.scaled("epp")

    def impossible(self, now: Present, value: str) -> str | None:
        """Return why the driver cannot have the EPP, or not with the governor of the case."""
        for policy in now.cpufreq.policies_of(now.cpus):
            cpus = f"CPUs {format_cpulist(policy.cpus)}"
            offered = read_offered(now.tree, f"{POLICIES}/{policy.name}")
            if isinstance(offered, Unavailable):
                driver = policy.driver or "the driver"
                return f"{driver} has no EPP on {cpus}: {offered.reason}"
            if value not in offered:
                return f"the EPP {value} is not offered on {cpus} (but {' '.join(offered)})"
            is_fixed = now.asked("governor") == PERFORMANCE and follows_governor(policy.driver)
            if is_fixed and value != PERFORMANCE:
                return _FIXED
        return now.cpufreq.reason or None

    def refused(self, now: Present, value: str) -> str | None:
        """Return the same, or that the governor in force or the driver itself sets the EPP."""
        if problem := self.impossible(now, value):
            return problem
        if is_epp_locked(now.tree):
            return f"the EPP {value} cannot be held: {EPP_IS_DYNAMIC}"
        policies = now.cpufreq.policies_of(now.cpus)
        governors = {policy.governor for policy in policies if follows_governor(policy.driver)}
        is_fixed = now.asked("governor") is None and PERFORMANCE in governors
        return _FIXED if is_fixed and value != PERFORMANCE else None

    def text(self, tree: Tree, path: str) -> str | Unavailable:
        """Return what a file holds; of an EPP that amd-pstate moves, what is written to have it.

        From Linux 7.3 on it reads `dynamic(profile:NAME)`.
        """
        found = tree.text(path)
        is_dynamic = isinstance(found, str) and found.startswith(f"{_DYNAMIC}(")
        return _DYNAMIC if is_dynamic else found

    def files(self, now: Present, value: str) -> list[SettingFile]:
        return [SettingFile(f"{folder}/{FILE}", value) for folder in now.directories]
