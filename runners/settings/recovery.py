"""Putting settings back from their journal, after a study or a crash.

After a reboot there is nothing to put back: the kernel keeps no setting over it, and what the
journal names was in force under another kernel maybe, whose governors had other meanings.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runners.host.tree import Tree
from runners.settings.journal import Entry, Journal, outlived_by
from runners.settings.setting import put_in_force
from runners.settings.site_command import SiteCommand

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Restored:
    """What came of a journal: its entry, and why by path for settings not verified.

    `rebooted` when nothing was put back, because the boot has set everything anew.
    """

    entry: Entry
    problems: dict[str, str] = field(default_factory=dict)
    rebooted: bool = False


def restore(root: Path, journal: Journal) -> Restored | None:
    """Put every setting of the journal in force, read all back, and remove the journal.

    A journal with a setting that could not be verified stays. One of before a reboot is removed,
    and no setting changed. None when there is no journal.
    Signals that stop a study wait until this is done. Raises UserError for a journal that cannot
    be used, StudyError for one that cannot be removed.
    """
    with without_interruption():
        entry = journal.read()
        if entry is None:
            return None
        tree = Tree(root)
        if outlived_by(tree, entry):
            journal.remove()
            return Restored(entry, rebooted=True)
        command = (
            SiteCommand(tree, entry.restore_command, entry.user) if entry.restore_command else None
        )
        problems = put_in_force(tree, entry.settings, command)
        if not problems:
            journal.remove()
        return Restored(entry, problems)


@contextmanager
def without_interruption() -> Iterator[None]:
    """Hold back the signals that stop a study until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
