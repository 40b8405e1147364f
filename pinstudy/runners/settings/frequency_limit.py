"""A limit of frequency of each policy, in kHz (Linux Documentation/admin-guide/pm/cpufreq.rst)."""

from __future__ import annotations

from typing import ClassVar

from pinstudy.base.cpulist import cpulists_by_value, format_cpulist
from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import BASE, HIGHEST, LOWEST, frequency_khz, shown_frequency
from pinstudy.runners.node.cpufreq import POLICIES
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile

# What the words of a study stand for on each policy.
_FILES = {HIGHEST: "cpuinfo_max_freq", BASE: "base_frequency", LOWEST: "cpuinfo_min_freq"}


class FrequencyLimit(Setting):
    """The upper or the lower limit; `file` is the one of a policy that has it."""

    texts = WHOLE_NUMBER
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
        if len(found) == 1:
            return shown_frequency(next(iter(found)))
        return ", ".join(f"{shown_frequency(khz)} on {cpus}" for khz, cpus in found.items())

    def is_in_force(self, now: Present, value: str) -> bool:
        """Return whether all CPUs have the limit."""
        files = self.files(now, value)
        return bool(files) and all(self.holds(now.tree, file) for file in files)

    def impossible(self, now: Present, value: str) -> str | None:
        """Return why a policy cannot have the limit."""
        if reason := now.cpufreq.reason:
            return reason
        wanted = self._limits(now, value)
        if isinstance(wanted, Unavailable):
            return f"{self.title} cannot be {value}: {wanted.reason}"
        for policy in now.cpufreq.policies_of(now.cpus):
            folder = f"{POLICIES}/{policy.name}"
            lowest, highest = (
                now.tree.natural(f"{folder}/{_FILES[end]}") for end in (LOWEST, HIGHEST)
            )
            if isinstance(lowest, Unavailable) or isinstance(highest, Unavailable):
                continue
            if not lowest <= wanted[folder] <= highest:
                return (
                    f"{self.title} cannot be {value} on CPUs {format_cpulist(policy.cpus)}, which "
                    f"run at {shown_frequency(lowest)} to {shown_frequency(highest)}"
                )
        return self._crossed(now)

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the limits of the policies; none where one is not known."""
        wanted = self._limits(now, value)
        if isinstance(wanted, Unavailable):
            return []
        return [SettingFile(f"{folder}/{self.file}", str(khz)) for folder, khz in wanted.items()]

    def _crossed(self, now: Present) -> str | None:
        """Return that the lower limit would be above the upper one; the kernel refuses that."""
        low, high = now.asked("min_frequency"), now.asked("max_frequency")
        if low is None or high is None:
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
