"""Restores settings from their journal, after a study or a crash.

A study that was killed leaves settings changed: the next command finds its journal and puts them
back. After a reboot nothing is put back: the boot has reset all settings, and the journal's values
may come from another kernel, whose governors had other meanings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from base import PINSTUDY
from base.command import without_interruption
from base.errors import UserError
from base.text import first_of
from runners.host.lock import is_locked, node_lock
from runners.host.tree import Tree
from runners.settings.journal import (
    STUDY,
    SYSTEM_FOLDER,
    TUNE,
    Entry,
    Journal,
    open_journal,
    predates_boot,
    state_folder,
)
from runners.settings.setting import put_in_force

_MAX_SHOWN = 3


@dataclass(frozen=True)
class Restored:
    """The result of a restore: what the journal held, and by path why a setting is not verified.

    `rebooted` when nothing was put back, because the boot has reset all settings.
    """

    journal: Journal
    entry: Entry
    problems: dict[str, str] = field(default_factory=dict)
    rebooted: bool = False

    @property
    def message(self) -> str:
        """One line: which settings were not put back, why, and what to do; empty if all were."""
        if self.rebooted:
            return (
                f"the node was rebooted since its settings were changed ({self.entry.process}): "
                "the boot has set them anew, and nothing was put back"
            )
        if not self.problems:
            return ""
        reasons = list(dict.fromkeys(self.problems.values()))
        return (
            f"{len(self.problems)} of {len(self.entry.settings)} settings could not be put back: "
            f"{first_of(reasons, _MAX_SHOWN)}; {self.journal.path} keeps what they were: "
            f"try `{PINSTUDY} restore` (as the user who changed them), or give up with "
            f"`{PINSTUDY} restore --forget`"
        )


def restore(root: Path, journal: Journal) -> Restored | None:
    """Put every setting of the journal in force, read all back, and remove the journal.

    A journal with a setting that could not be verified stays. A journal from before a reboot is
    removed, and no setting is changed. Returns None when there is no journal. Signals that stop a
    study wait until this is done. Raises UserError for a journal that cannot be used, StudyError
    for one that cannot be removed.
    """
    with without_interruption():
        entry = journal.read()
        if entry is None:
            return None
        tree = Tree(root)
        if predates_boot(tree, entry):
            journal.remove()
            return Restored(journal, entry, rebooted=True)
        problems = put_in_force(
            tree, entry.settings, entry.restore_command, entry.user, entry.scheduler_command
        )
        if not problems:
            journal.remove()
        return Restored(journal, entry, problems)


def restore_after_crash(root: Path) -> list[str]:
    """Replay the journal of a study that is gone; return messages for the user, a line each.

    The journal of a study that is still at work is left alone, and so is that of a tuning, unless
    the node was rebooted since. A user cannot replay root's journal: a line says so.
    """
    mine = [open_journal(root, purpose) for purpose in (STUDY, TUNE)]
    journals = [journal for journal in mine if journal.exists()]
    others = others_leftovers(root)
    if not (journals or others) or is_locked(root):
        return []
    return [line for journal in journals if (line := _replay(root, journal))] + others


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
    except UserError as error:
        return str(error)
    if done is None:
        return "another pinstudy has just put the settings back"
    all_back = f"put back the settings that a study had left changed ({done.entry.process})"
    return done.message or all_back
