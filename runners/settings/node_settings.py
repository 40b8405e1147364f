"""All settings of a node that a study's cases ask for: governors, and who places threads.

They share a journal, and depend on each other's order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from base.reading import Reading
from configs.scheduling import Scheduling
from configs.site import GovernorRule, SchedulerRule, Site
from configs.study import CURRENT_GOVERNOR
from runners.host.tree import Tree
from runners.node.cpufreq import Cpufreq, read_cpufreq
from runners.node.topology import Topology
from runners.settings.governor import Governors
from runners.settings.recovery import Restored
from runners.settings.saved import Saved
from runners.settings.scheduling import Schedulings


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
        self._root = root
        self._saved = Saved(
            root, governor.restore or governor.set, scheduler.restore or scheduler.set
        )
        self.governors = Governors(root, topology.cores, governor, environment, self._saved)
        self.schedulings = Schedulings(Tree(root), self._saved, scheduler)
        # The governor and CPUs of the last case; None if they are not known to be in force.
        self._governed: tuple[str, tuple[int, ...]] | None = None

    @property
    def journal_path(self) -> Path:
        """The file that has the settings from before the study."""
        return self._saved.journal.path

    def problem(
        self,
        governor: str,
        scheduling: Scheduling,
        cpus: Sequence[int],
        now: Cpufreq | None = None,
    ) -> str | None:
        """Return why a case with these settings cannot run now, or None; changes nothing.

        `now` is the state of frequency scaling, if it was read already.
        """
        now = now or read_cpufreq(self._root)
        changes = governor != CURRENT_GOVERNOR and bool(now.in_force_problem(governor, cpus))
        return self.governors.problem(governor, cpus, now) or self.schedulings.problem(
            scheduling, governor_changes=changes
        )

    def apply(self, governor: str, scheduling: Scheduling, cpus: Sequence[int]) -> str | None:
        """Put a case's settings in force and read them back; return why that failed, or None."""
        governed = governor, tuple(cpus)
        problem = self.schedulings.give_way(scheduling, governed != self._governed)
        if problem is None:
            self._governed = None
            problem = self.governors.apply(governor, cpus)
        if problem is None:
            self._governed = governed
            problem = self.schedulings.apply(scheduling)
        return problem

    def scheduler_state(self) -> Reading:
        """Return how long the scheduler that pinstudy started has been in force, and its CPU time.

        Both are of its process, in seconds; without one there are none.
        """
        program = self.schedulings.running
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
        """Put all settings back; return None when nothing was changed."""
        return self.schedulings.restore()
