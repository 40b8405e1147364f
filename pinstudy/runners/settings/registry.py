"""All settings that pinstudy changes, in the order in which they are put back.

A new one is its class, its line here, and its entry in pinstudy/configs/settings.py, by which a
study asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pinstudy.runners.settings import epp, governor, turbo
from pinstudy.runners.settings.frequency_limit import MaxFrequency, MinFrequency
from pinstudy.runners.settings.kernel_switches import CacheAware, EnergyAware, Itmt, KernelFeatures
from pinstudy.runners.settings.power_limit import PackagePowerLimit
from pinstudy.runners.settings.sched_ext import SchedExt
from pinstudy.runners.settings.setting import Setting, SettingFile

# Energy-aware scheduling can be put back only before its governors are. The EPP follows the
# governor. The upper limit comes first: putting back mostly raises lowered limits, and a lower
# limit above the upper one is refused. Where limits are lowered instead, the second pass succeeds.
# A fixed clock has to be between the limits, and may need turbo.
SETTINGS: tuple[Setting, ...] = (
    SchedExt(),
    EnergyAware(),
    Itmt(),
    CacheAware(),
    PackagePowerLimit(),
    governor.Governor(),
    governor.Tuning(),
    epp.Epp(),
    MaxFrequency(),
    MinFrequency(),
    turbo.Turbo(),
    governor.FixedClock(),
    KernelFeatures(),
)
# The files of a policy, in the same order.
POLICY_FILES = (
    *(governor.FILE, epp.FILE, MaxFrequency.file, MinFrequency.file, turbo.FILE),
    governor.FIXED_FILE,
)
FACTORS = {setting.name: setting for setting in SETTINGS if setting.name}
SCALING = tuple(setting for setting in SETTINGS if setting.scaling)


def owner_of(path: str) -> Setting | None:
    """Return the setting that a file belongs to; None for one that pinstudy does not change."""
    return next((setting for setting in SETTINGS if setting.paths.fullmatch(path)), None)


def is_valid(file: SettingFile) -> bool:
    """Return whether pinstudy changes this file, and it can have this text."""
    setting = owner_of(file.path)
    return setting is not None and setting.texts.fullmatch(file.value) is not None


def ordered(files: Iterable[SettingFile]) -> list[SettingFile]:
    """Return files of settings as they are put back; those of one setting keep their order."""
    return sorted(files, key=_place)


def _place(file: SettingFile) -> int:
    setting = owner_of(file.path)
    return SETTINGS.index(setting) if setting else len(SETTINGS)
