"""The settings that root's part changes for its user, and the scheduler of sched_ext that it runs.

What a setting was before is what root's part reads itself. It writes a setting only after that is
on the disk, and gives a user no other way to write: neither another file nor an older value.
A scheduler is a program of root's alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from pinstudy.base.errors import StudyError
from pinstudy.base.folders import OpenFolder
from pinstudy.base.reading import Unavailable
from pinstudy.configs.decoding import InvalidError, decode
from pinstudy.configs.settings import PREFIX
from pinstudy.configs.settings import Scheduler as SchedulerText
from pinstudy.runners.host.privileges import check_roots_folder, program_for_root
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.root.request import Answer, Handler, text_in, texts_in
from pinstudy.runners.settings.files import read_settings, without_heat
from pinstudy.runners.settings.journal import (
    STATE_VARIABLE,
    STUDY,
    TUNE,
    Entry,
    Journal,
    new_entry,
    open_journal,
    predates_boot,
    unlock_state,
)
from pinstudy.runners.settings.recovery import restore, waits_for
from pinstudy.runners.settings.registry import POLICY_FILES, is_valid, owner_of
from pinstudy.runners.settings.sched_ext import OwnScheduler, unsafe_for_root
from pinstudy.runners.settings.setting import SettingFile

_NONE = "no scheduler was started"


class Scheduler:
    """Starts and ends the program of a scheduler."""

    def __init__(self) -> None:
        self._running: OwnScheduler | None = None

    @property
    def handlers(self) -> dict[str, Handler]:
        """The requests, by name."""
        return {
            "scheduler": self._start,
            "scheduler-ended": self._ended,
            "scheduler-end": self._end,
        }

    def close(self) -> None:
        """End the program if it still runs."""
        if self._running:
            self._running.end()
            self._running = None

    def _start(self, request: Mapping[str, Any]) -> Answer:
        command_line = _command_line(text_in(request, "command_line"))
        if problem := unsafe_for_root(command_line):
            raise ValueError(problem)
        program, *arguments = command_line.split()
        path = program_for_root(program)
        self.close()
        self._running = OwnScheduler([str(path), *arguments])
        return {"pid": self._running.pid}, None

    def _ended(self, _request: Mapping[str, Any]) -> Answer:
        return {"ended": self._running is None or self._running.has_ended()}, None

    def _end(self, _request: Mapping[str, Any]) -> Answer:
        if self._running is None:
            raise ValueError(_NONE)
        said, status = self._running.end()
        self._running = None
        return {"said": said.decode(errors="replace"), "status": status}, None


def _command_line(text: str) -> str:
    """Return a scheduler's program and arguments as a study has them; raises ValueError."""
    try:
        command_line: str = decode(SchedulerText, text)
    except InvalidError as error:
        raise ValueError(str(error)) from None
    if not command_line.startswith(PREFIX):
        raise ValueError(f"{command_line} is no program")
    return command_line


_ROOT = Path("/")
# A site's command may be a script of several lines.
_MAX_COMMAND = 64 * 1024


class UsersSettings:
    """Saves, changes and restores settings for one user."""

    def __init__(self, uid: int, pid: int) -> None:
        """`pid` is the process that asks."""
        self._uid, self._pid = uid, pid
        self._tree = Tree(_ROOT)
        # What this process has saved, by the journal's purpose.
        self._saved: dict[str, Entry] = {}
        self._vanished: set[str] = set()

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
    def _journal(request: Mapping[str, Any]) -> Answer:
        """Answer with a journal's text, where the user cannot enter its folder."""
        entry = _journal_of(request).read()
        return ({} if entry is None else {"entry": entry.content}), None

    def _save(self, request: Mapping[str, Any]) -> Answer:
        journal = _journal_of(request)
        journal.lock()
        known = self._known(journal)
        paths = texts_in(request, "paths")
        # Before any of them is read: what another file holds would stand in the reason.
        if unknown := [path for path in paths if owner_of(path) is None]:
            raise ValueError(f"{unknown[0][:80]!r} is no setting that pinstudy changes")
        asked = set(paths)
        paths = _with_policies(paths)
        found = read_settings(self._tree, [path for path in paths if path not in known])
        if isinstance(found, Unavailable):
            raise ValueError(found.reason)
        kept = without_heat(self._tree, found, asked)
        values = known | {setting.path: setting.value for setting in kept}
        # None that is saved already is left out: it may have been changed.
        order = dict.fromkeys((*paths, *known))
        settings = tuple(SettingFile(path, values[path]) for path in order if path in values)
        if not settings:
            raise ValueError("there is no such setting")
        commands = (_command(request, name) for name in ("governor_by", "scheduler_by"))
        made = new_entry(self._tree, settings, *commands)
        entry = structs.replace(made, user=self._uid, pid=self._pid)
        journal.write(entry)
        self._saved[journal.purpose] = entry
        return {"entry": entry.content}, None

    def _known(self, journal: Journal) -> dict[str, str]:
        """Return the values that are saved already; raises StudyError where none may be added."""
        entry = self._saved.get(journal.purpose)
        if journal.purpose == TUNE and open_journal(_ROOT, STUDY).exists():
            raise StudyError("a study has settings changed; they are not what tuning would find")
        there = journal.read()
        if entry is not None:
            self._keep(journal)
        elif there is not None:
            if journal.purpose == STUDY:
                raise StudyError(f"{journal.path} has settings of another study")
            entry = None if predates_boot(self._tree, there) else there
            if entry and entry.user != self._uid:
                raise StudyError(f"{journal.path} is of user {entry.user}: restore it first")
        return {setting.path: setting.value for setting in entry.settings} if entry else {}

    def _put(self, request: Mapping[str, Any]) -> Answer:
        setting = SettingFile(text_in(request, "path"), text_in(request, "value"))
        saved = [
            purpose
            for purpose, entry in self._saved.items()
            if any(known.path == setting.path for known in entry.settings)
        ]
        if not is_valid(setting) or not saved:
            raise ValueError("what it was is not saved, so root's part does not change it")
        for purpose in saved:
            self._keep(open_journal(_ROOT, purpose))
        if failed := self._tree.put(setting.path, setting.value):
            raise ValueError(failed.reason)
        return {}, None

    def _keep(self, journal: Journal) -> None:
        """Write a journal again that has vanished; raises StudyError where there is another one."""
        mine = self._saved[journal.purpose]
        there = journal.read()
        if there is None:
            self._vanished.add(journal.purpose)
            journal.write(mine)
        elif there.process != mine.process:
            raise StudyError(f"{journal.path} has settings of another study")

    def _writable(self, request: Mapping[str, Any]) -> Answer:
        path = text_in(request, "path")
        return {"writable": owner_of(path) is not None and self._tree.writable(path)}, None

    def _restore(self, request: Mapping[str, Any]) -> Answer:
        journal = _journal_of(request)
        journal.lock(to_restore=True)
        done = restore(_ROOT, journal, self._saved.pop(journal.purpose, None))
        self._unlock()
        if done is None:
            return {}, None
        done = replace(done, vanished=done.vanished or journal.purpose in self._vanished)
        self._vanished.discard(journal.purpose)
        fields = {name: getattr(done, name) for name in ("problems", "rebooted", "vanished")}
        return fields | {"entry": done.entry.content}, None

    def _forget(self, request: Mapping[str, Any]) -> Answer:
        """Give up what cannot be put back, after all else was."""
        journal = _journal_of(request)
        journal.lock(to_restore=True)
        if why := waits_for(journal):
            raise StudyError(why)
        entry = journal.read()
        if entry and entry.user != self._uid:
            raise StudyError(f"{journal.path} is of user {entry.user}, who alone may give it up")
        restore(_ROOT, journal, self._saved.pop(journal.purpose, None))
        journal.remove()
        self._unlock()
        return {}, None

    def _unlock(self) -> None:
        """Let other processes change settings, unless some are saved here that may change."""
        if not self._saved:
            unlock_state()


def _journal_of(request: Mapping[str, Any]) -> Journal:
    purpose = text_in(request, "purpose")
    if purpose not in (STUDY, TUNE):
        raise ValueError("there is no such journal of settings")
    if folder := os.environ.get(STATE_VARIABLE):
        try:
            with OpenFolder(Path(folder)) as opened:
                check_roots_folder(opened.real_path)
        except OSError as error:
            raise ValueError(f"${STATE_VARIABLE}: {folder}: {error.strerror}") from None
    return open_journal(_ROOT, purpose)


def _command(request: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a site's command in a request; raises ValueError for what is too long for one."""
    command = tuple(texts_in(request, name))
    if sum(map(len, command)) > _MAX_COMMAND:
        raise ValueError(f"a command of more than {_MAX_COMMAND} characters")
    return command


def _with_policies(paths: Sequence[str]) -> list[str]:
    """Return paths of settings in their order, then what else changes with a policy's governor."""
    places = (path.rpartition("/") for path in paths)
    policies = dict.fromkeys(folder for folder, _, name in places if name in POLICY_FILES)
    changed = (f"{folder}/{name}" for name in POLICY_FILES for folder in policies)
    return list(dict.fromkeys((*paths, *changed)))
