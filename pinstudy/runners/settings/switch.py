"""A switch of the kernel's scheduler: one file that holds on or off."""

from __future__ import annotations

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import ON
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.settings.setting import Present, Setting, SettingFile


class Switch(Setting):
    """A switch; a subclass says which file it is and reads it."""

    of_scheduler = True

    def path(self, tree: Tree) -> str:
        """Return the file of the switch on this node."""
        raise NotImplementedError

    def refused(self, now: Present, value: str) -> str | None:
        """Return why the switch cannot be set, in whatever state it is."""
        found = self.read(now)
        if isinstance(found, Unavailable):
            return f"{self.title} cannot be switched {value}: {found.reason}"
        return None

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the file's text for a value.

        Kernels that show truth values as letters take them, too.
        """
        path = self.path(now.tree)
        letters = now.tree.text(path) in ("Y", "N")
        return [
            SettingFile(path, ("Y" if letters else "1") if value == ON else "N" if letters else "0")
        ]
