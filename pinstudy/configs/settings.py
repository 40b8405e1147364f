"""The settings of a node that a study may ask for: what a value of each may be, and its short name.

How each is read and set stands in its file of pinstudy/runners/settings. A scheduler of sched_ext
is a program named `scx_…`: it is in force as long as the program runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from pinstudy.base.text import shown, unknown_word
from pinstudy.configs.decoding import InvalidError, MismatchError, written
from pinstudy.configs.values import Text, word

# Whatever is in force; nothing is changed.
CURRENT = "current"
# No scheduler of sched_ext: the kernel's own one.
KERNEL = "kernel"
ON, OFF = "on", "off"
GOVERNOR, SCHED_EXT = "governor", "sched_ext"

# Linux Documentation/admin-guide/pm/cpufreq.rst, "Generic Scaling Governors". `userspace` is not
# included: it is not a policy but a frequency that somebody writes.
GOVERNORS = (CURRENT, "performance", "powersave", "schedutil", "ondemand", "conservative")
# Linux Documentation/admin-guide/pm/intel_pstate.rst, "Energy vs Performance Hints". `default` is
# not included: the kernel reads back another word for it.
EPPS = (CURRENT, "performance", "balance_performance", "balance_power", "power")
HIGHEST, BASE, LOWEST = "highest", "base", "lowest"

PREFIX = "scx_"
# The kernel keeps 127 characters of a scheduler's name (SCX_OPS_NAME_LEN), a version included.
_PROGRAM = re.compile(r"scx_[a-z0-9][a-z0-9_]{0,31}", re.ASCII)
# Root starts the program: no quotes, and no characters that are special to a shell.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.,:=/+%@-]{1,100}", re.ASCII)
# YAML 1.1 reads these as the truth values that on and off are there.
_SWITCHES = {"on": ON, "true": ON, "yes": ON, "off": OFF, "false": OFF, "no": OFF, CURRENT: CURRENT}
_FREQUENCY = re.compile(r"([0-9]{1,8}(?:\.[0-9]{1,6})?)\s*(kHz|MHz|GHz)", re.ASCII)
_KHZ = {"kHz": 1, "MHz": 1000, "GHz": 1_000_000}
# No processor is slower than 1 MHz or faster than 20 GHz: a typing error.
_LEAST_KHZ, _MOST_KHZ = 1000, 20_000_000
_POWER = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?)\s*W", re.ASCII)
# A package that is limited below this does not work any more.
_LEAST_W, _MOST_W = 0.5, 10_000.0


def shown_frequency(khz: int) -> str:
    """Return a frequency as a study writes it: `2.4 GHz`."""
    return f"{khz / 1e6:.10g} GHz"


def frequency_khz(value: str) -> int | None:
    """Return the kHz of a frequency in a study's words; None for `highest`, `base` and `lowest`."""
    match = _FREQUENCY.fullmatch(value)
    return round(float(match[1]) * _KHZ[match[2]]) if match else None


def shown_power(watts: float) -> str:
    """Return a power as a study writes it: `65 W`."""
    return f"{watts:.10g} W"


def power_w(value: str) -> float:
    """Return the watts of a power in a study's words."""
    return float(value.removesuffix("W"))


def _scheduler(plain: str) -> str:
    """Return the text with single blanks between its words."""
    program, *arguments = plain.split()
    if not arguments and program in (CURRENT, KERNEL):
        return program
    if not program.startswith(PREFIX):
        raise InvalidError(unknown_word("scheduler", plain, (CURRENT, KERNEL, f"{PREFIX}…")))
    if not _PROGRAM.fullmatch(program):
        raise MismatchError("small letters, digits and _ after scx_, 32 at most, and no folder")
    for argument in arguments:
        if not _ARGUMENT.fullmatch(argument):
            rule = "letters, digits and _ . , : = / + % @ - only"
            raise MismatchError(f"it has the argument {shown(argument)}; {rule}")
    return " ".join((program, *arguments))


def _on_or_off(plain: str) -> str:
    if plain.lower() not in _SWITCHES:
        raise MismatchError
    return _SWITCHES[plain.lower()]


def _frequency(plain: str) -> str:
    if plain in (CURRENT, HIGHEST, BASE, LOWEST):
        return plain
    khz = frequency_khz(plain.strip())
    if khz is None:
        raise MismatchError
    if not _LEAST_KHZ <= khz <= _MOST_KHZ:
        raise InvalidError(f"{shown(plain)} is not from 1 MHz to 20 GHz")
    return shown_frequency(khz)


def _power(plain: str) -> str:
    return plain if plain == CURRENT else shown_power(watts(plain))


def watts(plain: str) -> float:
    """Return the watts of a power as people write it: `65W`, `65 W`.

    Raises MismatchError and InvalidError.
    """
    match = _POWER.fullmatch(plain.strip())
    if match is None:
        raise MismatchError
    if not _LEAST_W <= float(match[1]) <= _MOST_W:
        raise InvalidError(f"{shown(plain)} is not from 0.5 W to 10 kW")
    return float(match[1])


def _switch(title: str) -> Meta:
    """Return the note of ON, OFF or CURRENT; YAML's other words for the first two are the same."""
    schema = {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "on", "no", "off", CURRENT]}]}
    expected = f"{title}: {ON}, {OFF} or {CURRENT}"
    return written(Text, to=_on_or_off, expected=expected, schema=schema)


Governor = Annotated[str, word("governor", GOVERNORS)]
_Epp = Annotated[str, word("energy performance preference (EPP)", EPPS)]
# CURRENT, KERNEL, or a program `scx_…` with its arguments in one text.
Scheduler = Annotated[
    str,
    written(
        Text,
        to=_scheduler,
        expected=(
            f"a scheduler ({CURRENT}, {KERNEL}, or a program such as scx_lavd with its arguments)"
        ),
    ),
]
_Frequency = Annotated[
    str,
    written(
        Text,
        to=_frequency,
        expected=f"a frequency such as 2.4 GHz, {HIGHEST}, {BASE}, {LOWEST} or {CURRENT}",
    ),
]
_Power = Annotated[str, written(Text, to=_power, expected=f"a power such as 65 W, or {CURRENT}")]
_Turbo = Annotated[str, _switch("turbo")]
_EnergyAware = Annotated[str, _switch("energy-aware scheduling")]
_Itmt = Annotated[str, _switch("the preference of faster cores (ITMT)")]
_CacheAware = Annotated[str, _switch("cache-aware scheduling")]


@dataclass(frozen=True)
class SettingFactors:
    """The values of each setting that a study asks for; None where it takes what is in force."""

    expected: ClassVar[str] = "a table from settings to their values"

    governor: tuple[Governor, ...] | None = None
    """governors a case is to run under"""
    epp: tuple[_Epp, ...] | None = None
    """energy performance preferences of pstate drivers: `performance`, `balance_performance`,
    `balance_power`, `power`"""
    max_frequency: tuple[_Frequency, ...] | None = None
    """upper limits of frequency: `2.4 GHz`, or `highest`, `base`, `lowest` of each CPU"""
    min_frequency: tuple[_Frequency, ...] | None = None
    """lower limits of frequency, written so as well"""
    turbo: tuple[_Turbo, ...] | None = None
    """whether frequencies above the base may be used: `on`, `off`"""
    power_limit: tuple[_Power, ...] | None = None
    """long-term power limits (PL1) of each package: `65 W`"""
    cache_aware: tuple[_CacheAware, ...] | None = None
    """cache-aware scheduling, in Linux from 7.2 on: `on`, `off`"""
    energy_aware: tuple[_EnergyAware, ...] | None = None
    """energy-aware scheduling: `on`, `off`"""
    itmt: tuple[_Itmt, ...] | None = None
    """Intel's preference of faster cores: `on`, `off`"""
    sched_ext: tuple[Scheduler, ...] | None = None
    """schedulers: `kernel`, or programs of sched_ext such as `scx_lavd` with their arguments in one
    text ([scheduling.md](scheduling.md))"""


# In the order in which tables, labels and the numbering of rows have them; the governor, which has
# a column of its own, is not among them.
NAMES = tuple(field.name for field in fields(SettingFactors) if field.name != GOVERNOR)
# How labels name a value of each.
_LABELS = {
    "epp": "EPP {}",
    "max_frequency": "max {}",
    "min_frequency": "min {}",
    "turbo": "turbo {}",
    "power_limit": "PL1 {}",
    "cache_aware": "cache-aware {}",
    "energy_aware": "EAS {}",
    "itmt": "ITMT {}",
    SCHED_EXT: "{}",
}


@dataclass(frozen=True)
class Settings:
    """What a case asks for beside its governor: name and value of each setting, none CURRENT.

    They are in the order of NAMES.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def asked(self) -> dict[str, str]:
        """The values by name."""
        return dict(self.pairs)

    def __getitem__(self, name: str) -> str:
        """Return the value of a setting, CURRENT where it stays as it is."""
        return self.asked.get(name, CURRENT)

    @property
    def words(self) -> str:
        """The same for readers: `EPP power, EAS off`; empty where everything stays as it is."""
        return settings_in_words(self.asked)


# A case that takes whatever is in force.
AS_IT_IS = Settings()


def program_of(scheduler: str) -> str | None:
    """Return the program of a scheduler as a study names it; None for KERNEL and CURRENT."""
    return scheduler.split()[0] if scheduler.startswith(PREFIX) else None


def settings_of(**values: str) -> Settings:
    """Return the settings with these values by name, as a study writes them."""
    return Settings(
        tuple((name, values[name]) for name in NAMES if values.get(name, CURRENT) != CURRENT)
    )


def settings_in_words(values: Mapping[str, str]) -> str:
    """Return settings by name for readers: `EPP power, EAS off`."""
    known = [name for name in NAMES if name in values]
    names = (*known, *(name for name in values if name not in known))
    return ", ".join(_LABELS.get(name, f"{name} {{}}").format(values[name]) for name in names)


def recorded_words(record: Mapping[str, Any]) -> str:
    """Return in words what a record's case asked for beside its governor."""
    return settings_in_words(record.get("settings") or {})


def combinations(factors: SettingFactors | None) -> tuple[Settings, ...]:
    """Return all combinations of the values without governors; the last setting varies fastest."""
    if factors is None:
        return (AS_IT_IS,)
    values = [getattr(factors, name) or (CURRENT,) for name in NAMES]
    return tuple(
        settings_of(**dict(zip(NAMES, combination, strict=True)))
        for combination in product(*values)
    )
