"""The errors a user can cause: shown in one line each, never as a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
