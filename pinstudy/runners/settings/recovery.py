"""Saves settings in a journal before a study changes them, and restores them, also after a crash.

A study that was killed leaves settings changed: the next command finds its journal and puts them
back. After a reboot nothing is put back: the boot has reset all settings, and the journal's values
may come from another kernel, whose governors had other meanings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from pinstudy.base import PINSTUDY
from pinstudy.base.command import without_interruption
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import first_of
from pinstudy.runners.host.lock import is_locked, node_lock
from pinstudy.runners.host.root_helper import RootHelper
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.settings.files import in_force, put_in_force
from pinstudy.runners.settings.journal import (
    STUDY,
    SYSTEM_FOLDER,
    TUNE,
    Entry,
    Journal,
    new_entry,
    open_journal,
    parsed_entry,
    predates_boot,
    state_folder,
    unlock_state,
)
from pinstudy.runners.settings.registry import ordered
from pinstudy.runners.settings.setting import SettingFile

_MAX_SHOWN = 3
_LATER = f"what `{PINSTUDY} tune` has changed is put back after what a study has"
_VANISHED = (
    "the journal of settings {} was removed or replaced while the study ran; the settings were put "
    "back from memory"
)


@dataclass(frozen=True)
class Restored:
    """The result of a restore: what the journal held, and by path why a setting is not verified.

    `rebooted` when nothing was put back, because the boot has reset all settings. `vanished` when
    the journal was not there any more, and this process still knew the settings.
    """

    journal: Journal
    entry: Entry
    problems: dict[str, str] = field(default_factory=dict)
    rebooted: bool = False
    vanished: bool = False

    @property
    def message(self) -> str:
        """One line: which settings were not put back, why, and what to do; empty if all were.

        A journal that vanished is told in any case.
        """
        if self.rebooted:
            return (
                f"the node was rebooted since its settings were changed ({self.entry.process}): "
                "the boot has set them anew, and nothing was put back"
            )
        if not self.problems:
            return _VANISHED.format(self.journal.path) if self.vanished else ""
        reasons = list(dict.fromkeys(self.problems.values()))
        if self.vanished:
            return (
                f"{_VANISHED.format(self.journal.path)}, but {len(self.problems)} of "
                f"{len(self.entry.settings)}: {first_of(reasons, _MAX_SHOWN)}; put back by hand: "
                + ", ".join(
                    f"{setting.path} was {setting.value}"
                    for setting in self.entry.settings
                    if setting.path in self.problems
                )
            )
        return (
            f"{len(self.problems)} of {len(self.entry.settings)} settings could not be put back: "
            f"{first_of(reasons, _MAX_SHOWN)}; {self.journal.path} keeps what they were: "
            f"try `{PINSTUDY} restore` (as the user who changed them), or give up with "
            f"`{PINSTUDY} restore --forget`"
        )


def restore(root: Path, journal: Journal, known: Entry | None = None) -> Restored | None:
    """Put every setting of the journal in force, read all back, and remove the journal.

    Where the journal cannot be used, or is gone, what this process itself has saved in it, `known`,
    is put back. A journal with a setting that could not be verified stays, and that of a tuning
    waits for a study's. A journal from before a reboot is removed, and no setting is changed.
    Returns None when there is no journal. Signals
    that stop a study wait until this is done. Raises UserError for a journal that cannot be used,
    StudyError for one that cannot be removed.
    """
    with without_interruption():
        if helper := journal.helper:
            return _restored_by(helper, journal)
        journal.lock(to_restore=True)
        entry, vanished = _entry(journal, known)
        if entry is None:
            return None
        tree = Tree(root)
        if predates_boot(tree, entry):
            journal.remove()
            return Restored(journal, entry, rebooted=True)
        if why := waits_for(journal):
            problems = dict.fromkeys((setting.path for setting in entry.settings), why)
            return Restored(journal, entry, problems, vanished=vanished)
        # What this user may not write was not changed: as far as is seen, it is as it was.
        changed = [
            file for file in entry.settings if tree.writable(file.path) or not in_force(tree, file)
        ]
        problems = put_in_force(
            tree, changed, entry.restore_command, entry.user, entry.scheduler_command
        )
        if problems and journal.of_root:
            # A site's command is the user's, and may do nothing.
            problems = put_in_force(tree, entry.settings)
        if not problems and not vanished:
            journal.remove()
        return Restored(journal, entry, problems, vanished=vanished)


def waits_for(journal: Journal) -> str:
    """Return which settings are put back before those of a journal; empty when its turn has come.

    A study may have saved what tuning has set.
    """
    study = Journal(journal.path.parent, STUDY, journal.of_root)
    return _LATER if journal.purpose == TUNE and study.exists() else ""


def _entry(journal: Journal, known: Entry | None) -> tuple[Entry | None, bool]:
    """Return the settings to put back, and whether their journal is lost."""
    try:
        entry = journal.read()
    except UserError:
        if known is None:
            raise
        entry = None
    if known is None or (entry and entry.process == known.process):
        return entry, False
    return known, True


def _restored_by(helper: RootHelper, journal: Journal) -> Restored | None:
    """Have root's part restore; it alone may write root's journal and the settings."""
    answer, _ = helper.ask("restore", purpose=journal.purpose)
    if "entry" not in answer:
        return None
    return Restored(
        journal,
        parsed_entry(answer["entry"]),
        answer["problems"],
        answer["rebooted"],
        answer["vanished"],
    )


def restore_after_crash(root: Path) -> list[str]:
    """Replay the journal of a study that is gone; return messages for the user, a line each.

    The journal of a study that is still at work is left alone, and so is that of a tuning, unless
    the node was rebooted since. A user cannot replay root's journal: a line says so.
    """
    mine = [open_journal(root, purpose) for purpose in (STUDY, TUNE)]
    journals = [journal for journal in mine if journal.exists()]
    leftovers = others_leftovers(root)
    if not (journals or leftovers) or is_locked(root):
        return []
    return [line for journal in journals if (line := _replay(root, journal))] + leftovers


def others_leftovers(root: Path) -> list[str]:
    """Return a line when a study of root has left settings that this user cannot put back."""
    system = Journal(SYSTEM_FOLDER, STUDY)
    if root != Path("/") or state_folder(root) == SYSTEM_FOLDER or not system.exists():
        return []
    try:
        entry = system.read()
    except UserError:
        entry = None
    if entry and predates_boot(Tree(root), entry):
        return []
    return [
        f"a study of root that was killed has left settings of this node changed ({system.path}); "
        f"put them back with `sudo {PINSTUDY} restore`"
    ]


def _replay(root: Path, journal: Journal) -> str:
    """Replay a journal; return the message for the user, empty for a tuning still in force."""
    tuned = journal.path.stem == TUNE
    try:
        if tuned and not ((entry := journal.read()) and predates_boot(Tree(root), entry)):
            return ""
        with node_lock(root):
            done = restore(root, journal)
            unlock_state()
    except UserError as error:
        return str(error)
    if done is None:
        return "another pinstudy has just put the settings back"
    all_back = f"put back the settings that a study had left changed ({done.entry.process})"
    return done.message or all_back


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
