"""Sets the governor of each case, and restores the original ones at the end.

Only the policies that a case needs are switched: those of its CPUs, and of their SMT siblings,
which share a clock. All others keep their settings from before the study, so that a case does not
depend on the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from base.reading import Unavailable
from configs.site import GovernorRule
from configs.study import CURRENT_GOVERNOR
from runners.host.tree import Tree
from runners.node.cpufreq import Cpufreq, policy_directories, read_cpufreq
from runners.node.topology import Core, with_siblings
from runners.settings.saved import Saved
from runners.settings.setting import (
    EPP,
    GOVERNOR,
    Setting,
    put_in_force,
    read_scaling,
    unwritable_file,
)

# Slurm sets it in every job step that was started with --cpu-freq (srun(1)).
SLURM_REQUEST = "SLURM_CPU_FREQ_REQ"
PERFORMANCE = "performance"
_AVAILABLE_EPP = "energy_performance_available_preferences"
# The EPP of the firmware (Linux Documentation/admin-guide/pm/intel_pstate.rst).
_DEFAULT_EPP = "default"


class Governors:
    """Switches the governors of one node during one study, which restores what it has saved."""

    def __init__(
        self,
        root: Path,
        cores: Iterable[Core],
        rule: GovernorRule,
        environment: Mapping[str, str],
        saved: Saved,
    ) -> None:
        """`rule` is the site's; `saved` is shared with what else changes settings."""
        self._root = root
        self._tree = Tree(root)
        self._cores = tuple(cores)
        self._rule = rule
        self._environment = environment
        self._kept = saved
        self._before: tuple[Setting, ...] | Unavailable | None = None
        self._saved = self._locked = False

    def problem(self, governor: str, cpus: Sequence[int], now: Cpufreq | None = None) -> str | None:
        """Return why a case of this governor cannot run now, or None; changes nothing.

        `now` is the state of frequency scaling, if it was read already.
        """
        if governor == CURRENT_GOVERNOR:
            return None
        now = now or read_cpufreq(self._root)
        problem = now.in_force_problem(governor, cpus)
        if problem is None:
            return None
        return now.offer_problem(governor, cpus) or self._settable_problem(now, cpus, problem)

    def apply(self, governor: str, cpus: Sequence[int]) -> str | None:
        """Put a case's governor in force and read it back; return why that failed, or None.

        The governor `current` means all settings as they were before the study.
        """
        if self._before is None:
            # A study that asks for no governor changes nothing, and needs no lock.
            self._locked = governor != CURRENT_GOVERNOR and self._kept.lock() is None
            self._before = read_scaling(self._tree)
        now = read_cpufreq(self._root)
        needed = now.directories(with_siblings(self._cores, cpus))
        if not self._saved:
            if governor == CURRENT_GOVERNOR:
                return None
            problem = now.in_force_problem(governor, cpus)
            if problem is None and self._is_applied(governor, needed):
                return None
            refused = now.offer_problem(governor, cpus)
            refused = refused or self._settable_problem(now, cpus, problem or "") or self._save()
            if refused is not None:
                return None if problem is None else refused
        problem = self._switch(governor, needed)
        if problem or governor == CURRENT_GOVERNOR:
            return problem
        return read_cpufreq(self._root, cpus).in_force_problem(governor, cpus)

    def _settable_problem(self, now: Cpufreq, cpus: Sequence[int], problem: str) -> str | None:
        """Return `problem` with why the governor cannot be set; None when it can."""
        if SLURM_REQUEST in self._environment and self._rule.by != "command":
            return f"{problem}; in this job Slurm sets it: ask for it with --cpu-freq"
        if self._rule.by == "slurm":
            return f"{problem}; here Slurm sets it: start pinstudy by `srun --cpu-freq=…`"
        if self._rule.by == "nobody":
            return f"{problem}; at this site nobody sets it"
        # For a recorded tree, root's permissions on the node itself are assumed.
        if self._rule.by == "pinstudy" and self._tree.live:
            directories = now.directories(with_siblings(self._cores, cpus))
            if locked := unwritable_file(self._tree, directories):
                return f"{problem}; no permission to write {locked}: run as root"
        if leftover := self._kept.leftover:
            return f"{problem}; {leftover}"
        return None

    def _save(self) -> str | None:
        """Write the settings from before the study into the journal; return why that failed."""
        if not self._locked:
            if problem := self._kept.lock():
                return problem
            # What was read before may have been another process's, which has put it back since.
            self._locked, self._before = True, read_scaling(self._tree)
        settings = self._before
        if settings is None or isinstance(settings, Unavailable):
            reason = "" if settings is None else f": {settings.reason}"
            return f"settings are not changed, because they cannot be saved{reason}"
        problem = self._kept.add(settings)
        self._saved = problem is None
        return problem

    def _is_applied(self, governor: str, needed: Sequence[str]) -> bool:
        """Whether all settings already have the values that a case needs."""
        if isinstance(self._before, Unavailable) or not needed:
            return False
        targets, to_reset = self._targets(governor, needed)
        applied = all(self._tree.text(setting.path) == setting.value for setting in targets)
        return applied and not any(self._tree.text(path) == PERFORMANCE for path in to_reset)

    def _targets(self, governor: str, needed: Sequence[str]) -> tuple[list[Setting], list[str]]:
        """Return the governors and EPPs of a case, and the files whose EPP `performance` to reset.

        Offline policies that the case does not need are left alone.
        """
        before = self._before if isinstance(self._before, tuple) else ()
        values = {setting.path: setting.value for setting in before}
        present = self._present(needed)
        targets: list[Setting] = []
        to_reset: list[str] = []
        for path, value in values.items():
            folder, _, name = path.rpartition("/")
            if folder not in present:
                continue
            switched = governor != CURRENT_GOVERNOR and folder in needed
            if name == GOVERNOR:
                targets.append(Setting(path, governor if switched else value))
            elif name == EPP:
                original = values.get(f"{folder}/{GOVERNOR}")
                if not switched or original == governor or PERFORMANCE not in (original, governor):
                    targets.append(Setting(path, value))
                elif governor != PERFORMANCE:
                    to_reset.append(path)
        return targets, to_reset

    def _switch(self, governor: str, needed: Sequence[str]) -> str | None:
        targets, to_reset = self._targets(governor, needed)
        problems = put_in_force(self._tree, targets, self._rule.set)
        if problems:
            # Policies that the case does not need may have gone offline in the meantime.
            present = self._present(needed)
            for path, problem in problems.items():
                if path.rpartition("/")[0] in present:
                    return f"the governor {governor} could not be set: {problem}"
        return self._reset_epp(governor, to_reset)

    def _present(self, needed: Sequence[str]) -> set[str]:
        """Return the directories of policies with a CPU online now, and those that a case needs."""
        return set(policy_directories(self._tree).values()).union(needed)

    def _reset_epp(self, governor: str, paths: Sequence[str]) -> str | None:
        """Replace the EPP that some drivers leave behind after the governor `performance`.

        amd-pstate keeps EPP 0 when the governor goes from performance to powersave (Linux 6.12
        drivers/cpufreq/amd-pstate.c), which would make both governors the same.
        """
        for path in paths:
            if self._tree.text(path) != PERFORMANCE:
                continue
            offered = self._tree.text(f"{path.rpartition('/')[0]}/{_AVAILABLE_EPP}")
            if isinstance(offered, Unavailable) or _DEFAULT_EPP not in offered.split():
                return f"the governor {governor} has no EPP of its own: {path} stays {PERFORMANCE}"
            if failed := self._tree.put(path, _DEFAULT_EPP):
                return f"the governor {governor} has no EPP of its own: {failed.reason}"
        return None
