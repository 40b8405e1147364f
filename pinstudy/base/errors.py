"""The errors that a user sees: shown in one line each, never as a traceback.

A passing shortage on the host is one of them: a run needs a process, an open file or memory, and
none is left. It is no fault of the program or the mapping. The run is recorded as interrupted, not
failed, and the study stops, as for a full disk: the next start makes the run.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass

# fork(2), open(2), execve(2): too many processes, too many open files of this process or of the
# system, too little memory.
SHORTAGES = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
# The same errors in messages of launchers, run with LC_ALL=C. The dynamic loader has no text for
# some errors (glibc elf/dl-minimal.c), dash has one of its own.
_WORDS = (
    *map(os.strerror, SHORTAGES),
    *(f"cannot open shared object file: Error {number}" for number in SHORTAGES),
    "Cannot fork",
)
# Messages of the dynamic loader before a program begins (exit status 127), and of the OpenMP
# runtimes when the kernel refuses them a thread (libgomp/team.c, openmp/kmp i18n/en_US.txt).
_LOADER = "error while loading shared libraries: "
_NO_THREAD = ("libgomp: Thread creation failed: ", "OMP: System error #")
_LOADER_STATUS = 127


class UserError(Exception):
    """Something the user can mend; the command line prints it and exits with `exit_status`.

    The text says what is wrong (with file and line, or the command and its stderr), what was
    expected, and what to do.
    """

    exit_status = 2


class StudyError(UserError):
    """A correct request that could not be carried out."""

    exit_status = 1


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake at one place of a file; `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class ConfigError(UserError):
    """Every mistake found in the configuration files, in the order of their places."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class StoppedError(StudyError):
    """The work was stopped in good order; a later attempt makes the runs that are left."""


class ShortageError(StudyError):
    """The host was short of something; the text has the refused command and the reason."""

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
    """Return the shortage that an error reports, in words; empty for any other error."""
    if isinstance(error, OSError):
        if is_shortage(error):
            return f"a run could not be started, or not be watched: {error.strerror}"
        return ""
    text = str(error)
    return text if reports_shortage(text) else ""


def reports_shortage(text: str) -> bool:
    """Return whether a message reports that a process, an open file or memory was refused."""
    return any(word in text for word in _WORDS)


def shortage_in(exec_errno: int | None, status: int | None, stderr: str) -> str:
    """Return the shortage that a program met, in words, as far as it is known; empty if none.

    `exec_errno` is the error of its start, if that failed; `status` is its exit status.
    """
    if exec_errno in SHORTAGES:
        return f"the program could not be started: {os.strerror(exec_errno)}"
    if not status:
        return ""
    starts = (_LOADER,) if status == _LOADER_STATUS else _NO_THREAD
    for line in stderr.splitlines():
        if any(start in line for start in starts) and reports_shortage(line):
            return f"the program could not go on: {line.strip()}"
    return ""
