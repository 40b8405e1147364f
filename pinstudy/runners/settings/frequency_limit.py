"""Limits of frequency of each policy, in kHz (Linux Documentation/admin-guide/pm/cpufreq.rst)."""

from __future__ import annotations

import re
from typing import ClassVar

from pinstudy.base.cpulist import cpulists_by_value, format_cpulist
from pinstudy.base.reading import Unavailable, known
from pinstudy.configs.settings import (
    BASE,
    HIGHEST,
    LOWEST,
    ON,
    frequency_khz,
    shown_frequency,
)
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import POLICIES, is_cooled, read_turbo
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile, listed

# The kernel's own request where nobody limits a policy (Linux include/linux/pm_qos.h,
# FREQ_QOS_MAX_DEFAULT_VALUE).
_NO_LIMIT_KHZ = str(2**31 - 1)
# What the words of a study stand for on each policy.
_FILES = {HIGHEST: "cpuinfo_max_freq", BASE: "base_frequency", LOWEST: "cpuinfo_min_freq"}
# Those that a driver with a table of frequencies has.
_TABLES = ("scaling_available_frequencies", "scaling_boost_frequencies")


class FrequencyLimit(Setting):
    """The upper or the lower limit; `file` is the one of a policy that has it."""

    texts = re.compile(rf"{WHOLE_NUMBER.pattern}|{HIGHEST}", re.ASCII)
    scaling = True
    file: ClassVar[str]

    def read(self, now: Present) -> str | Unavailable:
        """Return the limits of the CPUs, as a study writes them."""
        limits: dict[int, int] = {}
        for policy in now.cpufreq.policies_of(now.cpus):
            khz = now.tree.natural(f"{POLICIES}/{policy.name}/{self.file}")
            if isinstance(khz, Unavailable):
                return khz
            limits |= dict.fromkeys(set(policy.cpus).intersection(now.cpus), khz)
        found = cpulists_by_value(limits)
        if not found:
            return Unavailable(now.cpufreq.reason or "no policy covers these CPUs")
        return listed({shown_frequency(khz): cpus for khz, cpus in found.items()})

    def is_in_force(self, now: Present, value: str) -> bool:
        return self.all_hold(now, value)

    def impossible(self, now: Present, value: str) -> str | None:
        """Return why a limit is outside of what CPUs can have; turbo may raise its upper end."""
        if reason := now.cpufreq.reason:
            return reason
        wanted = self._limits(now, value)
        if isinstance(wanted, Unavailable):
            return f"{self.title} cannot be {value}: {wanted.reason}"
        rises = now.cpufreq.turbo is False and now.asked("turbo") == ON
        for policy in now.cpufreq.policies_of(now.cpus):
            folder = f"{POLICIES}/{policy.name}"
            lowest, highest = (
                now.tree.natural(f"{folder}/{_FILES[end]}") for end in (LOWEST, HIGHEST)
            )
            if isinstance(lowest, Unavailable) or isinstance(highest, Unavailable):
                continue
            if wanted[folder] < lowest or (wanted[folder] > highest and not rises):
                return (
                    f"{self.title} cannot be {value} on CPUs {format_cpulist(policy.cpus)}, which "
                    f"run at {shown_frequency(lowest)} to {shown_frequency(highest)}"
                )
            if value != HIGHEST and (near := _nearest(now.tree, folder, wanted[folder])):
                offered = " and ".join(map(shown_frequency, near))
                return (
                    f"{self.title} cannot be {value} on CPUs {format_cpulist(policy.cpus)}: next "
                    f"to it {policy.driver or 'the driver'} offers {offered}"
                )
        return self._crossed(now)

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the limits of the policies; none where one is not known.

        The highest is a word here, too: turbo moves it (Linux drivers/cpufreq/intel_pstate.c,
        __intel_pstate_update_max_freq, since 6.10; amd-pstate.c, amd_pstate_cpu_boost_update).
        """
        wanted = self._limits(now, value)
        if isinstance(wanted, Unavailable):
            return []
        return [
            SettingFile(f"{folder}/{self.file}", HIGHEST if value == HIGHEST else str(khz))
            for folder, khz in wanted.items()
        ]

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether the limit is in force, or the end of a table beyond which it is.

        acpi-cpufreq's `cpuinfo_max_freq` has boost, which its table lacks.
        """
        found = tree.natural(file.path)
        at_end = file.value == HIGHEST and found == max(_table(tree, file.folder), default=None)
        return at_end or str(found) == _khz(tree, file)

    def written(self, tree: Tree, file: SettingFile) -> str:
        return _khz(tree, file)

    def _crossed(self, now: Present) -> str | None:
        """Return that the lower limit would be above the upper one; the kernel refuses that."""
        low, high = now.asked("min_frequency"), now.asked("max_frequency")
        # What is above the highest of all is outside of the range, too.
        if low is None or high in (None, HIGHEST):
            return None
        lows, highs = self._limits(now, low), self._limits(now, high)
        if isinstance(lows, dict) and isinstance(highs, dict):
            for folder, khz in lows.items():
                if khz > highs[folder]:
                    return f"the lowest frequency ({low}) would be above the highest one ({high})"
        return None

    @staticmethod
    def _limits(now: Present, value: str) -> dict[str, int] | Unavailable:
        """Return the kHz of a value on each policy, by directory."""
        limits = {}
        for folder in now.directories:
            khz = frequency_khz(value)
            found = now.tree.natural(f"{folder}/{_FILES[value]}") if khz is None else khz
            if isinstance(found, Unavailable):
                return found
            limits[folder] = found
        return limits


def _nearest(tree: Tree, folder: str, khz: int) -> list[int]:
    """Return the offered frequencies below and above one that a policy does not offer, in kHz.

    None where it is offered, or all are. The kernel replaces a limit between those of a driver's
    table (Linux drivers/cpufreq/cpufreq.c, cpufreq_set_policy).
    """
    table = _table(tree, folder)
    if khz in table:
        return []
    below, above = ([end for end in table if end < khz], [end for end in table if end > khz])
    return [*sorted(below)[-1:], *sorted(above)[:1]]


def _table(tree: Tree, folder: str) -> set[int]:
    """Return the frequencies that a policy's driver offers, in kHz; none where it offers all."""
    texts = (known(tree.text(f"{folder}/{file}")) or "" for file in _TABLES)
    return {int(text) for text in " ".join(texts).split() if text.isdecimal()}


def _khz(tree: Tree, file: SettingFile) -> str:
    """Return the kHz that a limit stands for now; the word itself where that is not known."""
    if file.value != HIGHEST:
        return file.value
    found = tree.natural(f"{file.folder}/{_FILES[HIGHEST]}")
    return file.value if isinstance(found, Unavailable) else str(found)


def _lower(tree: Tree, file: SettingFile) -> int | None:
    """Return what is in force of a limit, in kHz, where it is lower than the limit; else None."""
    found, khz = tree.natural(file.path), _khz(tree, file)
    if isinstance(found, Unavailable) or not khz.isdecimal() or found >= int(khz):
        return None
    return found


class MaxFrequency(FrequencyLimit):
    """The highest frequency of each policy, of which the file shows what is in force.

    A limit where the hardware ends is none, and put back as such. While turbo is off, pstate
    drivers show the highest frequency without turbo where the limit is above that (Linux
    drivers/cpufreq/intel_pstate.c, intel_pstate_get_max_freq; amd-pstate.c,
    amd_pstate_cpu_boost_update); while CPUs are cooled, it may be any lower one.
    """

    name = "max_frequency"
    title = "the highest frequency"
    file = "scaling_max_freq"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{file}", re.ASCII)

    def text(self, tree: Tree, path: str) -> str | Unavailable:
        """Return the limit in kHz, or HIGHEST where it is none."""
        found = tree.natural(path)
        if isinstance(found, Unavailable):
            return tree.text(path)
        return HIGHEST if _is_none(tree, path.rpartition("/")[0], found) else str(found)

    def is_settled(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether the file shows the limit itself: a lower one may be anybody's.

        While turbo is off, no limit and one that only turbo exceeds look the same.
        """
        hidden = file.value == HIGHEST and read_turbo(tree) is False
        return not hidden and self._is_shown(tree, file)

    def _is_shown(self, tree: Tree, file: SettingFile) -> bool:
        return super().holds(tree, file) or self.text(tree, file.path) == file.value

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether the limit is in force, or the lower one without turbo or by heat."""
        if self._is_shown(tree, file):
            return True
        found = _lower(tree, file)
        if found is None:
            return False
        by_turbo = read_turbo(tree) is False and _is_none(tree, file.folder, found)
        return by_turbo or is_cooled(tree)

    def written(self, tree: Tree, file: SettingFile) -> str:
        """Return the limit in kHz; while turbo is off, the hardware's end with turbo is unknown."""
        no_limit = file.value == HIGHEST and read_turbo(tree) is False
        return _NO_LIMIT_KHZ if no_limit else super().written(tree, file)


def _is_none(tree: Tree, folder: str, khz: int) -> bool:
    """Return whether an upper limit is none: it is where the hardware ends, now or without turbo.

    Before Linux 6.10, intel_pstate shows that end with turbo, in whatever state turbo is.
    """
    if khz in (tree.natural(f"{folder}/{_FILES[HIGHEST]}"), max(_table(tree, folder), default=-1)):
        return True
    if read_turbo(tree) is not False:
        return False
    ends = [tree.natural(f"{folder}/{_FILES[end]}") for end in (BASE, HIGHEST)]
    return khz >= min((end for end in ends if isinstance(end, int)), default=khz + 1)


class MinFrequency(FrequencyLimit):
    """The lowest frequency of each policy; the kernel shows none above the upper limit in force."""

    name = "min_frequency"
    title = "the lowest frequency"
    file = "scaling_min_freq"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{file}", re.ASCII)

    def is_settled(self, tree: Tree, file: SettingFile) -> bool:
        return super().holds(tree, file)

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether the limit is in force, or as high as heat lets the upper one be."""
        if super().holds(tree, file):
            return True
        upper = tree.natural(f"{file.folder}/{MaxFrequency.file}")
        return _lower(tree, file) == upper and is_cooled(tree)


FREQUENCY_LIMITS = (MaxFrequency, MinFrequency)
