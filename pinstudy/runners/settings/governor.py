"""The governor of frequency scaling (Linux Documentation/admin-guide/pm/cpufreq.rst)."""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import POLICIES
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile

FILE = "scaling_governor"
# The clock that a user has set, in kHz, under the governor userspace.
FIXED_FILE = "scaling_setspeed"
PERFORMANCE = "performance"
# What the file of the fixed clock holds under other governors (Linux drivers/cpufreq/cpufreq.c).
_UNSUPPORTED = "<unsupported>"


class Governor(Setting):
    """The governor of each policy."""

    name = "governor"
    title = "the governor"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{FILE}", re.ASCII)
    scaling = True

    def read(self, now: Present) -> str | Unavailable:
        return now.scaled("governor_read")

    def is_in_force(self, now: Present, value: str) -> bool:
        return now.cpufreq.in_force_problem(value, now.cpus) is None

    def problem(self, now: Present, value: str) -> str | None:
        return now.cpufreq.in_force_problem(value, now.cpus)

    def impossible(self, now: Present, value: str) -> str | None:
        return now.cpufreq.offer_problem(value, now.cpus)

    def files(self, now: Present, value: str) -> list[SettingFile]:
        return [SettingFile(f"{folder}/{FILE}", value) for folder in now.directories]


class FixedClock(Setting):
    """The clock of each policy under the governor userspace.

    Whoever switches to this governor fixes the clock of that moment (Linux
    drivers/cpufreq/cpufreq_userspace.c), so what was fixed before is put back after it.
    """

    title = "the clock of the governor userspace"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{FIXED_FILE}", re.ASCII)
    texts = WHOLE_NUMBER
    scaling = True

    def text(self, tree: Tree, path: str) -> str | Unavailable:
        """Return the clock in kHz; it is missing under another governor."""
        found = tree.text(path)
        if found == _UNSUPPORTED:
            return Unavailable(f"{path} is {found} under this governor", missing=True)
        return found
