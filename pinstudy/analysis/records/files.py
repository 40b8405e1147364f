"""Files of results: those beside records and a user's CSV, read up to a size; what is written.

Files beside records may come from anybody. Of a CSV file every cell keeps its line and column, for
messages.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base.decoding import decoded
from pinstudy.base.errors import ConfigError, Problem, StudyError, UserError
from pinstudy.base.files import NotAFileError, is_full, read_regular, write_whole
from pinstudy.base.text import one_line
from pinstudy.configs.results_folder import NODES
from pinstudy.runners.records.node_file import NodeFile

# Means of thousands of cases fit; a larger file is something else, and must not fill the memory.
MAX_BYTES = 1 << 24
# Rows of a CSV file with their header, cells of a row, and its characters: each cell takes a
# hundred times its text in memory, each row kilobytes.
MAX_ROWS = 20_001
MAX_CELLS = 2000
MAX_ROW_CHARACTERS = 1 << 20
# What a quote does to a field: opens it at its start, closes it, and doubled stands for itself.
_AT_A_QUOTE = {"start": "quoted", "quoted": "closed", "closed": "quoted", "plain": "plain"}
# Larger files are none that pinstudy has written.
MAX_BESIDE_BYTES = 8_000_000
_DIGEST = re.compile(r"[0-9A-Za-z]{1,128}")


@dataclass(frozen=True, slots=True)
class CsvCell:
    """One cell: its text without blanks around it, and where it begins, counted from 1."""

    text: str
    line: int
    column: int


def read_text(path: Path, what: str) -> str:
    """Return the text of a user's file.

    Raises UserError when it cannot be read or is too large, ConfigError when it is neither UTF-8
    nor UTF-16, which offices and Windows' shells write.
    """
    name = one_line(str(path), None)
    try:
        data = read_regular(path, MAX_BYTES)
    except NotAFileError:
        raise UserError(f"{name}: is not a file; expected {what}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{name}: cannot be read ({reason}); expected {what}") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"{name}: larger than {MAX_BYTES >> 20} MiB; expected {what}")
    if encoding := _wide_encoding(data):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            problem = Problem(name, 1, 1, "begins as UTF-16 text and is none; save it as UTF-8")
            raise ConfigError([problem]) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        problem = Problem(name, line, column, "not UTF-8 text; save the file as UTF-8")
        raise ConfigError([problem]) from None


def _wide_encoding(data: bytes) -> str:
    """Return which UTF-16 a text begins as, with or without its mark; empty for any other."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = [byte == 0 for byte in data[:4]]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else ""


def read_lines(text: str, path: str, separator: str = ",") -> Iterator[list[CsvCell]]:
    """Yield the fields of each line that is not blank and has more than separators.

    Raises ConfigError for a line that is no CSV, such as one whose quotes are not closed: a line
    is a row, and no line break belongs into a cell. Raises it, too, for a row of too many cells
    or characters, and for too many rows.
    """
    rows = 0
    for number, line in enumerate(text.split("\n"), 1):
        row = line.removesuffix("\r")
        if not row.replace(separator, "").strip():
            continue
        rows += 1
        try:
            texts = _cells(row, rows, separator)
        except ValueError as error:
            raise ConfigError([Problem(path, number, 1, str(error))]) from None
        starts = _starts(row, separator)
        yield [
            CsvCell(cell.strip(), number, start) for cell, start in zip(texts, starts, strict=True)
        ]


def _cells(row: str, number: int, separator: str) -> list[str]:
    if number > MAX_ROWS:
        raise ValueError(f"more than {MAX_ROWS - 1} rows below the first")
    if len(row) > MAX_ROW_CHARACTERS:
        raise ValueError(f"{len(row)} characters; expected at most {MAX_ROW_CHARACTERS} in a row")
    try:
        (cells,) = csv.reader([row], strict=True, delimiter=separator)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"no line of CSV ({error})") from None
    if len(cells) > MAX_CELLS:
        raise ValueError(f"{len(cells)} cells; expected at most {MAX_CELLS} columns")
    return cells


def _starts(row: str, separator: str) -> list[int]:
    """Return the columns at which the fields of a line begin: after separators outside quotes."""
    starts = [1]
    state = "start"
    for column, character in enumerate(row, 1):
        if character == separator and state != "quoted":
            starts.append(column + 1)
            state = "start"
        elif character == '"':
            state = _AT_A_QUOTE[state]
        elif state == "start":
            state = "plain"
    return starts


def is_digest(text: str) -> bool:
    """Return whether what a record calls a digest may be a part of a file's name."""
    return _DIGEST.fullmatch(text) is not None


def read_node(folder: Path, digest: str) -> NodeFile | None:
    """Return the file of a node below a results folder; None without one, or for what is none.

    `digest` is what a record says, which may be anything.
    """
    try:
        return _node(folder, digest)
    except ValueError:
        return None


def node_problem(folder: Path, digest: str) -> str | None:
    """Return why the file of a node is not used; None where it is, or is not there."""
    try:
        _node(folder, digest)
    except ValueError as error:
        return one_line(f"{NODES}/{digest}.json is not used: {error}")
    return None


def _node(folder: Path, digest: str) -> NodeFile | None:
    data = read_limited(folder / NODES / f"{digest}.json") if is_digest(digest) else None
    return None if data is None else decoded(data, NodeFile)


def read_limited(path: Path) -> bytes | None:
    """Return a file's bytes; None when it cannot be read, is too large, or is a link."""
    try:
        # What these files hold is shown in reports that are passed on: a link could lead to a
        # private file.
        data = read_regular(path, MAX_BESIDE_BYTES, links=False)
    except (OSError, ValueError):
        return None
    return data if len(data) <= MAX_BESIDE_BYTES else None


ELSEWHERE = "or name a writable folder with --output"


def write_file(path: Path, content: str | bytes, hint: str = ELSEWHERE) -> Path:
    """Write a file, whole or not at all; return its path.

    `hint` follows "make room" in the error that is raised when the folder cannot be written:
    StudyError when the disk is full, else UserError.
    """
    try:
        write_whole(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        kind = StudyError if is_full(error) else UserError
        raise kind(
            f"{path}: cannot be written ({error.strerror or error}); the records are safe, make "
            f"room, {hint}"
        ) from error
    return path


def rerun_hint(command: str) -> str:
    """Return the hint to rerun a command after making the folder writable."""
    return f"or make the folder writable, and run `{command}`"
