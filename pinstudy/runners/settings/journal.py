"""The journal of settings: their values before pinstudy's first write, safe on the disk.

It is written and fsynced, folder included, before any change, and removed only after all settings
were put back and read back. There are two: `study`, which the next command replays when the study
that wrote it is gone, and `tune`, which stays in force until `pinstudy restore`.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from pinstudy.base.decoding import converted, decoded
from pinstudy.base.errors import StudyError, UserError, is_shortage
from pinstudy.base.files import open_regular
from pinstudy.base.folders import BY_OTHERS, OpenFolder, PlantedLinkError
from pinstudy.base.reading import Unavailable
from pinstudy.base.text import printable, safe_name
from pinstudy.base.units import utc_now
from pinstudy.runners.host.privileges import check_roots_folder, may_be_root, root_helper
from pinstudy.runners.host.root_helper import RootHelper
from pinstudy.runners.host.tree import BOOT_ID, Tree
from pinstudy.runners.settings.registry import is_valid
from pinstudy.runners.settings.setting import SettingFile

SCHEMA = 1
STUDY, TUNE = "study", "tune"
STATE_VARIABLE = "PINSTUDY_STATE"
SYSTEM_FOLDER = Path("/var/lib/pinstudy")
# 4096 CPUs with five settings of some 100 bytes each.
_MAX_BYTES = 8 * 1024 * 1024
_MAX_ARGUMENTS = 100
_MAX_ARGUMENT = 200


class Entry(Struct, frozen=True):
    """A journal's content: the old settings, and the process that changed them.

    `restore_command` holds the arguments, with `{governor}` and `{cpus}`, of the site's command
    that sets a governor where files cannot be written, `scheduler_command` those with `{scheduler}`
    of the one that sets a scheduler. `user` is the id of the user who runs them.
    """

    settings: tuple[SettingFile, ...]
    boot_id: str
    pid: Annotated[int, Meta(ge=0, le=2**31)]
    started_at: str
    command: tuple[str, ...]
    restore_command: tuple[str, ...]
    user: Annotated[int, Meta(ge=0, lt=2**32)]
    scheduler_command: tuple[str, ...] = ()

    @property
    def content(self) -> dict[str, Any]:
        """What a journal's file holds of it."""
        content: dict[str, Any] = to_builtins(self)
        return {"schema": SCHEMA} | content

    @property
    def process(self) -> str:
        """The process that changed the settings, its start and its command line."""
        return f"process {self.pid}, {self.started_at}: {' '.join(self.command)}"


def boot_id_of(tree: Tree) -> str:
    """Return the kernel's identifier of the current boot; empty when it cannot be read."""
    found = tree.text(BOOT_ID)
    return "" if isinstance(found, Unavailable) else found


def predates_boot(tree: Tree, entry: Entry) -> bool:
    """Return whether a reboot has reset the node's settings since the entry was written.

    False when one of the two boots is not known.
    """
    now = boot_id_of(tree)
    return bool(now and entry.boot_id) and now != entry.boot_id


def new_entry(
    tree: Tree,
    settings: Sequence[SettingFile],
    restore_command: Sequence[str] = (),
    scheduler_command: Sequence[str] = (),
) -> Entry:
    """Return the entry of this process and boot."""
    arguments = sys.argv[1 : 1 + _MAX_ARGUMENTS]
    command = (
        "pinstudy",
        *(printable(argument[:_MAX_ARGUMENT], allowed="") for argument in arguments),
    )
    boot_id = boot_id_of(tree)
    return Entry(
        tuple(settings),
        boot_id,
        os.getpid(),
        utc_now(),
        command,
        tuple(restore_command),
        os.geteuid(),
        tuple(scheduler_command),
    )


def state_folder(root: Path) -> Path:
    """Return the folder of this user's journals of a node, which under sudo is root's."""
    return _state_folder(root, of_root=may_be_root())


def own_state_folder(root: Path) -> Path:
    """Return the folder of what else is kept of a node, which this process itself writes."""
    return _state_folder(root, of_root=os.geteuid() == 0)


def _state_folder(root: Path, *, of_root: bool) -> Path:
    """Return the folder of root's state, or of this user's.

    A recorded tree has its own /var/lib/pinstudy. On this machine the folder is below
    $PINSTUDY_STATE; else /var/lib/pinstudy for root; else below the user's state folder (XDG Base
    Directory Specification). It is named by host where nodes may share it.
    """
    if root != Path("/"):
        return root / SYSTEM_FOLDER.relative_to("/")
    host = safe_name(os.uname().nodename)
    if folder := os.environ.get(STATE_VARIABLE):
        return Path(folder).absolute() / host
    if of_root:
        return SYSTEM_FOLDER
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else _home() / ".local" / "state"
    return base / "pinstudy" / host


def _home() -> Path:
    """Return this user's home; `/` for one without an account, as a container may have it.

    There is no journal then, and without $PINSTUDY_STATE none can be written.
    """
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


# The locks of root's folders that this process has, by folder: global, as locks of a process are.
_locked: dict[Path, int] = {}
# Root's alone: who can open a file can lock it.
_LOCK, _LOCK_MODE = ".lock", 0o600


def lock_state(folder: Path) -> None:
    """Keep every other process of root's from changing settings, until `unlock_state` or the end.

    The node's lock (pinstudy/runners/host/lock.py) is for users too, who may pass it on. Raises
    StudyError where another process has this one; a file system without locks has none.
    """
    while folder not in _locked:
        with OpenFolder(folder) as opened:
            descriptor = opened.open_or_create(_LOCK, _LOCK_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise StudyError(
                f"{folder}: another pinstudy that root has started changes settings now; let it "
                "finish"
            ) from None
        except OSError:
            os.close(descriptor)
            return
        if os.fstat(descriptor).st_nlink:
            _locked[folder] = descriptor
        else:
            # Whoever had it has just removed it.
            os.close(descriptor)


@atexit.register
def unlock_state() -> None:
    """Let other processes change settings."""
    while _locked:
        folder, descriptor = _locked.popitem()
        with suppress(OSError), OpenFolder(folder) as opened:
            opened.remove(_LOCK)
        os.close(descriptor)


def open_journal(root: Path, purpose: str) -> Journal:
    """Return the journal of a node for this user: root's own for a process that may be root."""
    return Journal(state_folder(root), purpose, root == Path("/") and may_be_root())


class Journal:
    """One journal's file; every error names it.

    With `of_root` it is root's, in a folder that nobody else can change: root's part writes it
    under sudo.
    """

    def __init__(self, folder: Path, purpose: str, of_root: bool = False) -> None:
        self.path = folder / f"{purpose}.json"
        self.purpose = purpose
        self.of_root = of_root

    @property
    def helper(self) -> RootHelper | None:
        """Root's part, if the journal is for it to write."""
        return root_helper() if self.of_root else None

    def exists(self) -> bool:
        """Whether the journal exists; False when that cannot be checked."""
        try:
            self.path.lstat()
        except PermissionError:
            return self._is_roots_secret()
        except OSError:
            return False
        return True

    def _is_roots_secret(self) -> bool:
        """Whether there is a journal in a folder that only root may enter."""
        try:
            return self.helper is not None and self.read() is not None
        except UserError:
            return True

    def write(self, entry: Entry) -> Entry:
        """Put the entry on the disk, whole or not at all; return what it holds.

        Root's part saves the values that it reads itself. Raises StudyError when that fails.
        """
        try:
            if self.helper:
                return self._written_by(self.helper, entry)
            with _closed_to_others(), OpenFolder(self.path.parent, make=True) as folder:
                if self.of_root:
                    check_roots_folder(folder.real_path)
                    lock_state(self.path.parent)
                folder.replace(self.path.name, json.dumps(entry.content, indent=1).encode())
                # Settings may change only once the journal would survive a power cut.
                folder.sync()
        except OSError as error:
            raise self._not_saved(error) from None
        return entry

    def _written_by(self, helper: RootHelper, entry: Entry) -> Entry:
        answer, _ = helper.ask(
            "save",
            purpose=self.purpose,
            paths=[setting.path for setting in entry.settings],
            governor_by=list(entry.restore_command),
            scheduler_by=list(entry.scheduler_command),
        )
        return parsed_entry(answer.get("entry"), entry.user)

    def read(self) -> Entry | None:
        """Return the entry, or None when there is no journal.

        Raises UserError for a file that another user may have written, and for an invalid entry,
        because its values are written into the kernel's files.
        """
        try:
            with OpenFolder(self.path.parent) as folder:
                raw, owner = _read_own(folder.inside(self.path.name))
                if self.of_root:
                    check_roots_folder(folder.real_path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if isinstance(error, PermissionError) and error.errno == errno.EACCES and self.helper:
                answer, _ = self.helper.ask("journal", purpose=self.purpose)
                return parsed_entry(answer["entry"]) if "entry" in answer else None
            # A link on the way is no obstacle where there is nothing to read.
            if isinstance(error, PlantedLinkError) and not self.exists():
                return None
            raise self._refused(error.strerror or str(error)) from None
        try:
            return _parse(raw, owner)
        except ValueError as error:
            raise self._refused(str(error)) from None

    def lock(self, *, to_restore: bool = False) -> None:
        """Keep other processes of root's from changing what root's journal is about.

        Raises StudyError where another one does, and where nothing could be saved. `to_restore`
        goes on there: no other process could lock it either. It lasts until `unlock_state`.
        """
        if not self.of_root or self.helper is not None:
            return
        try:
            lock_state(self.path.parent)
        except FileNotFoundError:
            return
        except OSError as error:
            if not to_restore:
                raise self._not_saved(error) from None
            if is_shortage(error):
                raise

    def remove(self) -> None:
        """Remove the file and sync its folder; raises StudyError when that fails."""
        if self.helper:
            self.helper.ask("forget", purpose=self.purpose)
            return
        try:
            with OpenFolder(self.path.parent) as folder:
                torn = self.path.parent.glob(f".{self.path.name}.*")
                for name in (self.path.name, *(path.name for path in torn)):
                    with suppress(FileNotFoundError):
                        folder.remove(name)
                folder.sync()
        except FileNotFoundError:
            # The folder is gone, and the journal with it.
            return
        except OSError as error:
            raise StudyError(
                f"{self.path}: cannot be removed ({error.strerror}); all settings are as they "
                "were, remove it by hand"
            ) from None

    def _not_saved(self, error: OSError) -> StudyError:
        return StudyError(
            f"{self.path}: the settings in force cannot be saved ({error.strerror}), so none is "
            f"changed; name a writable folder of your own in ${STATE_VARIABLE}"
        )

    def _refused(self, why: str) -> UserError:
        return UserError(
            f"{self.path}: this journal of settings is not used ({why}); look at it, put back by "
            "hand what it names, and remove it"
        )


def _parse(raw: bytes, owner: int) -> Entry:
    """Return the entry in a journal's bytes; raises ValueError when it is invalid.

    `owner` is the id of the file's owner, and the default of `user`.
    """
    if len(raw) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    return parsed_entry(decoded(raw, dict), owner)


class _Head(Struct):
    schema: Literal[1]


def parsed_entry(data: object, owner: int = 0) -> Entry:
    """Return the entry that a journal holds; raises ValueError when it is invalid."""
    converted(data, _Head)
    assert isinstance(data, dict)
    entry = converted({"user": owner} | data, Entry)
    for setting in entry.settings:
        if not is_valid(setting):
            raise ValueError(f"{setting.path[:80]!r} is no setting that pinstudy changes")
    if not all(map(str.isprintable, (entry.boot_id, entry.started_at, *entry.command))):
        raise ValueError("a text has unprintable characters")
    check_commands(entry)
    return entry


def check_commands(entry: Entry) -> None:
    """Raise ValueError for a site's command that cannot be one; it may have several lines."""
    if "\0" in "".join((*entry.restore_command, *entry.scheduler_command)):
        raise ValueError("a text has unprintable characters")


@contextmanager
def _closed_to_others() -> Iterator[None]:
    """Make the files of the block writable for their owner only, and readable for all.

    The umask is replaced: even with root's 077 other users must be able to read root's journal,
    which shows why the node's settings are changed.
    """
    before = os.umask(BY_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def _read_own(path: Path) -> tuple[bytes, int]:
    """Return at most _MAX_BYTES + 1 bytes of this user's or root's file, and its owner's uid.

    No link is followed, and opening does not block. Raises OSError when the file cannot be read,
    belongs to somebody else, or others may write it.
    """
    with os.fdopen(open_regular(path, links=False), "rb") as stream:
        status = os.fstat(stream.fileno())
        if status.st_uid not in (0, os.geteuid()):
            raise PermissionError(errno.EPERM, "it is not a file of this user")
        if status.st_mode & BY_OTHERS:
            raise PermissionError(errno.EPERM, "others may write it")
        return stream.read(_MAX_BYTES + 1), status.st_uid
