"""Sets how the CPUs of each case are scaled, and restores what was in force at the end.

Only the policies that a case needs are switched: those of its CPUs, and of their SMT siblings,
which share a clock. All others keep their settings from before the study, so that a case does not
depend on the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pinstudy.base.reading import Unavailable
from pinstudy.configs.site import GovernorRule
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import Cpufreq, policy_directories, read_cpufreq
from pinstudy.runners.node.topology import Core, with_siblings
from pinstudy.runners.settings import epp, governor, turbo
from pinstudy.runners.settings.files import in_force, put_in_force, read_scaling, unwritable_file
from pinstudy.runners.settings.governor import PERFORMANCE
from pinstudy.runners.settings.registry import SCALING, owner_of
from pinstudy.runners.settings.saved import Saved
from pinstudy.runners.settings.setting import Present, Setting, SettingFile

# Slurm sets it in every job step that was started with --cpu-freq (srun(1)).
SLURM_REQUEST = "SLURM_CPU_FREQ_REQ"
# The EPP of the firmware (Linux Documentation/admin-guide/pm/intel_pstate.rst).
_DEFAULT_EPP = "default"


class FrequencyScaling:
    """Switches the scaling of one node during one study, which restores what it has saved."""

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
        self._before: tuple[SettingFile, ...] | Unavailable | None = None
        self._saved = self._locked = False
        # The settings that any case has asked for: others are left to whoever changes them.
        self._ever_asked: set[str] = set()

    def problem(
        self, wanted: Mapping[str, str], cpus: Sequence[int], now: Cpufreq | None = None
    ) -> str | None:
        """Return why a case cannot be scaled so now, or None; changes nothing.

        `wanted` has its settings by name, `now` is the state of frequency scaling, if it was read.
        """
        asked = _asked(wanted)
        present = Present(self._tree, now or read_cpufreq(self._root), cpus, wanted)
        if _not_in_force(asked, present) is None:
            return None
        return self._refusal(asked, present)

    def impossible(
        self, wanted: Mapping[str, str], cpus: Sequence[int], now: Cpufreq
    ) -> str | None:
        """Return why the node can never be scaled so, whoever sets it, or None."""
        present = Present(self._tree, now, cpus, wanted)
        found = (setting.impossible(present, value) for setting, value in _asked(wanted))
        return next(filter(None, found), None)

    def apply(self, wanted: Mapping[str, str], cpus: Sequence[int]) -> str | None:
        """Put a case's scaling in force and read it back; return why that failed, or None.

        What a case does not ask for is as it was before the study.
        """
        asked = _asked(wanted)
        if self._before is None:
            # A study that asks for nothing changes nothing, and needs no lock.
            self._locked = bool(asked) and self._kept.lock() is None
            self._before = read_scaling(self._tree)
        self._ever_asked.update(setting.name for setting, _ in asked)
        now = Present(self._tree, read_cpufreq(self._root), cpus, wanted)
        needed = replace(now, cpus=with_siblings(self._cores, cpus))
        if not self._saved:
            if not asked:
                return None
            problem = _not_in_force(asked, now)
            if problem is None and self._is_applied(needed):
                return None
            refused = self._refusal(asked, now) or self._save()
            if refused is not None:
                return None if problem is None else refused
        if problem := self._switch(needed):
            return problem
        return _not_in_force(asked, replace(now, cpufreq=read_cpufreq(self._root, cpus)))

    def _refusal(self, asked: Sequence[tuple[Setting, str]], now: Present) -> str | None:
        """Return why the node cannot have what a case asks for, or nobody here can set it.

        A governor decides what else is possible, also where it is not in force yet.
        """
        refused = (setting.refused(now, value) for setting, value in asked)
        locked = (self._settable_problem(now, setting, value) for setting, value in asked)
        return next(filter(None, chain(refused, locked)), None)

    def _settable_problem(self, now: Present, setting: Setting, value: str) -> str | None:
        """Return why a setting that is not in force cannot be set; None when it can."""
        problem = setting.problem(now, value)
        if problem is None and _not_in_force(_asked(now.wanted or {}), now):
            return None
        by_command = self._rule.by == "command" and setting.name == governor.Governor.name
        if SLURM_REQUEST in self._environment and self._rule.by != "command":
            return f"{problem}; in this job Slurm sets it: ask for it with --cpu-freq"
        if self._rule.by == "slurm":
            return f"{problem}; here Slurm sets it: start pinstudy by `srun --cpu-freq=…`"
        if self._rule.by == "nobody":
            return f"{problem}; at this site nobody sets it"
        # For a recorded tree, root's permissions on the node itself are assumed.
        if self._tree.live and not by_command:
            folders = now.cpufreq.directories(with_siblings(self._cores, now.cpus))
            written = [file.path for file in setting.files(now, value)]
            if locked := unwritable_file(self._tree, folders, written):
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

    def _is_applied(self, needed: Present) -> bool:
        """Whether all settings already have the values that a case needs."""
        if isinstance(self._before, Unavailable) or not needed.directories:
            return False
        targets, to_reset = self._targets(needed)
        applied = all(in_force(self._tree, file) for file in targets)
        return applied and not any(self._tree.text(path) == PERFORMANCE for path in to_reset)

    def _targets(self, needed: Present) -> tuple[list[SettingFile], list[str]]:
        """Return the files of a case, and those whose EPP `performance` is to be reset.

        Offline policies that the case does not need are left alone.
        """
        before = self._before if isinstance(self._before, tuple) else ()
        values = {file.path: file.value for file in before}
        asked = {
            file.path: file.value
            for setting, value in _asked(needed.wanted or {})
            for file in setting.files(needed, value)
        }
        present = self._present(needed)
        targets: list[SettingFile] = []
        to_reset: list[str] = []
        for file in before:
            if file.folder not in present and file.path not in turbo.FILES:
                continue
            if file.path in asked:
                targets.append(SettingFile(file.path, asked[file.path]))
            elif file.name == epp.FILE:
                folder = f"{file.folder}/{governor.FILE}"
                original, switched = values.get(folder), asked.get(folder)
                if switched in (None, original) or PERFORMANCE not in (original, switched):
                    targets.append(file)
                elif switched != PERFORMANCE:
                    to_reset.append(file.path)
            elif file.name == governor.FILE or self._was_asked(file):
                targets.append(file)
        return targets, to_reset

    def _was_asked(self, file: SettingFile) -> bool:
        setting = owner_of(file.path)
        return setting is not None and setting.name in self._ever_asked

    def _switch(self, needed: Present) -> str | None:
        targets, to_reset = self._targets(needed)
        problems = put_in_force(self._tree, targets, self._rule.set)
        if problems:
            # Policies that the case does not need may have gone offline in the meantime.
            present = self._present(needed)
            for path, problem in problems.items():
                if path.rpartition("/")[0] in present or path in turbo.FILES:
                    return f"{_words(path, needed)} could not be set: {problem}"
        return self._reset_epp(needed.asked(governor.Governor.name) or "", to_reset)

    def _present(self, needed: Present) -> set[str]:
        """Return the directories of policies with a CPU online now, and those that a case needs."""
        return set(policy_directories(self._tree).values()).union(needed.directories)

    def _reset_epp(self, wanted: str, paths: Sequence[str]) -> str | None:
        """Replace the EPP that some drivers leave behind after the governor `performance`.

        amd-pstate keeps EPP 0 when the governor goes from performance to powersave (Linux 6.12
        drivers/cpufreq/amd-pstate.c), which would make both governors the same.
        """
        for path in paths:
            if self._tree.text(path) != PERFORMANCE:
                continue
            offered = self._tree.text(f"{path.rpartition('/')[0]}/{epp.AVAILABLE}")
            if isinstance(offered, Unavailable) or _DEFAULT_EPP not in offered.split():
                return f"the governor {wanted} has no EPP of its own: {path} stays {PERFORMANCE}"
            if failed := self._tree.put(path, _DEFAULT_EPP):
                return f"the governor {wanted} has no EPP of its own: {failed.reason}"
        return None


def _asked(wanted: Mapping[str, str]) -> list[tuple[Setting, str]]:
    return [(setting, wanted[setting.name]) for setting in SCALING if setting.name in wanted]


def _not_in_force(asked: Iterable[tuple[Setting, str]], now: Present) -> str | None:
    """Return why the first setting that is not in force is not, or None."""
    problems = (setting.problem(now, value) for setting, value in asked)
    return next(filter(None, problems), None)


def _words(path: str, now: Present) -> str:
    """Return the setting that a file belongs to, with what a case asks of it."""
    setting = owner_of(path)
    assert setting
    value = now.asked(setting.name)
    return f"{setting.title} {value}" if value else f"{setting.title} from before the study"
