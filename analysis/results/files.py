"""Files of results: those beside records and a user's CSV, read up to a size; what is written.

Files beside records may come from anybody. Of a CSV file every cell keeps its line and column, for
messages.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import ConfigError, Problem, StudyError, UserError
from base.files import NotAFileError, is_full, read_given, write_whole
from base.text import one_line

# Means of thousands of cases fit; a larger file is something else, and must not fill the memory.
MAX_BYTES = 1 << 24
# What a quote does to a field: opens it at its start, closes it, and doubled stands for itself.
_AT_A_QUOTE = {"start": "quoted", "quoted": "closed", "closed": "quoted", "plain": "plain"}
# Larger files are none that pinstudy has written.
MAX_BESIDE_BYTES = 8_000_000
_DIGEST = re.compile(r"[0-9A-Za-z]{1,128}")


@dataclass(frozen=True)
class Field:
    """One cell: its text without blanks around it, and where it begins, counted from 1."""

    text: str
    line: int
    column: int


def read_text(path: Path, what: str) -> str:
    """Return the text of a user's file.

    Raises UserError when it cannot be read or is too large, ConfigError when it is no UTF-8.
    """
    name = one_line(str(path), None)
    try:
        data = read_given(path, MAX_BYTES)
    except NotAFileError:
        raise UserError(f"{name}: is not a file; expected {what}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{name}: cannot be read ({reason}); expected {what}") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"{name}: larger than {MAX_BYTES >> 20} MiB; expected {what}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        problem = Problem(name, line, column, "not UTF-8 text; save the file as UTF-8")
        raise ConfigError([problem]) from None


def read_lines(text: str, path: str) -> Iterator[list[Field]]:
    """Yield the fields of each line that is not blank.

    Raises ConfigError for a line that is no CSV, such as one whose quotes are not closed: a line
    is a row, and no line break belongs into a cell.
    """
    for number, line in enumerate(text.split("\n"), 1):
        row = line.removesuffix("\r")
        if not row.strip():
            continue
        try:
            (texts,) = csv.reader([row], strict=True)
        except (csv.Error, ValueError) as error:
            raise ConfigError([Problem(path, number, 1, f"no line of CSV ({error})")]) from None
        starts = _starts(row)
        yield [
            Field(cell.strip(), number, start) for cell, start in zip(texts, starts, strict=True)
        ]


def _starts(row: str) -> list[int]:
    """Return the columns at which the fields of a line begin: after commas outside quotes."""
    starts = [1]
    state = "start"
    for column, character in enumerate(row, 1):
        if character == "," and state != "quoted":
            starts.append(column + 1)
            state = "start"
        elif character == '"':
            state = _AT_A_QUOTE[state]
        elif state == "start":
            state = "plain"
    return starts


def read_node(folder: Path, digest: str) -> dict[str, Any] | None:
    """Return what the file of a node below a results folder holds; None where there is none.

    `digest` is what a record says, which may be anything.
    """
    if not _DIGEST.fullmatch(digest):
        return None
    node = read_json(folder / "nodes" / f"{digest}.json")
    return node if isinstance(node, dict) else None


def read_json(path: Path) -> object:
    """Return what a JSON file holds; None when it cannot be read, is too large or is no JSON."""
    data = read_limited(path)
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None


def read_limited(path: Path) -> bytes | None:
    """Return a file's bytes; None when it cannot be read, is too large, or is a link."""
    try:
        # What these files hold is shown in reports that are passed on: a link could lead to a
        # private file.
        data = read_given(path, MAX_BESIDE_BYTES, links=False)
    except (OSError, ValueError):
        return None
    return data if len(data) <= MAX_BESIDE_BYTES else None


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
