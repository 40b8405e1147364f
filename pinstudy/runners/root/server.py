"""The process of root's part: it answers requests until the process that asks is gone."""

from __future__ import annotations

import errno
import os
import resource
import selectors
import signal
import socket
import struct
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType

from pinstudy.base.errors import ShortageError, UserError
from pinstudy.runners.host.privileges import User, check_roots_folder, leave_session_keyring
from pinstudy.runners.host.root_helper import read_message, send_answer
from pinstudy.runners.root.request import Answer, Handler

# Not the session's PATH: a file system of the user's may say that its files are root's.
_FOLDERS = (*("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),)
# A user who stops in the middle of a message is not waited for.
_MESSAGE_LIMIT_S = 10.0
# It ends with the process that asks, whatever is sent to all processes of a session or a job.
_SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGTSTP),
)
_LIMITS = {
    resource.RLIMIT_CORE: 0,
    # A recording (pinstudy/runners/measure/perf/c2c.py) is the largest file.
    resource.RLIMIT_FSIZE: 2 * 1024**3,
}
# Where journals are (pinstudy/runners/settings/journal.py).
_KEPT = ("PINSTUDY_STATE",)
_CREDENTIALS = struct.Struct("3i")


def serve(requests: int, answers: socket.socket, asking: int, user: User) -> None:
    """Answer a user's requests until the process of the pidfd `asking`, or the pipe, has ended.

    What was started for the user is ended then. Settings that are still changed stay in their
    journal, for the next command.
    """
    _stand_alone(requests, answers.fileno(), asking)
    answers.settimeout(_MESSAGE_LIMIT_S)
    with ExitStack() as at_end, selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        selector.register(asking, selectors.EVENT_READ)
        handlers: dict[str, Handler] = {}
        # Requests that were sent before the end are not answered: nobody waits for them.
        while all(key.fd != asking for key, _ in selector.select()):
            # Most commands ask nothing.
            handlers = handlers or _handlers(answers, user, at_end)
            if not _answer_next(requests, answers, handlers):
                return


def _handlers(answers: socket.socket, user: User, at_end: ExitStack) -> dict[str, Handler]:
    """Return what answers each request; `at_end` ends what they have started."""
    from pinstudy.runners.root.kernel_files import KernelFiles
    from pinstudy.runners.root.perfs import Perfs
    from pinstudy.runners.root.settings import Scheduler, UsersSettings
    from pinstudy.runners.settings.journal import unlock_state

    # The kernel kept who made the sockets: the process that asks, before it was the user's.
    credentials = answers.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, _, _ = _CREDENTIALS.unpack(credentials)
    perfs, scheduler = Perfs(user.uid), Scheduler()
    at_end.callback(unlock_state)
    at_end.callback(perfs.close)
    at_end.callback(scheduler.close)
    parts = (KernelFiles(), UsersSettings(user.uid, pid), perfs, scheduler)
    return {name: handler for part in parts for name, handler in part.handlers.items()}


def _answer_next(requests: int, answers: socket.socket, handlers: dict[str, Handler]) -> bool:
    """Answer the next request; return whether there may be more."""
    try:
        request = read_message(requests, _MESSAGE_LIMIT_S)
    except (OSError, EOFError, ValueError):
        return False
    fields, descriptor = _answer(request, handlers)
    try:
        send_answer(answers, fields, descriptor)
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def _answer(request: dict[str, object], handlers: dict[str, Handler]) -> Answer:
    handler = handlers.get(str(request.pop("request", "")))
    if handler is None:
        return {"refused": "root's part knows no such request"}, None
    try:
        return handler(request)
    except OSError as error:
        return {"errno": error.errno or errno.EIO}, None
    except ShortageError as error:
        return {"short": error.problem}, None
    except (UserError, ValueError) as error:
        return {"refused": str(error)}, None


def _stand_alone(*kept: int) -> None:
    """Keep nothing of the user's session but its limits, for what runs as the user here."""
    for number in _SIGNALS:
        # Handled and not ignored: programs would inherit that (execve(2)).
        signal.signal(number, _stay)
    _set_variables()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    leave_session_keyring()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("0")
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    # The next descriptors are those that the command opened before it knew for whom it works.
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
    os.umask(0o022)
    for limit, most in _LIMITS.items():
        soft, hard = (
            most if now == resource.RLIM_INFINITY else min(now, most)
            for now in resource.getrlimit(limit)
        )
        resource.setrlimit(limit, (soft, hard))


def _stay(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _set_variables() -> None:
    """Leave the variables that root's part itself needs; its programs inherit them."""
    # A relative folder is one in the user's session.
    kept = {name: str(Path(os.environ[name]).absolute()) for name in _KEPT if os.environ.get(name)}
    path = ":".join(dict.fromkeys(filter(None, map(_roots_folder, _FOLDERS))))
    os.environ.clear()
    os.environ.update(kept | {"PATH": path, "LC_ALL": "C", "HOME": "/"})


def _roots_folder(folder: str) -> str:
    """Return the path without links of a folder that is root's alone; empty for any other."""
    try:
        real = Path(folder).resolve(strict=True)
        check_roots_folder(real)
    except (OSError, RuntimeError):
        return ""
    return str(real)
