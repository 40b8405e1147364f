"""Sets the settings of the whole node that each case asks for, beside those of frequency scaling.

Each is saved before it is changed for the first time, and read back. What a case leaves as it is
has the value from before the study.
"""

from __future__ import annotations

from pinstudy.base.reading import Unavailable
from pinstudy.configs.site import GovernorRule, SchedulerRule
from pinstudy.runners.settings.files import put_in_force, read_settings
from pinstudy.runners.settings.registry import SETTINGS
from pinstudy.runners.settings.saved import Saved
from pinstudy.runners.settings.sched_ext import SchedExt
from pinstudy.runners.settings.setting import Present, Setting

NOBODY = "at this site nobody sets it"
# In the order in which they are set, which is the other way round when they are put back.
SWITCHES = tuple(
    setting
    for setting in reversed(SETTINGS)
    if setting.name and not setting.scaling and not isinstance(setting, SchedExt)
)


class Switches:
    """Switches such settings of one node during one study, which restores what it has saved."""

    def __init__(
        self, saved: Saved, governor_rule: GovernorRule, scheduler_rule: SchedulerRule
    ) -> None:
        """`saved` is shared with what else changes settings; the rules are the site's."""
        self._saved = saved
        self._set_by = {False: governor_rule.by, True: scheduler_rule.by}

    def problem(self, now: Present) -> str | None:
        """Return why the node cannot be as a case asks, or None; changes nothing."""
        problems = (self._problem(setting, now) for setting in SWITCHES)
        return next(filter(None, problems), None)

    def give_way(self, now: Present) -> str | None:
        """Put back what cannot be read or set any more once a governor has changed."""
        hidden = (setting for setting in SWITCHES if setting.hidden_by_governors)
        problems = (self._put_back(setting, now) for setting in hidden)
        return next(filter(None, problems), None)

    def apply(self, now: Present) -> str | None:
        """Put a case's settings in force and read them back; return why that failed, or None."""
        for setting in SWITCHES:
            value = now.asked(setting.name)
            problem = (
                self._put_back(setting, now) if value is None else self._set(setting, now, value)
            )
            if problem:
                return problem
        return None

    def _problem(self, setting: Setting, now: Present) -> str | None:
        value = now.asked(setting.name)
        if value is None or setting.is_in_force(now, value):
            return None
        if refused := setting.refused(now, value):
            return refused
        problem = setting.problem(now, value)
        if self._set_by[setting.of_scheduler] == "nobody":
            return f"{problem}; {NOBODY}"
        # For a recorded tree, root's permissions on the node itself are assumed.
        if now.tree.live:
            for file in setting.files(now, value):
                if not now.tree.writable(file.path):
                    return f"{problem}; no permission to write {file.path}: run as root"
        if leftover := self._saved.leftover:
            return f"{problem}; {leftover}"
        return None

    def _set(self, setting: Setting, now: Present, value: str) -> str | None:
        if setting.is_in_force(now, value):
            return None
        if problem := self._problem(setting, now):
            return problem
        files = setting.files(now, value)
        before = read_settings(now.tree, [file.path for file in files])
        if isinstance(before, Unavailable):
            return f"{setting.title} is not changed, because it cannot be saved: {before.reason}"
        if problem := self._saved.add(before):
            return problem
        failed = put_in_force(now.tree, files)
        problem = next(iter(failed.values()), None)
        if problem is None and not setting.is_in_force(now, value):
            problem = setting.problem(now, value)
        return problem and f"{setting.title} could not be set to {value}: {problem}"

    def _put_back(self, setting: Setting, now: Present) -> str | None:
        """Give a setting its value from before the study, if it was saved."""
        saved = [file for file in self._saved.files if setting.paths.fullmatch(file.path)]
        failed = put_in_force(now.tree, saved) if saved else {}
        return next(iter(failed.values()), None)
