"""The long-term power limit (PL1) of each package, by powercap.

Of the interfaces to one package (MSR and MMIO) the lower limit counts, so that both get the limit.
The firmware may lock it: the kernel then takes the value and keeps the old one, which shows when it
is read back (Linux Documentation/power/powercap/powercap.rst; drivers/powercap/intel_rapl_common.c,
rapl_write_pl_data). A package needs one interface whose limit is in force for sure; on another one
a limit is set as well, for the case that it is.
"""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import power_w, shown_power
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.power import POWERCAP, doubt_of_pl1, long_term_files
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile, listed

_PACKAGE = "package-"
# The unit of limits is 1/8 W where the processor does not say otherwise (Intel SDM, volume 3,
# section 15.10.1, MSR_RAPL_POWER_UNIT): the kernel shows what was rounded to it.
_UNIT_UW = 125_000


class PackagePowerLimit(Setting):
    """PL1 of every package of the node."""

    name = "power_limit"
    title = "the power limit (PL1)"
    paths = re.compile(
        rf"{POWERCAP}/intel-rapl(?:-mmio)?:[0-9]{{1,4}}/constraint_[0-2]_power_limit_uw", re.ASCII
    )
    texts = WHOLE_NUMBER

    def read(self, now: Present) -> str | Unavailable:
        """Return the limit of each package: of its interfaces in force, the lower one."""
        limits = self._limits(now.tree)
        if isinstance(limits, Unavailable):
            return limits
        by_package: dict[str, float] = {}
        for package, watts, doubt in limits.values():
            if doubt:
                continue
            by_package[package] = min(watts, by_package.get(package, watts))
        holders: dict[str, str] = {}
        for package, watts in by_package.items():
            value = shown_power(watts)
            holders[value] = f"{holders[value]} and {package}" if value in holders else package
        return listed(holders)

    def is_in_force(self, now: Present, value: str) -> bool:
        """Return whether every package has the limit, to the unit of limits."""
        return self.all_hold(now, value)

    def refused(self, now: Present, value: str) -> str | None:
        limits = self._limits(now.tree)
        if isinstance(limits, Unavailable):
            return f"{self.title} cannot be {value}: {limits.reason}"
        return None

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the limits of all packages, by each interface that is in use."""
        limits = self._limits(now.tree)
        microwatts = str(round(power_w(value) * 1e6))
        return (
            [SettingFile(path, microwatts) for path in limits] if isinstance(limits, dict) else []
        )

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether a limit is in force, to the unit of limits."""
        found = tree.natural(file.path)
        return isinstance(found, int) and abs(found - int(file.value)) < _UNIT_UW

    @staticmethod
    def _limits(tree: Tree) -> dict[str, tuple[str, float, str]] | Unavailable:
        """Return package and watts of each file that limits one, and why that may not hold.

        `Unavailable` where that is so of all files of a package.
        """
        files = long_term_files(tree)
        if isinstance(files, Unavailable):
            return files
        found: dict[str, tuple[str, float, str]] = {}
        for path, domain in files.items():
            if domain.startswith(_PACKAGE):
                microwatts = tree.natural(path)
                if isinstance(microwatts, Unavailable):
                    return microwatts
                # 0 W is no limit: the interface is there but not in use.
                if microwatts:
                    doubt = doubt_of_pl1(tree, path.split("/")[-2], domain)
                    found[path] = domain, microwatts / 1e6, doubt
        sure = {package for package, _, doubt in found.values() if not doubt}
        for package, _, doubt in found.values():
            if package not in sure:
                return Unavailable(doubt)
        return found or Unavailable("no package has a long-term limit of power")
