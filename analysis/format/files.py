"""What analysis writes: tables, verdicts, figures, reports."""

from __future__ import annotations

from pathlib import Path

from base.errors import StudyError, UserError
from base.files import is_full, write_whole

ELSEWHERE = "or name a writable folder with --into"


def write_file(path: Path, content: str | bytes, advice: str = ELSEWHERE) -> Path:
    """Write a file, whole or not at all; return its path.

    `advice` follows "make room" in the error that is raised when the folder cannot be written:
    StudyError when the disk is full, else UserError.
    """
    try:
        write_whole(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        kind = StudyError if is_full(error) else UserError
        raise kind(
            f"{path}: cannot be written ({error.strerror or error}); the records are safe, make "
            f"room, {advice}"
        ) from error
    return path


def again(command: str) -> str:
    """Return the advice to make the file again by a command, in a folder that can be written."""
    return f"or make the folder writable, and run `{command}`"
