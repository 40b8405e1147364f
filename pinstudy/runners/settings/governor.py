"""The governor of frequency scaling (Linux Documentation/admin-guide/pm/cpufreq.rst)."""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.runners.node.cpufreq import POLICIES
from pinstudy.runners.settings.setting import Present, Setting, SettingFile

FILE = "scaling_governor"
PERFORMANCE = "performance"


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
