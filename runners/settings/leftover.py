"""Settings that a study has left changed because it was killed: found and put back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from base.errors import UserError
from runners.host.lock import NodeLock, is_locked
from runners.host.tree import Tree
from runners.settings.journal import (
    STUDY,
    SYSTEM_FOLDER,
    TUNE,
    Entry,
    Journal,
    open_journal,
    outlived_by,
)
from runners.settings.recovery import restore

_MAX_SHOWN = 3


def put_back_leftovers(root: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Replay the journal of a study that is gone; return what to tell the user, a line each.

    The journal of a study that is still at work is left alone, and so is that of a tuning, unless
    the node was rebooted since. Another user's cannot be replayed: the line says who can.
    """
    mine = [open_journal(root, purpose, environment) for purpose in (STUDY, TUNE)]
    journals = [journal for journal in mine if journal.exists()]
    others = others_leftovers(root, mine[0].path.parent)
    if not (journals or others) or is_locked(root):
        return []
    return [line for journal in journals if (line := _replay(root, journal))] + others


def others_leftovers(root: Path, own_folder: Path) -> list[str]:
    """Return a line when a study of root has left settings that this user cannot put back."""
    system = Journal(SYSTEM_FOLDER, STUDY)
    if root != Path("/") or own_folder == SYSTEM_FOLDER or not system.exists():
        return []
    try:
        entry = system.read()
    except UserError:
        entry = None
    if entry and outlived_by(Tree(root), entry):
        return []
    return [
        f"a study of root that was killed has left settings of this node changed ({system.path}); "
        "put them back with `sudo pinstudy restore`"
    ]


def _replay(root: Path, journal: Journal) -> str:
    """Replay a journal if it is to be; return what to tell the user, nothing if it stays."""
    tuned = journal.path.stem == TUNE
    try:
        if tuned and not ((entry := journal.read()) and outlived_by(Tree(root), entry)):
            return ""
        with NodeLock(root):
            done = restore(root, journal)
    except UserError as error:
        return str(error)
    if done is None:
        return "another pinstudy has just put the settings back"
    if done.rebooted:
        return told_reboot(done.entry)
    if not done.problems:
        return f"put back the settings that a study had left changed ({done.entry.told})"
    return told_problems(journal, done.entry, done.problems)


def told_reboot(entry: Entry) -> str:
    """Return in one line why nothing was put back after a reboot."""
    return (
        f"the node was rebooted since its settings were changed ({entry.told}): the boot has set "
        "them anew, and nothing was put back"
    )


def told_problems(journal: Journal, entry: Entry, problems: Mapping[str, str]) -> str:
    """Return in one line what could not be put back, and what to do."""
    reasons = list(dict.fromkeys(problems.values()))
    more = f" and {len(reasons) - _MAX_SHOWN} more" if len(reasons) > _MAX_SHOWN else ""
    return (
        f"{len(problems)} of {len(entry.settings)} settings could not be put back: "
        f"{'; '.join(reasons[:_MAX_SHOWN])}{more}; {journal.path} keeps what they were: "
        "try `pinstudy restore` (as the user who changed them), or give up with "
        "`pinstudy restore --forget`"
    )
