"""The upper limit of frequency.

While turbo is off, pstate drivers show the highest frequency without turbo where the limit is
above that (Linux drivers/cpufreq/intel_pstate.c, intel_pstate_get_max_freq; amd-pstate.c,
amd_pstate_cpu_boost_update).
"""

from __future__ import annotations

import re

from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import POLICIES, read_turbo
from pinstudy.runners.settings.frequency_limit import FrequencyLimit
from pinstudy.runners.settings.setting import SettingFile

_WITHOUT_TURBO = ("base_frequency", "cpuinfo_max_freq")


class MaxFrequency(FrequencyLimit):
    """The highest frequency of each policy."""

    name = "max_frequency"
    title = "the highest frequency"
    file = "scaling_max_freq"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{file}", re.ASCII)

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether the limit is in force, or the lower one without turbo."""
        if super().holds(tree, file):
            return True
        found = tree.natural(file.path)
        ends = [tree.natural(f"{file.folder}/{name}") for name in _WITHOUT_TURBO]
        lowest_end = min((end for end in ends if isinstance(end, int)), default=None)
        if not isinstance(found, int) or lowest_end is None or read_turbo(tree) is not False:
            return False
        return lowest_end <= found < int(file.value)
