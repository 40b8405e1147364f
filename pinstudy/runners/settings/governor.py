"""The governor of frequency scaling (Linux Documentation/admin-guide/pm/cpufreq.rst)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import POLICIES
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile

FILE = "scaling_governor"
# The clock that a user has set, in kHz, under the governor userspace.
FIXED_FILE = "scaling_setspeed"
PERFORMANCE = "performance"
# What tunes a governor (Linux drivers/cpufreq/cpufreq_ondemand.c, cpufreq_conservative.c;
# kernel/sched/cpufreq_schedutil.c).
_TUNING = {
    "ondemand": (
        *("sampling_rate", "up_threshold", "sampling_down_factor", "ignore_nice_load"),
        *("powersave_bias", "io_is_busy"),
    ),
    "conservative": (
        *("sampling_rate", "up_threshold", "down_threshold", "sampling_down_factor"),
        *("ignore_nice_load", "freq_step"),
    ),
    "schedutil": ("rate_limit_us",),
}
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


class Tuning(Setting):
    """How governors are tuned, of all policies together or of each, as the driver has it.

    The kernel forgets it once the last policy has left a governor (Linux
    drivers/cpufreq/cpufreq_governor.c, cpufreq_dbs_governor_exit; kernel/sched/cpufreq_schedutil.c,
    sugov_exit), so what it was before is put back after that governor.
    """

    title = "the tuning of a governor"
    paths = re.compile(
        rf"{POLICIES}/(?:policy[0-9]{{1,5}}/)?(?:"
        + "|".join(f"{name}/(?:{'|'.join(files)})" for name, files in _TUNING.items())
        + ")",
        re.ASCII,
    )
    texts = WHOLE_NUMBER
    scaling = True


def tuning_files(tree: Tree, folders: Iterable[str]) -> list[str]:
    """Return the files that tune the governors in force on policies, as far as they are writable.

    Who may not write them cannot put them back, and is not refused a governor for that.
    """
    governors = {folder: tree.text(f"{folder}/{FILE}") for folder in folders}
    tuned = [(POLICIES, name) for name in dict.fromkeys(governors.values())] + [*governors.items()]
    found = []
    for folder, name in tuned:
        if isinstance(name, str) and name in _TUNING:
            there = known(tree.names(f"{folder}/{name}")) or ()
            paths = [f"{folder}/{name}/{file}" for file in _TUNING[name] if file in there]
            found += [path for path in paths if tree.writable(path)]
    return found


def tuned(file: SettingFile) -> tuple[str, str] | None:
    """Return the directory of what a file tunes, and the governor; None for another file."""
    folder, _, name = file.folder.rpartition("/")
    return (folder, name) if Tuning.paths.fullmatch(file.path) else None


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
