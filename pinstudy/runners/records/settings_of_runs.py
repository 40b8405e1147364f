"""The settings in force during a run, by the words for them, from its record or a reading. Pure.

They are those that stay in force until somebody changes them, so that attempts may differ in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pinstudy.base.text import one_line

GOVERNOR = "governor"
SCALING = {
    "governor_read": GOVERNOR,
    "epp": "EPP",
    "min_khz": "lowest frequency (kHz)",
    "max_khz": "highest frequency (kHz)",
    "floor_khz": "floor of frequency (kHz)",
    "driver_mode": "mode of the frequency driver",
}
SCHEDULING = {
    "sched_energy_aware": "energy-aware scheduling",
    "sched_itmt": "ITMT",
    "sched_cache_aware": "cache-aware scheduling",
    "preemption": "preemption",
    "sched_ext_scheduler": "scheduler of sched_ext",
}
# Those of which tables have a note in other words (pinstudy/analysis/tables/footnotes.py).
NOTED_SCHEDULING = (SCHEDULING["sched_energy_aware"], SCHEDULING["sched_ext_scheduler"])
# What a node runs from, as it is recorded, and the words for it.
PowerSupply = Literal["mains", "battery"]
MAINS: PowerSupply = "mains"
BATTERY: PowerSupply = "battery"
POWER_SUPPLY = "power supply"
POWER = {"power_supply": POWER_SUPPLY, "platform_profile": "platform profile"}
ISOLATION = {"isolated_cpus": "isolated CPUs", "cpuset_partition": "cpuset partition"}
# What is recorded where no CPU is isolated, or this process is in no partition.
NONE = "none"
# The name that is recorded where sched_ext has loaded no scheduler.
NO_SCHED_EXT = "none"
# Those that neither a governor nor a supply moves: cases that differ in them, and did not ask for
# that, were made before and after somebody switched them.
SWITCHED = (
    *(SCHEDULING[name] for name in ("sched_itmt", "sched_cache_aware", "preemption")),
    *(SCALING[name] for name in ("floor_khz", "driver_mode")),
    *ISOLATION.values(),
)
_TEXTS = SCALING | SCHEDULING | POWER | ISOLATION
_LIMITS = {"pl1_w": "PL1 of {} (W)", "tau_s": "window of PL1 of {} (s)", "pl2_w": "PL2 of {} (W)"}
# The fields of a record that `settings_in` reads.
FIELDS = (*_TEXTS, "power_limits")


def settings_in(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the known settings of a record by their words, each power limit on its own.

    Where CPUs differ, a value has the CPUs of each.
    """
    found = {}
    for name, word in _TEXTS.items():
        value = record.get(name)
        if isinstance(value, dict):
            value = ", ".join(f"{key} on {cpus}" for key, cpus in value.items())
        if value is not None:
            found[word] = one_line(value)
    return found | power_limits_in(record)


def is_unlimited(record: Mapping[str, Any]) -> bool:
    """Return whether the highest frequency in force is the hardware's own, on all CPUs."""
    highest = record.get("max_khz")
    return highest is not None and highest == record.get("highest_khz")


def power_limits_in(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the limits of power in a record, in watts and seconds, by their words."""
    return {
        word.format(one_line(domain)): f"{limits[name]:.10g}"
        for domain, limits in (record.get("power_limits") or {}).items()
        for name, word in _LIMITS.items()
        if name in limits
    }
