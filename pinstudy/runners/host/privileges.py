"""Privileges: the user for whom pinstudy works when sudo, doas or pkexec started it as root.

Rights are apart. Before pinstudy opens a file of the user, it starts root's part, a process of its
own that knows a handful of requests (pinstudy/runners/host/root_helper.py), and takes the user's
ids and groups for good: real, effective and saved ones. Nothing changes for a root login, or for a
user without root's rights.

Root trusts only folders and programs that nobody but root can change.
"""

from __future__ import annotations

import ctypes
import errno
import os
import pwd
import re
import socket
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.base.errors import ShortageError, UserError, is_shortage
from pinstudy.base.folders import BY_OTHERS, root_ids
from pinstudy.runners.host.root_helper import RootHelper


def check_roots_folder(folder: Path) -> None:
    """Raise OSError when anybody but root could rename a folder or the files in it.

    `folder` has no link in it: one that somebody puts there meanwhile is not root's. Raises it also
    when the folder, or one above it, cannot be read.
    """
    trusted = root_ids()
    for path in (folder, *folder.parents):
        status = path.lstat()
        if status.st_uid not in trusted:
            raise PermissionError(errno.EPERM, f"{path} is not root's")
        # In a sticky folder such as /tmp nobody else can rename root's files.
        sticky = status.st_mode & stat.S_ISVTX and path != folder
        if status.st_mode & BY_OTHERS and not sticky:
            raise PermissionError(errno.EPERM, f"others may write {path}")


def program_for_root(name: str) -> Path | str:
    """Return the program of this name on the PATH that root starts, its links resolved.

    A text says why root starts none: nobody but root may be able to change the program, or to put
    another one in its place.
    """
    # Of the few that need it: every command starts with this module.
    import shutil

    found = shutil.which(name)
    if found is None:
        return f"there is no {name} on the PATH"
    try:
        program = Path(found).resolve(strict=True)
        status = program.stat()
        if status.st_uid not in root_ids() or status.st_mode & BY_OTHERS:
            return f"{found} is not root's alone, who would start it"
        check_roots_folder(program.parent)
    except OSError as error:
        return f"{found}, which root would start, is not safe: {error.strerror}"
    return program


# How sudo(8), pkexec(1) and doas(1) name the calling user: two by number, doas by name.
_UID_VARIABLES = ("SUDO_UID", "PKEXEC_UID")
_NAME_VARIABLE = "DOAS_USER"
# 2^32 - 1 means "no user" to setresuid(2).
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_MAX_ID = 2**32 - 2
# The variables that name the folder of temporary files (Python's tempfile).
TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
# Only root may write root's files; a user may want to let a group write.
_UMASK, _ROOTS_UMASK = 0o002, 0o022
# linux/prctl.h
_PR_SET_DUMPABLE = 4
# keyctl(2): its number by architecture (Linux arch/*/syscalls), and linux/keyctl.h.
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION_KEYRING = 1
_NO_PROCESS = errno.EAGAIN


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


# What serves a user's requests, from a pipe, by answers to a socket, until the process of a pidfd
# is gone.
Serve = Callable[[int, socket.socket, int, User], None]

# The user whose rights this process has taken, and root's part: global, as its ids are.
_invoker: User | None = None
_helper: RootHelper | None = None


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


def drop_privileges(serve: Serve, environment: Mapping[str, str] = os.environ) -> None:
    """Take the invoking user's rights for good, if there is one, after root's part was started.

    `serve` is what root's part does. The umask is set so that others cannot write. Raises UserError
    when the invoking user is not clear, or may not read this pinstudy; ShortageError where no
    process can be started.
    """
    global _invoker, _helper  # noqa: PLW0603 - the ids of a process are global
    user = invoking_user(environment) if os.geteuid() == 0 else None
    os.umask(os.umask(0o077) | (_ROOTS_UMASK if os.geteuid() == 0 and not user else _UMASK))
    if user is None:
        return
    try:
        _helper = _started(serve, user)
        _become(user)
    except OSError as error:
        if is_shortage(error):
            raise ShortageError(f"root's part cannot be started: {error.strerror}") from None
        raise UserError(f"the rights of user {user.name} cannot be taken on: {error}") from None
    _invoker = user
    os.environ.update(user.variables())
    for name in TEMPORARY_VARIABLES:
        # Root's session may have set a folder that the user may not enter.
        if not os.access(os.environ.get(name, "/"), os.X_OK):
            del os.environ[name]
    for path, use in ((__file__, os.R_OK), (sys.executable, os.X_OK)):
        if not os.access(path, use):
            raise UserError(
                f"{path} may not be read by {user.name}, for whom pinstudy works under sudo; "
                "use one that he may read"
            )


def _become(user: User) -> None:
    os.setgroups(user.groups)
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)
    # A process that was root's hides its files in /proc from its user, and from itself. Nothing in
    # its memory is root's any more.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
    leave_session_keyring()


def leave_session_keyring() -> None:
    """Have a new session keyring: that of sudo's session may be root's (pam_keyinit(8))."""
    if number := _KEYCTL.get(os.uname().machine):
        ctypes.CDLL(None).syscall(number, _JOIN_SESSION_KEYRING, None)


def _started(serve: Serve, user: User) -> RootHelper:
    """Start root's part; return who asks it."""
    own, roots = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    # Nothing can be sent to root's end, and so no open file.
    roots.shutdown(socket.SHUT_RD)
    requests, asks = os.pipe()
    asking = os.pidfd_open(os.getpid())
    try:
        child = os.fork()
        if child == 0:
            _serve_alone(serve, requests, roots, asking, user)
        _, status = os.waitpid(child, 0)
        if status:
            raise OSError(_NO_PROCESS, os.strerror(_NO_PROCESS))
    except OSError:
        own.close()
        os.close(asks)
        raise
    finally:
        roots.close()
        os.close(requests)
        os.close(asking)
    return RootHelper(asks, own)


def _serve_alone(
    serve: Serve, requests: int, answers: socket.socket, asking: int, user: User
) -> None:
    """Serve in a process that is no child of the one that asks; never return."""
    status = 1
    try:
        # It is not among the processes that a study starts, waits for and ends.
        if os.fork() == 0:
            serve(requests, answers, asking, user)
        status = 0
    finally:
        os._exit(status)


def invoking_uid() -> int | None:
    """Return the number of the user whose rights this process has taken, or None."""
    return None if _invoker is None else _invoker.uid


def root_helper() -> RootHelper | None:
    """Return root's part; None where there is none, as for a root login."""
    return _helper


def may_be_root() -> bool:
    """Whether this process has root's rights, or can ask root's part."""
    return os.geteuid() == 0 or _helper is not None


def write_problem(path: str, called: str = "") -> tuple[str, str]:
    """Return that a file of the kernel may not be written, and what helps; `called` is its name.

    Containers mount the kernel's files read-only, for root as well.
    """
    if may_be_root():
        place = "/proc/sys" if path.startswith("/proc/") else "/sys"
        return (
            f"not even root may write {called or path} here",
            f"mount {place} writable (in a container)",
        )
    return f"no permission to write {called or path}", "run as root"


def give_up_root() -> None:
    """End root's part: nothing is asked of it any more."""
    global _helper  # noqa: PLW0603
    if _helper is not None:
        _helper.close()
        _helper = None


def rights_of(uid: int) -> dict[str, Any]:
    """Return the arguments by which subprocess starts a program with a user's rights.

    Empty where this process has these rights; else the program gets nothing of this process's
    variables but the PATH. Raises UserError when there is no such user, or when this process may
    not start programs for that user.
    """
    if uid == os.geteuid():
        return {}
    user = user_of(uid)
    if os.geteuid() != 0:
        raise UserError(f"only root and {user.name} may start it")
    return {
        "user": user.uid,
        "group": user.gid,
        "extra_groups": user.groups,
        "env": {"PATH": os.environ.get("PATH", os.defpath)} | user.variables(),
        "cwd": "/",
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
