"""A passing shortage on the host: no process, open file or memory left for what a run needs.

It says nothing about the program or the mapping. A run that meets one is interrupted, not failed,
and its study gives up, as for a full disk: the next start makes the run.
"""

from __future__ import annotations

import errno
import os

from base.errors import StudyError

# fork(2), open(2), execve(2): too many processes, too many open files of this process or of the
# system, too little memory.
SHORTAGES = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
# How launchers, run with LC_ALL=C, say the same. The dynamic loader has no text for some errors
# (glibc elf/dl-minimal.c), dash has one of its own.
_WORDS = (
    *map(os.strerror, SHORTAGES),
    *(f"cannot open shared object file: Error {number}" for number in SHORTAGES),
    "Cannot fork",
)
# What the dynamic loader says before a program begins (exit status 127), and what the OpenMP
# runtimes say when the kernel refuses them a thread (libgomp/team.c, openmp/kmp i18n/en_US.txt).
_LOADER = "error while loading shared libraries: "
_NO_THREAD = ("libgomp: Thread creation failed: ", "OMP: System error #")
_LOADER_STATUS = 127


class ShortageError(StudyError):
    """The host was short of something; the text says who was refused what."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"{problem}; the host was short of it for a while: when there is room, start the same "
            "command again, it continues"
        )
        self.problem = problem


def is_shortage(error: OSError) -> bool:
    """Return whether the system refused a process, an open file or memory."""
    return error.errno in SHORTAGES


def shortage_of(error: BaseException) -> str:
    """Return in words what the host was short of; empty when the error is another one."""
    if isinstance(error, OSError):
        if is_shortage(error):
            return f"a run could not be started, or not be watched: {error.strerror}"
        return ""
    text = str(error)
    return text if tells_of_shortage(text) else ""


def tells_of_shortage(text: str) -> bool:
    """Return whether a command says that it was refused a process, an open file or memory."""
    return any(word in text for word in _WORDS)


def shortage_in(exec_errno: int | None, status: int | None, stderr: str) -> str:
    """Return in words what a program was refused, as far as it is known; empty if nothing.

    `exec_errno` is why it could not be started, `status` its exit status.
    """
    if exec_errno in SHORTAGES:
        return f"the program could not be started: {os.strerror(exec_errno)}"
    if not status:
        return ""
    starts = (_LOADER,) if status == _LOADER_STATUS else _NO_THREAD
    for line in stderr.splitlines():
        if any(start in line for start in starts) and tells_of_shortage(line):
            return f"the program could not go on: {line.strip()}"
    return ""
