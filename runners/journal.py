"""The journal of settings: what they were before pinstudy's first write, safe on the disk.

It is written and fsynced, folder included, before anything is changed, and removed only after all
was put back and read back. There are two: `study`, which any next command replays when the study
that wrote it is gone, and `tune`, which stays in force until `pinstudy restore`.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from configs.errors import StudyError, UserError
from configs.whole_file import sync_folder
from runners.settings import Setting
from runners.sysfs import BOOT_ID, Absent, Tree
from runners.utc import utc_now

SCHEMA = 1
STUDY, TUNE = "study", "tune"
STATE_VARIABLE = "PINSTUDY_STATE"
SYSTEM_FOLDER = Path("/var/lib/pinstudy")
# 4096 CPUs of five settings of some 100 bytes.
_MAX_BYTES = 8 * 1024 * 1024
_MAX_ARGUMENTS = 100


@dataclass(frozen=True)
class Entry:
    """What a journal holds: the settings as they were, and who changed them.

    `restore_command` is the site's command that sets a governor where files cannot be written:
    its arguments, with `{governor}` and `{cpus}`.
    """

    settings: tuple[Setting, ...]
    boot_id: str
    pid: int
    started_at: str
    command: tuple[str, ...]
    restore_command: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """Who it was, in words."""
        return f"process {self.pid}, {self.started_at}: {' '.join(self.command)}"


def boot_id_of(tree: Tree) -> str:
    """Return the kernel's identifier of the current boot; empty when it is not told."""
    found = tree.text(BOOT_ID)
    return "" if isinstance(found, Absent) else found


def new_entry(
    tree: Tree, settings: Sequence[Setting], restore_command: Sequence[str] = ()
) -> Entry:
    """Return the entry of this process and boot."""
    arguments = ("".join(c if c.isprintable() else "?" for c in text) for text in sys.argv[1:])
    command = ("pinstudy", *islice(arguments, _MAX_ARGUMENTS))
    boot_id = boot_id_of(tree)
    return Entry(tuple(settings), boot_id, os.getpid(), utc_now(), command, tuple(restore_command))


def state_folder(root: Path, environment: Mapping[str, str]) -> Path:
    """Return where this user's journals of a node are kept.

    $PINSTUDY_STATE, else /var/lib/pinstudy for root, else the user's own state folder, by host
    name since homes are shared by nodes (XDG Base Directory Specification); in a recorded tree
    the tree's own /var/lib/pinstudy.
    """
    if root != Path("/"):
        return root / SYSTEM_FOLDER.relative_to("/")
    if given := environment.get(STATE_VARIABLE):
        return Path(given).absolute()
    if os.geteuid() == 0:
        return SYSTEM_FOLDER
    from runners.node import safe_name

    state = environment.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "pinstudy" / safe_name(os.uname().nodename)


class Journal:
    """One journal's file; every error names it."""

    def __init__(self, folder: Path, purpose: str) -> None:
        self.path = folder / f"{purpose}.json"

    def exists(self) -> bool:
        """Whether there is one; what cannot be looked at is taken not to be there."""
        try:
            return self.path.is_symlink() or self.path.exists()
        except OSError:
            return False

    def write(self, entry: Entry) -> None:
        """Put the entry on the disk, whole or not at all; raises StudyError when that fails."""
        data = {
            "schema": SCHEMA,
            "boot_id": entry.boot_id,
            "pid": entry.pid,
            "started_at": entry.started_at,
            "command": list(entry.command),
            "restore_command": list(entry.restore_command),
            "settings": [[setting.path, setting.value] for setting in entry.settings],
        }
        folder = self.path.parent
        temporary = folder / f".{self.path.name}.{os.getpid()}"
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            _write_synced(temporary, json.dumps(data, indent=1).encode())
            temporary.replace(self.path)
            sync_folder(folder)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise StudyError(
                f"{self.path}: the settings in force cannot be saved ({error.strerror}), so none "
                f"is changed; name a writable folder in ${STATE_VARIABLE}"
            ) from None

    def read(self) -> Entry | None:
        """Return the entry, or None when there is no journal.

        Raises UserError for a file that is not this user's or that no pinstudy has written so: what
        it holds is written into the kernel's files.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(error.strerror or str(error)) from None
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
                raise self._refused("it is not a file of this user")
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise self._refused("others may write it")
            raw = stream.read(_MAX_BYTES + 1)
        try:
            return _parse(raw)
        except ValueError as error:
            raise self._refused(str(error)) from None

    def remove(self) -> None:
        """Remove the file, and make that last; raises StudyError when it stays."""
        try:
            self.path.unlink(missing_ok=True)
            for torn in self.path.parent.glob(f".{self.path.name}.*"):
                torn.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        except OSError as error:
            raise StudyError(
                f"{self.path}: cannot be removed ({error.strerror}); all settings are as they "
                "were, remove it by hand"
            ) from None

    def _refused(self, why: str) -> UserError:
        return UserError(
            f"{self.path}: this journal of settings is not used ({why}); look at it, put back by "
            "hand what it names, and remove it"
        )


def _write_synced(path: Path, data: bytes) -> None:
    # Created anew: what is there under this name is a torn one, or somebody's trap.
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, 0o644)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)


def _parse(raw: bytes) -> Entry:
    """Return the entry of a journal's bytes; raises ValueError for what is none."""
    if len(raw) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"expected an object of schema {SCHEMA}")
    pid = data.get("pid")
    if not isinstance(pid, int):
        raise ValueError("it names no process")
    return Entry(
        settings=_settings(data.get("settings")),
        boot_id=_text(data.get("boot_id")),
        pid=pid,
        started_at=_text(data.get("started_at")),
        command=_texts(data.get("command")),
        restore_command=_texts(data.get("restore_command")),
    )


def _settings(value: Any) -> tuple[Setting, ...]:  # noqa: ANN401 - whatever JSON can hold
    if not isinstance(value, list):
        raise ValueError("it has no list of settings")
    found = []
    for item in value:
        if not (isinstance(item, list) and len(item) == 2):
            raise ValueError("a setting is a path and a value")
        setting = Setting(_text(item[0]), _text(item[1]))
        if not setting.known:
            raise ValueError(f"{setting.path[:80]!r} is no setting that pinstudy changes")
        found.append(setting)
    return tuple(found)


def _text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str) or not (value.isprintable() or value == ""):
        raise ValueError("a text was expected")
    return value


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    if not isinstance(value, list):
        raise ValueError("a list of texts was expected")
    return tuple(_text(item) for item in value)
