"""What a setting of the node is: read, refused or written, and put back from a journal.

pinstudy/runners/settings/registry.py names all settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import Cpufreq

# The text of a kernel's file.
WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
WHOLE_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)

NOBODY = "at this site nobody sets it"


class SettingFile(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file of the node, by its path there, and its present or wanted text."""

    path: str
    value: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The path without its last part."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class Present:
    """The node as it is now, and the CPUs of a case; `wanted` are its settings by name."""

    tree: Tree
    cpufreq: Cpufreq
    cpus: Sequence[int] = ()
    wanted: Mapping[str, str] | None = None

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories of the policies that scale the CPUs."""
        return self.cpufreq.directories(self.cpus)

    def scaled(self, field: str) -> str | Unavailable:
        """Return how the CPUs are scaled by a field of a record, such as `epp`."""
        state = self.cpufreq.state_of(self.cpus)
        found: str | None = state.fields.get(field)
        return found or Unavailable(state.unavailable[field])

    def asked(self, name: str) -> str | None:
        """Return what the case asks of a setting; None where it takes what is in force."""
        return (self.wanted or {}).get(name)


class Setting:
    """A setting of the node, in a study's words; all of its files are given and put back together.

    `paths` and `texts` are the files that it changes and what they may hold: nothing else is ever
    written from a journal. One of frequency `scaling` is saved with all others of these, because
    drivers change them together. `of_scheduler` is whether a site's rule of schedulers says who
    sets it, else that of governors does. One that is `hidden_by_governors` can be read and put back
    only before a governor changes, and is not tried twice.
    """

    name: ClassVar[str] = ""
    """as a study has it; empty for what only `pinstudy tune` changes"""
    title: ClassVar[str] = ""
    """as messages have it"""
    paths: ClassVar[re.Pattern[str]]
    texts: ClassVar[re.Pattern[str]] = WORD
    scaling: ClassVar[bool] = False
    of_scheduler: ClassVar[bool] = False
    hidden_by_governors: ClassVar[bool] = False

    def read(self, now: Present) -> str | Unavailable:
        """Return what is in force on the CPUs, with CPUs or packages where these differ."""
        raise NotImplementedError

    def is_in_force(self, now: Present, value: str) -> bool:
        """Return whether a value is in force on the CPUs."""
        return self.read(now) == value

    def all_hold(self, now: Present, value: str) -> bool:
        """Return whether there are files for a value, and each of them has it."""
        files = self.files(now, value)
        return bool(files) and all(self.holds(now.tree, file) for file in files)

    def impossible(self, now: Present, value: str) -> str | None:
        """Return why this node can never have a value, with what the case asks for beside it."""
        return None

    def refused(self, now: Present, value: str) -> str | None:
        """Return why this node cannot have a value now, whoever sets it; None when it can."""
        return self.impossible(now, value)

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return what the files hold when the value is in force; those of a policy for each CPU."""
        raise NotImplementedError

    def text(self, tree: Tree, path: str) -> str | Unavailable:
        """Return what a file of the setting holds."""
        return tree.text(path)

    def holds(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether a file has its text, as far as the kernel shows it."""
        return self.text(tree, file.path) == file.value

    def is_settled(self, tree: Tree, file: SettingFile) -> bool:
        """Return whether a file needs no writing."""
        return self.holds(tree, file)

    def written(self, tree: Tree, file: SettingFile) -> str:
        """Return what is written into a file so that it has its text."""
        return file.value

    def problem(self, now: Present, value: str) -> str | None:
        """Return why a value is not in force, or None when it is."""
        if self.is_in_force(now, value):
            return None
        found = self.read(now)
        if isinstance(found, Unavailable):
            return f"{self.title} cannot be {value}: {found.reason}"
        return f"{self.title} is {found}, not {value}"


def listed(found: Mapping[str, str]) -> str:
    """Return values with what has each, `on 0-7`, where there are several."""
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{value} on {holders}" for value, holders in found.items())
