"""A node's settings from before a study: saved before the first change, put back at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.settings.journal import STUDY, Entry, new_entry, open_journal, unlock_state
from pinstudy.runners.settings.recovery import Restored, restore
from pinstudy.runners.settings.registry import ordered
from pinstudy.runners.settings.setting import SettingFile


class Saved:
    """The journal of one study, which all of its settings share; `restore` must be called at last.

    The commands are a site's, by which governors and schedulers are put back; empty without any.
    """

    def __init__(
        self,
        root: Path,
        governor_command: Sequence[str] = (),
        scheduler_command: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._commands = tuple(governor_command), tuple(scheduler_command)
        self._entry: Entry | None = None
        # Whether somebody removed the journal, which was written again since.
        self._vanished = False
        self.journal = open_journal(root, STUDY)

    @property
    def leftover(self) -> str:
        """Why nothing may be changed: an earlier study's settings are not put back; else empty."""
        if self._entry is not None or not self.journal.exists():
            return ""
        return (
            f"{self.journal.path} has settings of an earlier study that are not put back yet: see "
            f"`{PINSTUDY} restore`"
        )

    @property
    def files(self) -> tuple[SettingFile, ...]:
        """The settings from before the study that are saved."""
        return self._entry.settings if self._entry else ()

    def value(self, path: str) -> str | None:
        """Return what a setting was before the study; None for one that is not saved."""
        return next((file.value for file in self.files if file.path == path), None)

    def add(self, settings: Sequence[SettingFile]) -> str | None:
        """Write settings that are about to change to the disk; return why that failed, or None.

        Those that are saved already keep their values.
        """
        before = self.files
        known = {setting.path for setting in before}
        new = [setting for setting in settings if setting.path not in known]
        entry = self._entry or new_entry(Tree(self._root), (), *self._commands)
        entry = structs.replace(entry, settings=tuple(ordered((*before, *new))))
        self._vanished |= self._entry is not None and not self.journal.exists()
        try:
            self._entry = self.journal.write(entry)
        except StudyError as error:
            return str(error)
        return None

    def lock(self) -> str | None:
        """Keep others from changing settings before they are read; return why that failed, or None.

        What is read without it may be what another process of root's has set, and puts back.
        """
        try:
            self.journal.lock()
        except StudyError as error:
            return str(error)
        return None

    def restore(self) -> Restored | None:
        """Put all settings back; return None when nothing was changed."""
        saved, self._entry = self._entry, None
        done = None if saved is None else restore(self._root, self.journal, saved)
        unlock_state()
        return done and replace(done, vanished=done.vanished or self._vanished)
