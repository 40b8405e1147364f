"""Privileges: the user for whom pinstudy works when sudo, doas or pkexec started it as root.

It takes this user's rights at once: real and effective ids and groups, for every file that it opens
and every program that it starts; an executed program cannot become root again. Only the saved ids
stay root's (credentials(7)): with them `as_root` regains root's rights for the kernel's files, the
journals of settings and perf. Nothing changes for a root login or a user without root's rights.
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

# How sudo(8), pkexec(1) and doas(1) name the calling user: two by number, doas by name.
_UID_VARIABLES = ("SUDO_UID", "PKEXEC_UID")
_NAME_VARIABLE = "DOAS_USER"
# 2^32 - 1 means "no user" to setresuid(2).
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_MAX_ID = 2**32 - 2
_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
# Only root may write root's files; a user may want to let a group write.
_UMASK, _ROOTS_UMASK = 0o002, 0o022


@dataclass(frozen=True)
class User:
    """A user with the ids and groups that give the user's rights."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    home: str

    def variables(self) -> dict[str, str]:
        """Return the environment variables that a login sets."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


# The user whose rights this process has taken: global, as the ids of a process are.
_invoker: User | None = None


def invoking_user(environment: Mapping[str, str]) -> User | None:
    """Return the user who called sudo, doas or pkexec; None for root, or without such a call.

    The groups are those of the user's account. Raises UserError when the variables name no user, or
    several: pinstudy does not guess.
    """
    numbers = {name: environment[name] for name in _UID_VARIABLES if name in environment}
    uids = {name: _number(name, text) for name, text in numbers.items()}
    if _NAME_VARIABLE in environment:
        uids[_NAME_VARIABLE] = _uid_of(environment[_NAME_VARIABLE])
    if len(set(uids.values())) > 1:
        names = " and ".join(uids)
        raise UserError(f"{names} name different users in the environment; unset what is not true")
    uid = next(iter(uids.values()), 0)
    return user_of(uid, environment.get("SUDO_GID")) if uid else None


def user_of(uid: int, gid: str | None = None) -> User:
    """Return the user with this number, with the groups of the account.

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


def drop_privileges(environment: Mapping[str, str] = os.environ) -> None:
    """Take the invoking user's rights, if there is one; set a umask that stops others from writing.

    Raises UserError when the invoking user is not clear, or may not read this pinstudy.
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
    for name in _TEMPORARY_VARIABLES:
        # Root's session may have set a folder that the user may not enter.
        if not os.access(os.environ.get(name, "/"), os.X_OK):
            del os.environ[name]
    for path, use in ((__file__, os.R_OK), (sys.executable, os.X_OK)):
        if not os.access(path, use):
            raise UserError(
                f"{path} may not be read by {user.name}, for whom pinstudy works under sudo; "
                "use one that he may read"
            )


def invoking_uid() -> int | None:
    """Return the number of the user whose rights this process has taken, or None."""
    return None if _invoker is None else _invoker.uid


def may_be_root() -> bool:
    """Whether `as_root` gives root's rights."""
    return os.geteuid() == 0 or (_invoker is not None and os.getresuid()[2] == 0)


@contextmanager
def as_root() -> Iterator[None]:
    """Have root's rights within the context, if the saved ids are root's; real ids change too.

    Otherwise a shell script, such as perf on Ubuntu, would not be root (bash(1), -p).
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
    """Give up root's rights for good."""
    if _invoker is not None:
        os.setresgid(_invoker.gid, _invoker.gid, _invoker.gid)
        os.setresuid(_invoker.uid, _invoker.uid, _invoker.uid)


def chown_to_invoker(*paths: Path) -> None:
    """Make the invoking user the owner of files that root's programs wrote; skip missing ones."""
    if _invoker is not None:
        with as_root():
            for path in paths:
                with suppress(FileNotFoundError):
                    os.chown(path, _invoker.uid, _invoker.gid, follow_symlinks=False)


@contextmanager
def starting_as(uid: int) -> Iterator[dict[str, Any]]:
    """Yield the arguments by which subprocess, within the context, starts a program as this user.

    Empty where this process has the user's rights, or cannot take them. Raises UserError when there
    is no such user.
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
    if _NUMBER.fullmatch(text) is None or int(text) > _MAX_ID:
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
            f"{_NAME_VARIABLE} in the environment is {name[:40]!r}, which is no user here; unset it"
        ) from None
