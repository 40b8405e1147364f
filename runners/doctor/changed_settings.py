"""Whether settings of the node are changed by pinstudy now, by a tuning or a study that is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator

from base.errors import UserError
from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import Capability
from runners.settings.journal import STUDY, TUNE, Journal, open_journal

_UNDO = "pinstudy restore"


def probe_settings(node: AskedNode) -> Iterator[Capability]:
    """Tell who changed settings that are not put back yet."""
    left, tuned = (open_journal(node.root, purpose, os.environ) for purpose in (STUDY, TUNE))
    if left.exists():
        yield Capability("settings", "limited", f"changed by a study: {_told(left)}", _UNDO)
    elif tuned.exists():
        yield Capability("settings", "ok", f"tuned for measuring: {_told(tuned)}", _UNDO)
    else:
        yield Capability("settings", "ok", "none is changed by pinstudy")


def _told(journal: Journal) -> str:
    try:
        entry = journal.read()
    except UserError as error:
        return str(error)
    return entry.told if entry else "not any more"
