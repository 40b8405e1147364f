"""Who places threads on CPUs: the kernel's scheduler with its switches, or one of sched_ext.

A scheduler of sched_ext is a program named `scx_…`: it is in force as long as the program runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

from msgspec import Meta

from base.text import shown, unknown_word
from configs.decoding import InvalidError, MismatchError, written
from configs.values import Text

# Whatever is in force; nothing is changed.
CURRENT = "current"
# No scheduler of sched_ext: the kernel's own one.
KERNEL = "kernel"
ON, OFF = "on", "off"

PREFIX = "scx_"
# The kernel keeps 127 characters of a scheduler's name (SCX_OPS_NAME_LEN), a version included.
_PROGRAM = re.compile(r"scx_[a-z0-9][a-z0-9_]{0,31}", re.ASCII)
# Root starts the program: no quotes, and no characters that are special to a shell.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.,:=/+%@-]{1,100}", re.ASCII)
# YAML 1.1 reads these as the truth values that on and off are there.
_SWITCHES = {"on": ON, "true": ON, "yes": ON, "off": OFF, "false": OFF, "no": OFF, CURRENT: CURRENT}


@dataclass(frozen=True)
class Scheduling:
    """A scheduler, energy-aware scheduling (EAS) and Intel's ITMT, each CURRENT where it stays.

    `scheduler` is KERNEL or a command line that begins with `scx_`; the others are ON or OFF.
    """

    scheduler: str = CURRENT
    energy_aware: str = CURRENT
    itmt: str = CURRENT

    @property
    def asked(self) -> dict[str, str]:
        """What is asked for, by field, without what stays as it is."""
        return {name: value for name, value in vars(self).items() if value != CURRENT}

    @property
    def words(self) -> str:
        """The same for readers: `scx_lavd, EAS off`; empty where everything stays as it is."""
        return words_of(**self.asked)

    @property
    def program(self) -> str | None:
        """The name of the program whose scheduler is asked for, None without one."""
        return self.scheduler.split()[0] if self.scheduler.startswith(PREFIX) else None


# A case that takes whatever is in force.
AS_IT_IS = Scheduling()


def words_of(
    scheduler: str | None = None, energy_aware: str | None = None, itmt: str | None = None
) -> str:
    """Return for readers what is asked for; None is not."""
    switches = (("EAS", energy_aware), ("ITMT", itmt))
    parts = (scheduler, *(f"{name} {value}" for name, value in switches if value))
    return ", ".join(filter(None, parts))


def recorded_words(fields: Mapping[str, Any]) -> str:
    """Return the same of a record's fields."""
    return words_of(*(fields.get(name) for name in vars(AS_IT_IS)))


def schedulings_of(
    schedulers: tuple[str, ...] | None,
    energy_aware: tuple[str, ...] | None,
    itmt: tuple[str, ...] | None,
) -> tuple[Scheduling, ...]:
    """Return all combinations, the first values of all first; None is CURRENT alone."""
    factors = (schedulers, energy_aware, itmt)
    return tuple(Scheduling(*of) for of in product(*(factor or (CURRENT,) for factor in factors)))


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


def _on_or_off(plain: str) -> str:
    if plain.lower() not in _SWITCHES:
        raise MismatchError
    return _SWITCHES[plain.lower()]


def switch(what: str) -> Meta:
    """Return the note of ON, OFF or CURRENT; YAML's other words for the first two are the same."""
    schema = {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "on", "no", "off", CURRENT]}]}
    expected = f"{what}: {ON}, {OFF} or {CURRENT}"
    return written(Text, to=_on_or_off, expected=expected, schema=schema)
