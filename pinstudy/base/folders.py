"""Folders held open: what is made, written, renamed or removed in them is where it should be.

Somebody else's folder of results may have a link anywhere, put there to lead what is written to
files of the user who writes. So a folder is opened level by level, and links are followed only if
nobody else can have put them there; after that all is done in the folder that was opened, whatever
its path leads to meanwhile.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# O_PATH opens folders that may be entered and not read. O_DIRECTORY has folders mounted that are
# mounted when they are used, as homes may be; O_PATH alone would not (open(2)).
_LEVEL = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO without a reader would block.
_MORE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
# The kernel's own limit (Linux include/linux/namei.h, MAXSYMLINKS).
_MAX_LINKS = 40
BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class PlantedLinkError(OSError):
    """A link on the way to a folder may be another user's; the text names it, and the reason."""

    def __init__(self, link: Path, why: str) -> None:
        super().__init__(
            errno.ELOOP,
            f"{link} is a link {why}; pinstudy does not follow it: remove it, or name the folder "
            "that is meant",
        )

    def __str__(self) -> str:
        return str(self.strerror)


class OpenFolder:
    """A folder held open: names are made, replaced and removed in it, wherever its path leads then.

    `path` is as it was given. Every method raises OSError when the system refuses it.
    """

    def __init__(self, path: Path, make: bool = False) -> None:
        """Open the folder level by level; `make` makes the missing levels, as umask permits.

        A link is followed if this user has made it, or root, in a folder of root or this user that
        nobody else may write; in a sticky folder such as /tmp others cannot replace it. For root
        itself its own links are no exception: others may have moved them. Raises PlantedLinkError
        for any other link, OSError when the folder cannot be opened or made.
        """
        self.path = path
        self._descriptor = _open_folder(path, make)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def real_path(self) -> Path:
        """The folder's path now, without links."""
        return Path(f"/proc/self/fd/{self._descriptor}").readlink()

    def inside(self, name: str) -> Path:
        """Return a path to a name in this very folder; it is valid here, while that is open."""
        return Path(f"/proc/self/fd/{self._descriptor}/{name}")

    def create(self, name: str, mode: int = 0o666, flags: int = 0) -> int:
        """Return a descriptor to write a new file, with more flags of open(2).

        Raises FileExistsError when the name is taken.
        """
        with _naming(self.path / name):
            return os.open(name, _NEW | flags, mode, dir_fd=self._descriptor)

    def open_or_create(self, name: str, mode: int) -> int:
        """Return a descriptor of a file, which is made if it is missing; no link is followed."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with _naming(self.path / name):
            return os.open(name, flags, mode, dir_fd=self._descriptor)

    def append_to(self, name: str) -> int:
        """Return a descriptor to append to a file, which is made if it is missing.

        Raises OSError for a link, and for a file that has another name elsewhere: its content is
        somebody else's.
        """
        path = self.path / name
        try:
            with _naming(path):
                descriptor = os.open(name, _MORE, 0o644, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise PlantedLinkError(path, "in the place of a file") from None
            raise
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return descriptor
        os.close(descriptor)
        raise FileExistsError(errno.EEXIST, "it is no file of this folder alone", str(path))

    def replace(self, name: str, data: bytes) -> None:
        """Write a file under a temporary name, then rename it.

        The content is synced before the rename: otherwise some file systems have an empty file
        after a power cut. The rename itself is on the disk once the folder is synced. Nothing is
        left behind when this fails, nor when the user stops pinstudy meanwhile.
        """
        # Not the process number: on a shared file system two nodes may have the same.
        temporary = f".{name}.{secrets.token_hex(8)}"
        try:
            with os.fdopen(self.create(temporary), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            self.rename(temporary, name)
        except BaseException:
            with suppress(OSError):
                self.remove(temporary)
            raise

    def open_to_write(self, name: str) -> int:
        """Return a descriptor to write an existing file anew; no link is followed."""
        with _naming(self.path / name):
            flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            return os.open(name, flags, dir_fd=self._descriptor)

    def rename(self, name: str, new: str) -> None:
        """Give a file or a folder another name in this folder; a file of that name is replaced."""
        with _naming(self.path / new):
            os.rename(name, new, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself; raises FileNotFoundError when there is none."""
        with _naming(self.path / name):
            os.unlink(name, dir_fd=self._descriptor)

    def make_folder(self, name: str) -> None:
        """Make a folder; raises FileExistsError when the name is taken."""
        with _naming(self.path / name):
            os.mkdir(name, dir_fd=self._descriptor)

    def sync(self) -> None:
        """Wait until the names are on the disk; fsync(2) of new files is not enough.

        Raises OSError also on a file system that cannot do it.
        """
        descriptor = self.readable()
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def readable(self) -> int:
        """Return a descriptor that can be synced, locked and listed; the caller closes it."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        return os.open(".", flags, dir_fd=self._descriptor)

    def close(self) -> None:
        """Close the folder; nothing in it changes."""
        os.close(self._descriptor)


def root_ids() -> set[int]:
    """Return the ids that root's files have.

    In a container with its own user namespace, `/` may belong to another user than 0.
    """
    return {0, Path("/").stat().st_uid}


def _open_folder(path: Path, make: bool) -> int:
    """Return a descriptor of a folder; raises as OpenFolder does."""
    pending = os.fspath(path).split("/")[::-1]
    place = Path("/" if path.is_absolute() else ".")
    here = os.open(place, _LEVEL)
    links = 0
    try:
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            try:
                below = _enter(here, place / name, make)
                place /= name
            except NotADirectoryError:
                target = _target(here, place / name)
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
                pending += target.split("/")[::-1]
                if not target.startswith("/"):
                    continue
                place = Path("/")
                below = os.open(place, _LEVEL)
            here, above = below, here
            os.close(above)
    except BaseException:
        os.close(here)
        raise
    return here


def _enter(folder: int, path: Path, make: bool) -> int:
    """Return a descriptor of a folder in another one; raises NotADirectoryError for a link."""
    with _naming(path):
        try:
            return os.open(path.name, _LEVEL, dir_fd=folder)
        except FileNotFoundError:
            if not make:
                raise
        # Another process may make it meanwhile.
        with suppress(FileExistsError):
            os.mkdir(path.name, dir_fd=folder)
        return os.open(path.name, _LEVEL, dir_fd=folder)


def _target(folder: int, path: Path) -> str:
    """Return where a link in a folder leads; raises OSError for anything else in its place.

    Owner and target are of the same link, whatever takes its name meanwhile.
    """
    with _naming(path):
        link = os.open(path.name, _LINK, dir_fd=folder)
    try:
        status = os.fstat(link)
        if not stat.S_ISLNK(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        if why := _suspicion(status, os.fstat(folder)):
            raise PlantedLinkError(path, why)
        return os.readlink("", dir_fd=link)
    finally:
        os.close(link)


def _suspicion(link: os.stat_result, folder: os.stat_result) -> str:
    """Return why a link in a folder may be another user's, in words; empty if it cannot be."""
    own = os.geteuid()
    trusted = root_ids() | {own}
    # Only this user can make such a link, whoever else may write the folder, as a group's.
    if link.st_uid == own and own not in root_ids():
        return ""
    if link.st_uid not in trusted:
        return f"that user {link.st_uid} has made"
    if folder.st_uid not in trusted:
        return f"in a folder of user {folder.st_uid}"
    # In a sticky folder nobody else can rename the link; a link of two names may have got one of
    # them from anybody (proc(5), protected_hardlinks).
    steady = folder.st_mode & stat.S_ISVTX and link.st_nlink == 1
    if folder.st_mode & BY_OTHERS and not steady:
        return "in a folder that others may write"
    return ""


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have errors of the block name the whole path: the system knows the last name only."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
