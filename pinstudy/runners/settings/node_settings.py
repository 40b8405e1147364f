"""All settings of a node that a study's cases ask for; they share a journal, and an order.

Frequency scaling comes first, because a governor decides what else is possible; a scheduler of
sched_ext comes last, because it reads the others when it starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pinstudy.base.command import without_interruption
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.configs.settings import CURRENT, GOVERNOR, SCHED_EXT, Settings
from pinstudy.configs.site import GovernorRule, SchedulerRule, Site
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import Cpufreq, read_cpufreq
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.settings.recovery import Restored
from pinstudy.runners.settings.registry import FACTORS
from pinstudy.runners.settings.saved import Saved
from pinstudy.runners.settings.scaling import FrequencyScaling
from pinstudy.runners.settings.sched_ext_loading import SchedExtLoading
from pinstudy.runners.settings.setting import Present
from pinstudy.runners.settings.switches import Switches


class NodeSettings:
    """Switches the settings of one node during one study; `restore` must be called at the end."""

    def __init__(
        self,
        root: Path,
        topology: Topology,
        site: Site | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`site` says who sets them; by default pinstudy does."""
        governor = site.governor if site else GovernorRule()
        scheduler = site.scheduler if site else SchedulerRule()
        self._root, self._tree = root, Tree(root)
        self._saved = Saved(
            root, governor.restore or governor.set, scheduler.restore or scheduler.set
        )
        self.scaling = FrequencyScaling(root, topology.cores, governor, environment, self._saved)
        self._switches = Switches(self._saved, governor, scheduler)
        self.schedulers = SchedExtLoading(self._tree, self._saved, scheduler)
        # The scaling and CPUs of the last case; None if they are not known to be in force.
        self._scaled: tuple[dict[str, str], tuple[int, ...]] | None = None

    @property
    def journal_path(self) -> Path:
        """The file that has the settings from before the study."""
        return self._saved.journal.path

    def problem(
        self, governor: str, settings: Settings, cpus: Sequence[int], now: Cpufreq | None = None
    ) -> str | None:
        """Return why a case with these settings cannot run now, or None; changes nothing.

        `now` is the state of frequency scaling, if it was read already.
        """
        wanted = _wanted(governor, settings)
        present = Present(self._tree, now or read_cpufreq(self._root), cpus, wanted)
        return (
            self.scaling.problem(wanted, cpus, present.cpufreq)
            or self._switches.problem(present)
            or self.schedulers.problem(settings[SCHED_EXT])
        )

    def impossible(
        self, governor: str, settings: Settings, cpus: Sequence[int], now: Cpufreq
    ) -> str | None:
        """Return why the node can never have a case's frequency scaling, or None."""
        return self.scaling.impossible(_wanted(governor, settings), cpus, now)

    def apply(self, governor: str, settings: Settings, cpus: Sequence[int]) -> str | None:
        """Put a case's settings in force and read them back; return why that failed, or None."""
        wanted = _wanted(governor, settings)
        scaled = {name: wanted[name] for name in wanted if FACTORS[name].scaling}, tuple(cpus)
        self.schedulers.give_way(settings[SCHED_EXT])
        # Most studies change no setting: their runs wait for no reading of all policies.
        gives_way = scaled != self._scaled and self._saved.files
        if gives_way and (problem := self._switches.give_way(self._present(cpus))):
            return problem
        self._scaled = None
        if problem := self.scaling.apply(wanted, cpus):
            return problem
        self._scaled = scaled
        problem = None
        if settings.asked or self._saved.files:
            problem = self._switches.apply(self._present(cpus, wanted))
        return problem or self.schedulers.apply(settings[SCHED_EXT])

    def read_back(self, governor: str, settings: Settings, cpus: Sequence[int]) -> Reading:
        """Return what is in force of the settings that a case asks for (`settings_read`)."""
        wanted = _wanted(governor, settings)
        if not wanted:
            return Reading()
        present = self._present(cpus, wanted)
        found = {name: FACTORS[name].read(present) for name in wanted}
        read = {name: value for name, value in found.items() if not isinstance(value, Unavailable)}
        return Reading({"settings_read": read}) if read else Reading()

    def scheduler_state(self) -> Reading:
        """Return how long the scheduler that pinstudy started has been in force, and its CPU time.

        Both are of its process, in seconds; without one there are none.
        """
        program = self.schedulers.running
        if program is None:
            return Reading()
        used = program.cpu_time
        return Reading(
            {
                "scheduler_loaded_s": round(program.loaded_s, 3),
                "scheduler_cpu_s": round(used.user_s + used.system_s, 2),
            }
        )

    def restore(self) -> Restored | None:
        """End the scheduler and put all settings back; return None when nothing was changed."""
        with without_interruption():
            self.schedulers.end()
            return self._saved.restore()

    def _present(self, cpus: Sequence[int], wanted: Mapping[str, str] | None = None) -> Present:
        return Present(self._tree, read_cpufreq(self._root, cpus), cpus, wanted)


def _wanted(governor: str, settings: Settings) -> dict[str, str]:
    """Return what a case asks for, by name."""
    return ({} if governor == CURRENT else {GOVERNOR: governor}) | settings.asked
