"""Energy-aware scheduling (EAS).

It is possible only while all CPUs have a governor that allows it, and its file is empty otherwise
(kernel/sched/topology.c, sched_energy_aware_handler). So it is put back before a governor changes,
and saved and set after that.
"""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.scheduler import ENERGY_AWARE, IMPOSSIBLE, read_energy_aware
from pinstudy.runners.settings.governor import Governor
from pinstudy.runners.settings.setting import Present, SettingFile, Switch

_IMPOSSIBLE = (
    f"energy-aware scheduling is impossible now ({ENERGY_AWARE} is empty): every CPU needs the "
    "governor schedutil, and the node cores of several capacities without SMT"
)


class EnergyAware(Switch):
    """Whether the scheduler is energy-aware."""

    name = "energy_aware"
    title = "energy-aware scheduling"
    file = ENERGY_AWARE
    paths = re.compile(re.escape(file))
    hidden_by_governors = True

    def read(self, now: Present) -> str | Unavailable:
        return read_energy_aware(now.tree)

    def refused(self, now: Present, value: str) -> str | None:
        """Return why it cannot be switched.

        Where the case's governor is not in force yet, nobody knows whether it is possible then.
        """
        governor = now.asked("governor")
        changes = governor is not None and not Governor().is_in_force(now, governor)
        if self.read(now) == IMPOSSIBLE and not changes:
            return _IMPOSSIBLE
        return super().refused(now, value)

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether the switch has its text; where it is impossible it has and takes none."""
        return read_energy_aware(tree) == IMPOSSIBLE or super().holds(tree, file)
