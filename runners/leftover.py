"""Settings that a study has left changed because it was killed: found and put back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from configs.errors import UserError
from runners.journal import STUDY, SYSTEM_FOLDER, Entry, Journal, boot_id_of, state_folder
from runners.node_lock import NodeLock, is_locked
from runners.restore import restore
from runners.sysfs import Tree

_MAX_SHOWN = 3


def put_back_leftovers(root: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Replay the journal of a study that is gone; return what to tell the user, a line each.

    The journal of a study that is still at work is left alone. Another user's cannot be replayed:
    the line says who can.
    """
    mine = Journal(state_folder(root, environment), STUDY)
    others = others_leftovers(root, mine.path.parent)
    if not (mine.exists() or others) or is_locked(root):
        return []
    return ([_replay(root, mine)] if mine.exists() else []) + others


def others_leftovers(root: Path, own_folder: Path) -> list[str]:
    """Return a line when a study of root has left settings that this user cannot put back."""
    system = Journal(SYSTEM_FOLDER, STUDY)
    if root != Path("/") or own_folder == SYSTEM_FOLDER or not system.exists():
        return []
    return [
        f"a study of root that was killed has left settings of this node changed ({system.path}); "
        "put them back with `sudo pinstudy restore`"
    ]


def _replay(root: Path, journal: Journal) -> str:
    try:
        with NodeLock(root):
            done = restore(root, journal)
    except UserError as error:
        return str(error)
    if done is None:
        return "another pinstudy has just put the settings back"
    if not done.problems:
        rebooted = boot_id_of(Tree(root)) != done.entry.boot_id
        when = "; the node was rebooted since" if rebooted else ""
        return f"put back the settings that a study had left changed ({done.entry.told}{when})"
    return told_problems(journal, done.entry, done.problems)


def told_problems(journal: Journal, entry: Entry, problems: Mapping[str, str]) -> str:
    """Return in one line what could not be put back, and what to do."""
    reasons = list(problems.values())
    more = f" and {len(reasons) - _MAX_SHOWN} more" if len(reasons) > _MAX_SHOWN else ""
    return (
        f"{len(reasons)} of {len(entry.settings)} settings could not be put back: "
        f"{'; '.join(reasons[:_MAX_SHOWN])}{more}; {journal.path} keeps what they were: "
        "try `pinstudy restore` (as the user who changed them), or give up with "
        "`pinstudy restore --forget`"
    )
