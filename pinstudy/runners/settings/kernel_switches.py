"""Switches of the kernel: those of its scheduler, and those that `pinstudy tune` alone switches.

Energy-aware scheduling (EAS) is possible only while all CPUs have a governor that allows it, and
its file is empty otherwise (kernel/sched/topology.c, sched_energy_aware_handler). So it is put back
before a governor changes, and saved and set after that. By Intel's ITMT ("Turbo Boost Max 3.0")
the scheduler prefers the cores of a higher rank. Cache-aware scheduling, which puts threads that
share data near each other, is in Linux from 7.2 on, with CONFIG_SCHED_CACHE; its switch is in
debugfs, for root alone. The others interrupt programs or move their memory (Linux
Documentation/admin-guide/sysctl/kernel.rst).
"""

from __future__ import annotations

import re
from typing import ClassVar

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import ON
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.scheduler import (
    CACHE_AWARE,
    ENERGY_AWARE,
    IMPOSSIBLE,
    ITMT,
    itmt_file,
    read_cache_aware,
    read_energy_aware,
    read_itmt,
)
from pinstudy.runners.settings.governor import Governor
from pinstudy.runners.settings.setting import Present, Setting, SettingFile

NMI_WATCHDOG = "/proc/sys/kernel/nmi_watchdog"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"

_IMPOSSIBLE = (
    f"energy-aware scheduling is impossible now ({ENERGY_AWARE} is empty): every CPU needs the "
    "governor schedutil, and the node cores of several capacities without SMT"
)


class Switch(Setting):
    """A switch of the kernel's scheduler: a file that holds on or off, which a subclass reads."""

    of_scheduler = True
    file: ClassVar[str]

    def path(self, tree: Tree) -> str:
        """Return the file of the switch on this node."""
        return self.file

    def refused(self, now: Present, value: str) -> str | None:
        """Return why the switch cannot be set, in whatever state it is."""
        found = self.read(now)
        if isinstance(found, Unavailable):
            return f"{self.title} cannot be switched {value}: {found.reason}"
        return None

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the file's text for a value.

        Kernels that show truth values as letters take them, too.
        """
        path = self.path(now.tree)
        letters = now.tree.text(path) in ("Y", "N")
        return [
            SettingFile(path, ("Y" if letters else "1") if value == ON else "N" if letters else "0")
        ]


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


class Itmt(Switch):
    """Whether faster cores are preferred."""

    name = "itmt"
    title = "ITMT"
    paths = re.compile("|".join(map(re.escape, ITMT)))

    def path(self, tree: Tree) -> str:
        """Return the file, which has two paths."""
        return itmt_file(tree)

    def read(self, now: Present) -> str | Unavailable:
        return read_itmt(now.tree)


class CacheAware(Switch):
    """Whether the scheduler is cache-aware."""

    name = "cache_aware"
    title = "cache-aware scheduling"
    file = CACHE_AWARE
    paths = re.compile(re.escape(file))

    def read(self, now: Present) -> str | Unavailable:
        return read_cache_aware(now.tree)


class KernelFeatures(Setting):
    """Switches that are no factor of a study."""

    title = "a feature of the kernel"
    paths = re.compile("|".join(map(re.escape, (NMI_WATCHDOG, NUMA_BALANCING, AUTOGROUP))))
