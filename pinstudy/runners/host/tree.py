"""Small reads of the kernel's files under a root, which may be a recorded tree.

Every path is a path *of the node* (`/sys/…`, `/proc/…`), and reasons name it as such. In a recorded
tree symbolic links are followed as the node itself would follow them: an absolute target starts
at the tree's root, and `..` does not climb out of it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from string import whitespace
from typing import TypeVar

from pinstudy.base.cpulist import parse_cpulist, parse_cpumask
from pinstudy.base.errors import SHORTAGES, ShortageError, StudyError
from pinstudy.base.files import read_descriptor, read_regular
from pinstudy.base.folders import OpenFolder
from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.privileges import root_helper
from pinstudy.runners.host.root_helper import RootHelper

# A text file of sysfs fits in a page (Linux Documentation/filesystems/sysfs.rst); the lists of
# large nodes and of PMUs may be longer. A file larger than this is none of them.
TEXT_LIMIT = 65536
# The kernel's own limit (Linux include/linux/namei.h, MAXSYMLINKS).
MAX_LINKS = 40
BOOT_ID = "/proc/sys/kernel/random/boot_id"
MAX_SHOWN = 40

_Value = TypeVar("_Value")

# The longest that the kernel allows are names of sched_ext's schedulers (SCX_OPS_NAME_LEN).
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,127}", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[0-9]{1,5}")
_HEXADECIMAL = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}")
# The kernel's errors for a file that does not exist, or that vanished with its CPU.
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ESRCH})
_DENIED = frozenset({errno.EACCES, errno.EPERM})
# Errors that come from the host, not from the file; EAGAIN may come from an empty pipe.
_SHORT = frozenset(SHORTAGES) - {errno.EAGAIN}
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
# Ordinary files in the place of the kernel's must not keep the tail of a longer value.
_WRITE_FLAGS = os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Tree:
    """A node's files below a root: `/` for this machine, a directory for a recorded one.

    No method raises for bad files or contents; each returns a value or an `Unavailable`.
    Raises ShortageError when the host is too short of resources to open any file. On this machine,
    what the invoking user may not access is asked of root's part (pinstudy/runners/root), if there
    is one.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._host = os.path.realpath(root).rstrip("/")

    @property
    def live(self) -> bool:
        """Whether this is the machine that the program runs on."""
        return self._host == ""

    def text(self, path: str) -> str | Unavailable:
        """Return the file's content without surrounding blanks; `Unavailable` when it is empty."""
        content = self.content(path)
        if isinstance(content, Unavailable):
            return content
        # ASCII's alone: str.strip() takes separators such as \x1c off a number, too.
        return content.strip(whitespace) or Unavailable(f"{path} is empty")

    def word(self, path: str) -> str | Unavailable:
        """Return the one word that the file holds, of letters, digits and `_ . + -`."""
        text = self.text(path)
        if isinstance(text, Unavailable) or _WORD.fullmatch(text):
            return text
        return Unavailable(f"{path} holds no single word")

    def content(self, path: str, limit: int = TEXT_LIMIT, cut: bool = False) -> str | Unavailable:
        """Return the file's content, unchanged but for NULs at its end.

        A file of more than `limit` bytes is refused, or its first `limit` bytes are returned when
        `cut`.
        """
        raw = self._access(
            path,
            lambda host: read_regular(host, limit),
            lambda descriptor: read_descriptor(descriptor, limit),
        )
        if isinstance(raw, Unavailable):
            return raw
        if len(raw) > limit and not cut:
            return Unavailable(f"{path} is larger than {limit} bytes")
        return _without_nuls(raw[:limit].decode("utf-8", "replace"))

    def integer(self, path: str) -> int | Unavailable:
        """Return the decimal whole number that the file holds."""
        return self._number(path, _INTEGER, 10, "a whole number")

    def natural(self, path: str) -> int | Unavailable:
        """Return the whole number that the file holds; `Unavailable` for one below 0."""
        found = self.integer(path)
        if isinstance(found, Unavailable) or found >= 0:
            return found
        return Unavailable(f"{path} holds {found}, which cannot be below 0")

    def hexadecimal(self, path: str) -> int | Unavailable:
        """Return the hexadecimal number, with or without 0x, that the file holds."""
        return self._number(path, _HEXADECIMAL, 16, "a hexadecimal number")

    def _number(self, path: str, form: re.Pattern[str], base: int, name: str) -> int | Unavailable:
        text = self.text(path)
        if isinstance(text, Unavailable):
            return text
        if form.fullmatch(text) is None:
            return Unavailable(f"{path} holds {_shown(text)}, not {name}")
        return int(text, base)

    def cpulist(self, path: str) -> tuple[int, ...] | Unavailable:
        """Return the CPUs that the file lists, ascending; an empty file is an empty list."""
        content = self.content(path)
        if isinstance(content, Unavailable):
            return content
        try:
            # cpufreq's lists (affected_cpus, related_cpus) have blanks between the CPUs.
            return parse_cpulist(",".join(content.split()))
        except ValueError:
            return Unavailable(f"{path} holds {_shown(content)}, not a list of CPUs")

    def cpumask(self, path: str) -> tuple[int, ...] | Unavailable:
        """Return the CPUs of the mask that the file holds, ascending."""
        text = self.text(path)
        if isinstance(text, Unavailable):
            return text
        try:
            return parse_cpumask(text)
        except ValueError:
            return Unavailable(f"{path} holds {_shown(text)}, not a mask of CPUs")

    def names(self, path: str) -> tuple[str, ...] | Unavailable:
        """Return the names in a directory, sorted."""
        found = self._access(path, os.listdir)
        return found if isinstance(found, Unavailable) else tuple(sorted(found))

    def numbered(self, directory: str, stem: str) -> tuple[int, ...]:
        """Return the numbers of a directory's names such as `cpu0`, of stem `cpu`, ascending."""
        names = known(self.names(directory)) or ()
        numbers = (name.removeprefix(stem) for name in names if name.startswith(stem))
        return tuple(sorted({int(number) for number in numbers if _NUMBER.fullmatch(number)}))

    def block(self, path: str, offset: int, size: int) -> bytes | Unavailable:
        """Return `size` bytes of a file or a device from an offset on, such as /dev/cpu/0/cpuid."""
        raw = self._access(
            path,
            lambda host: _read_block(host, offset, size),
            lambda descriptor: os.pread(descriptor, size, offset),
        )
        if isinstance(raw, bytes) and len(raw) != size:
            return Unavailable(f"{path} has no {size} bytes at {offset:#x}")
        return raw

    def put(self, path: str, text: str) -> Unavailable | None:
        """Write a text into an existing file; return why that failed, or None.

        Root's part writes what is saved in its journal of settings.
        """
        refused = self._access(path, partial(self._write, f"{text}\n".encode()), None, "write")
        helper = self._helper
        if not (refused and refused.denied and helper):
            return refused
        try:
            helper.ask("put", path=path, value=text)
        except StudyError as error:
            return Unavailable(f"{path}: {error}")
        except OSError as error:
            return _absent(path, error, "write")
        return None

    def writable(self, path: str) -> bool:
        """Whether this process, or root's part for it, may write an existing file."""
        try:
            if os.access(self._locate(path), os.W_OK, effective_ids=True):
                return True
            helper = self._helper
            return bool(helper and helper.ask("writable", path=path)[0].get("writable"))
        except (OSError, ValueError):
            return False

    def is_directory(self, path: str) -> bool:
        """Whether the path is a directory."""
        try:
            return os.path.isdir(self._locate(path))  # noqa: PTH112
        except (OSError, ValueError):
            return False

    def last_name(self, path: str) -> str:
        """Return the last name of where a link leads; the path's own where that is not known."""
        try:
            return os.path.realpath(self._locate(path)).rpartition("/")[2]
        except (OSError, ValueError):
            return path.rpartition("/")[2]

    @property
    def _helper(self) -> RootHelper | None:
        return root_helper() if self.live else None

    def _access(
        self,
        path: str,
        access: Callable[[str], _Value],
        roots: Callable[[int], _Value] | None = None,
        action: str = "read",
    ) -> _Value | Unavailable:
        """Return the result of `access` to the host's path.

        Where the user may not, it is that of `roots` to what root's part has opened, if it opens
        this file.
        """
        try:
            host = self._locate(path)
            try:
                return access(host)
            except PermissionError:
                helper = self._helper
                if roots is None or helper is None:
                    raise
                return _by_root(path, helper, roots)
        except (OSError, ValueError) as error:
            return _absent(path, error, action)

    def _write(self, data: bytes, host_path: str) -> None:
        if self.live:
            descriptor = os.open(host_path, _WRITE_FLAGS)
        else:
            # Whoever owns a recorded tree may have put a link into it since its path was found.
            folder, _, name = host_path.rpartition("/")
            with OpenFolder(Path(folder)) as opened:
                descriptor = opened.open_to_write(name)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def _locate(self, path: str) -> str:
        """Return the host's path of a node's path, links resolved inside the root."""
        if self.live:
            return path
        pending = path.split("/")[::-1]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del done[-1:]
                continue
            target = _link_target("/".join((self._host, *done, part)))
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if target.startswith("/"):
                done.clear()
            pending.extend(reversed(target.split("/")))
        return "/".join((self._host, *done))


def _without_nuls(text: str) -> str:
    """Return a text without the NULs behind it; one of nothing else is damaged, and stays so.

    The release candidates of Linux 5.15 ended lists of CPUs with a NUL, and recordings keep it.
    """
    ended = text.rstrip("\0\n")
    return f"{ended}\n" if ended and "\0" in text[len(ended) :] else text


def _by_root(path: str, helper: RootHelper, access: Callable[[int], _Value]) -> _Value:
    """Return the result of `access` to what root's part opens; raises OSError."""
    descriptor = helper.opened(path)
    try:
        return access(descriptor)
    except OSError:
        # The file may have gone with its CPU, and be another one when that is back.
        helper.forget(path)
        raise


def _link_target(host_path: str) -> str | None:
    try:
        return os.readlink(host_path)  # noqa: PTH115
    except OSError:
        return None


def _read_block(host_path: str, offset: int, size: int) -> bytes:
    descriptor = os.open(host_path, _FLAGS)
    try:
        return os.pread(descriptor, size, offset)
    finally:
        os.close(descriptor)


def _absent(path: str, error: OSError | ValueError, action: str) -> Unavailable:
    number = error.errno if isinstance(error, OSError) else None
    if number in _MISSING:
        return Unavailable(f"{path} is missing", missing=True)
    if number in _DENIED:
        return Unavailable(f"no permission to {action} {path}", denied=True)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if number in _SHORT:
        raise ShortageError(f"cannot {action} {path}: {reason}")
    return Unavailable(f"cannot {action} {path}: {reason}", busy=number == errno.EBUSY)


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…")
