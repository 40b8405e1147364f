"""Privileges: the user for whom pinstudy works when sudo, doas or pkexec started it as root.

It takes this user's rights on at once: real and effective ids and groups, for every file that it
opens and every program that it starts; what is executed cannot become root again. Only root's
saved id is kept (credentials(7)), by which `as_root` takes root's rights back where nothing else
will do: for the kernel's files, the journals of settings, perf. Nothing changes for root who logged
in as such, or for a user without root's rights.
"""

from __future__ import annotations

import os
import pwd
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import UserError

# What sudo(8), doas(1) and pkexec(1) say of who called them: numbers, and a name by doas.
_NUMBERS = ("SUDO_UID", "PKEXEC_UID")
_NAME = "DOAS_USER"
# 2^32 - 1 means "no user" to setresuid(2).
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_MOST = 2**32 - 2
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
# Root's own files are nobody else's to write; a user may want that for a group.
_UMASK, _ROOTS_UMASK = 0o002, 0o022


@dataclass(frozen=True)
class User:
    """A user and the rights that belong to him."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    home: str

    def variables(self) -> dict[str, str]:
        """Return what a login sets in the environment."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


# The user whose rights this process has taken on; a process has one pair of ids.
_invoker: User | None = None


def invoking_user(environment: Mapping[str, str]) -> User | None:
    """Return who called sudo, doas or pkexec; None when that was root, or nobody has.

    His groups are those of the system's accounts. Raises UserError when the variables name no user,
    or two: what they say is not guessed.
    """
    told = {name: _number(name, environment[name]) for name in _NUMBERS if name in environment}
    if _NAME in environment:
        told[_NAME] = _uid_of(environment[_NAME])
    if len(set(told.values())) > 1:
        names = " and ".join(told)
        raise UserError(f"{names} name different users in the environment; unset what is not true")
    uid = next(iter(told.values()), 0)
    return user_of(uid, environment.get("SUDO_GID")) if uid else None


def user_of(uid: int, gid: str | None = None) -> User:
    """Return the user of a number, with the groups of his account.

    Without an account `gid` is the only group. Raises UserError when there is neither.
    """
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        if gid is None:
            raise UserError(f"there is no account of user {uid}, and so no group") from None
        group = _number("SUDO_GID", gid)
        return User(uid, group, (group,), str(uid), "/")
    groups = os.getgrouplist(account.pw_name, account.pw_gid)
    return User(uid, account.pw_gid, tuple(groups), account.pw_name, account.pw_dir)


def begin(environment: Mapping[str, str] = os.environ) -> None:
    """Take the invoking user's rights on, if there is one; files are not for everybody to write.

    Raises UserError when it is not clear who that is, or he may not read this pinstudy.
    """
    global _invoker  # noqa: PLW0603 - the ids of a process are global
    user = invoking_user(environment) if os.geteuid() == 0 else None
    os.umask(os.umask(0o077) | (_ROOTS_UMASK if os.geteuid() == 0 and not user else _UMASK))
    if user is None:
        return
    try:
        os.setgroups(user.groups)
        os.setresgid(user.gid, user.gid, 0)
        os.setresuid(user.uid, user.uid, 0)
    except OSError as error:
        raise UserError(f"the rights of user {user.name} cannot be taken on: {error}") from None
    _invoker = user
    os.environ.update(user.variables())
    for name in _TEMPORARY:
        # A session of root may have one of its own.
        if not os.access(os.environ.get(name, "/"), os.X_OK):
            del os.environ[name]
    for path, use in ((__file__, os.R_OK), (sys.executable, os.X_OK)):
        if not os.access(path, use):
            raise UserError(
                f"{path} may not be read by {user.name}, for whom pinstudy works under sudo; "
                "use one that he may read"
            )


def invoking_uid() -> int | None:
    """Return the number of the user whose rights were taken on; None when none were."""
    return None if _invoker is None else _invoker.uid


def may_be_root() -> bool:
    """Whether `as_root` has root's rights."""
    return os.geteuid() == 0 or (_invoker is not None and os.getresuid()[2] == 0)


@contextmanager
def as_root() -> Iterator[None]:
    """Have root's rights, where they were kept, until the end of the block; also as real ids.

    Else a shell script, as perf is on Ubuntu, would not be root (bash(1), -p).
    """
    if _invoker is None or os.geteuid() == 0 or not may_be_root():
        yield
        return
    try:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        yield
    finally:
        try:
            os.setresgid(_invoker.gid, _invoker.gid, 0)
        finally:
            os.setresuid(_invoker.uid, _invoker.uid, 0)


def give_up_root() -> None:
    """Keep nothing of root's rights: what follows needs none."""
    if _invoker is not None:
        os.setresgid(_invoker.gid, _invoker.gid, _invoker.gid)
        os.setresuid(_invoker.uid, _invoker.uid, _invoker.uid)


def give(*paths: Path) -> None:
    """Make what root's programs have written, as far as it is there, the invoking user's own."""
    if _invoker is not None:
        with as_root():
            for path in paths:
                with suppress(FileNotFoundError):
                    os.chown(path, _invoker.uid, _invoker.gid, follow_symlinks=False)


@contextmanager
def starting_as(uid: int) -> Iterator[dict[str, Any]]:
    """Give the arguments with which subprocess starts a program as this user, in the block.

    There are none where it is this process's own. Raises UserError when there is no such user.
    """
    if uid == os.geteuid() or not may_be_root():
        yield {}
        return
    if uid == 0:
        with as_root():
            yield {}
        return
    user = user_of(uid)
    with as_root():
        yield {
            "user": user.uid,
            "group": user.gid,
            "extra_groups": user.groups,
            "env": dict(os.environ) | user.variables(),
        }


def _number(name: str, text: str) -> int:
    if _NUMBER.fullmatch(text) is None or int(text) > _MOST:
        raise UserError(
            f"{name} in the environment is {text[:40]!r}; expected a number: unset it, or start "
            "pinstudy without it"
        )
    return int(text)


def _uid_of(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise UserError(
            f"{_NAME} in the environment is {name[:40]!r}, which is no user here; unset it"
        ) from None
