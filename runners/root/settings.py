"""The settings that root's part changes for its user: those in its journal, and no other.

What a setting was before is what root's part reads itself. It writes a setting only after that is
on the disk, and gives a user no other way to write: neither another file nor an older value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from base.errors import StudyError
from runners.host.tree import Tree, Unavailable
from runners.root.request import Answer, Handler, text_in, texts_in
from runners.settings.journal import (
    STUDY,
    TUNE,
    Entry,
    Journal,
    check_commands,
    new_entry,
    open_journal,
    predates_boot,
)
from runners.settings.recovery import restore
from runners.settings.setting import Setting, read_settings

_ROOT = Path("/")


class UsersSettings:
    """Saves, changes and restores settings for one user."""

    def __init__(self, uid: int, pid: int) -> None:
        """`pid` is the process that asks."""
        self._uid, self._pid = uid, pid
        self._tree = Tree(_ROOT)
        # What this process has saved, by the journal's purpose.
        self._saved: dict[str, Entry] = {}

    @property
    def handlers(self) -> dict[str, Handler]:
        """The requests, by name."""
        return {
            "journal": self._journal,
            "save": self._save,
            "put": self._put,
            "writable": self._writable,
            "restore": self._restore,
            "forget": self._forget,
        }

    @staticmethod
    def _journal(request: Mapping[str, Any], _file: int | None) -> Answer:
        """Answer with a journal's text, where the user cannot enter its folder."""
        entry = _open(request).read()
        return ({} if entry is None else {"entry": entry.content}), None

    def _save(self, request: Mapping[str, Any], _file: int | None) -> Answer:
        journal = _open(request)
        purpose = journal.purpose
        known = self._known(journal)
        paths = texts_in(request, "paths")
        # Before any of them is read: what another file holds would stand in the reason.
        if unknown := [path for path in paths if not _is_setting(path)]:
            raise ValueError(f"{unknown[0][:80]!r} is no setting that pinstudy changes")
        found = read_settings(self._tree, [path for path in paths if path not in known])
        if isinstance(found, Unavailable):
            raise ValueError(found.reason)
        values = known | {setting.path: setting.value for setting in found}
        settings = [Setting(path, values[path]) for path in paths if path in values]
        if not settings:
            raise ValueError("there is no such setting")
        commands = (tuple(texts_in(request, name)) for name in ("governor_by", "scheduler_by"))
        entry = replace(new_entry(self._tree, settings, *commands), user=self._uid, pid=self._pid)
        check_commands(entry)
        journal.write(entry)
        self._saved[purpose] = entry
        return {"entry": entry.content}, None

    def _known(self, journal: Journal) -> dict[str, str]:
        """Return the values that are saved already; raises StudyError where none may be added."""
        entry = self._saved.get(journal.purpose)
        if entry is None and journal.exists():
            entry = journal.read()
            if journal.purpose == STUDY:
                raise StudyError(f"{journal.path} has settings of another study")
            if entry and predates_boot(self._tree, entry):
                entry = None
        return {setting.path: setting.value for setting in entry.settings} if entry else {}

    def _put(self, request: Mapping[str, Any], _file: int | None) -> Answer:
        setting = Setting(text_in(request, "path"), text_in(request, "value"))
        saved = {of.path for entry in self._saved.values() for of in entry.settings}
        if not setting.valid or setting.path not in saved:
            raise ValueError("what it was is not saved, so root's part does not change it")
        if failed := self._tree.put(setting.path, setting.value):
            raise ValueError(failed.reason)
        return {}, None

    def _writable(self, request: Mapping[str, Any], _file: int | None) -> Answer:
        path = text_in(request, "path")
        return {"writable": _is_setting(path) and self._tree.writable(path)}, None

    def _restore(self, request: Mapping[str, Any], _file: int | None) -> Answer:
        journal = _open(request)
        done = restore(_ROOT, journal, self._saved.pop(journal.purpose, None))
        if done is None:
            return {}, None
        fields = {name: getattr(done, name) for name in ("problems", "rebooted", "vanished")}
        return fields | {"entry": done.entry.content}, None

    def _forget(self, request: Mapping[str, Any], _file: int | None) -> Answer:
        journal = _open(request)
        self._saved.pop(journal.purpose, None)
        journal.remove()
        return {}, None


def _is_setting(path: str) -> bool:
    """Whether pinstudy changes a file of this path."""
    return Setting(path, "on").valid


def _open(request: Mapping[str, Any]) -> Journal:
    purpose = text_in(request, "purpose")
    if purpose not in (STUDY, TUNE):
        raise ValueError("there is no such journal of settings")
    return open_journal(_ROOT, purpose)
