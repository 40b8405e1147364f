"""Files of results: those beside records and a user's CSV, read up to a size; what is written.

Files beside records may come from anybody. Of a CSV file every cell keeps its line and column, for
messages.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from base.cpulist import parse_cpulist
from base.errors import ConfigError, Problem, StudyError, UserError
from base.files import NotAFileError, is_full, read_object, read_regular, write_whole
from base.text import one_line, shown

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
# Of a text in a file.
MAX_LETTERS = 2000
_DIGEST = re.compile(r"[0-9A-Za-z]{1,128}")


@dataclass(frozen=True, slots=True)
class Field:
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


def read_lines(text: str, path: str, separator: str = ",") -> Iterator[list[Field]]:
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
            Field(cell.strip(), number, start) for cell, start in zip(texts, starts, strict=True)
        ]


def _cells(row: str, number: int, separator: str) -> list[str]:
    """Return the cells of a row, the file's `number`-th; raises ValueError for one of no table."""
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


def read_node(folder: Path, digest: str) -> dict[str, Any] | None:
    """Return what the file of a node below a results folder holds; None where there is none.

    `digest` is what a record says, which may be anything.
    """
    if not is_digest(digest):
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
        data = read_regular(path, MAX_BESIDE_BYTES, links=False)
    except (OSError, ValueError):
        return None
    return data if len(data) <= MAX_BESIDE_BYTES else None


ELSEWHERE = "or name a writable folder with --into"


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


@dataclass(frozen=True)
class Checked:
    """A table of a JSON file: `where` is its place, as in `pairs[3].runs[0]`, empty for the whole.

    What is not as expected raises UserError, naming file and field; `advice` ends the message.
    """

    path: str
    values: dict[str, Any]
    advice: str = ""
    where: str = ""

    def wrong(self, name: str, expected: str, found: object = None) -> UserError:
        """Return the error that a field, or the value `found` in it, is not what was expected."""
        text = shown(self.values.get(name) if found is None else found)
        return UserError(
            f"{self.path}: {self._place(name)}: expected {expected}, found {text}{self.advice}"
        )

    def valid(self, name: str, is_valid: Callable[[Any], bool], expected: str) -> Any:  # noqa: ANN401
        """Return a field's value if it is valid; None stands for a field that is not there."""
        value = self.values.get(name)
        if not is_valid(value):
            raise self.wrong(name, expected)
        return value

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text of at most 2000 characters."""
        value: str = self.valid(
            name,
            lambda value: isinstance(value, str) and len(value) <= MAX_LETTERS,
            f"a text of at most {MAX_LETTERS} characters",
        )
        return value

    def word(self, name: str, known: tuple[str, ...]) -> str:
        """Return one of the words that are known."""
        value: str = self.valid(name, lambda value: value in known, f"one of {', '.join(known)}")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value: int = self.valid(
            name,
            lambda value: type(value) is int and least <= value <= most,
            f"a whole number from {least} to {most}",
        )
        return value

    def cpus(self, name: str) -> tuple[int, ...]:
        """Return the CPUs of a list such as `0-3,8`."""
        try:
            return parse_cpulist(self.text(name))
        except ValueError:
            raise self.wrong(name, "a list of CPUs such as 0-3,8") from None

    def cpus_of(self, online: frozenset[int], least: int = 1) -> tuple[int, ...]:
        """Return the list in `cpus`, all of which are online."""
        cpus = self.cpus("cpus")
        if len(cpus) < least or not online.issuperset(cpus):
            raise self.wrong("cpus", "CPUs that are online")
        return cpus

    def pair(self, name: str, online: frozenset[int]) -> tuple[int, int]:
        """Return two different CPU numbers, both of which are online."""
        value: Any = self.values.get(name)
        two = isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value)
        if not two or value[0] == value[1] or min(value) < 0:
            raise self.wrong(name, "two different CPU numbers")
        if not online.issuperset(value):
            raise self.wrong(name, "CPUs that are online in the topology")
        return value[0], value[1]

    def check_schema(self, schema: int) -> None:
        """Raise UserError unless the file has that schema."""
        self.valid(
            "schema",
            lambda value: type(value) is int and value == schema,
            f"{schema}, the version that this pinstudy reads",
        )

    def table(self, name: str) -> Checked:
        """Return a table inside this one."""
        value = self.valid(name, lambda value: isinstance(value, dict), "a table of keys")
        return replace(self, values=value, where=self._place(name))

    def tables(self, name: str, most: int) -> list[Checked]:
        """Return a list of tables."""
        items = self.valid(
            name,
            lambda value: isinstance(value, list) and len(value) <= most,
            f"a list of at most {most} tables",
        )
        for at, item in enumerate(items):
            if not isinstance(item, dict):
                raise self.wrong(name, f"a table as entry {at}")
        place = self._place(name)
        return [replace(self, values=item, where=f"{place}[{at}]") for at, item in enumerate(items)]

    def numbers(self, name: str, most_values: int, least: float, most: float) -> list[float]:
        """Return a list of one number or more, each from `least` to `most`."""
        values: list[float] = self.valid(
            name,
            lambda value: isinstance(value, list) and 0 < len(value) <= most_values,
            f"a list of 1 to {most_values} numbers",
        )
        for at, number in enumerate(values):
            if type(number) not in (int, float) or not least <= number <= most:
                expected = f"a number from {least:g} to {most:g}"
                raise self.wrong(f"{name}[{at}]", expected, number)
        return values

    def _place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def open_checked(path: Path, most: int, expected: str, advice: str) -> Checked:
    """Return the table that a user's JSON file of at most `most` bytes holds.

    `expected` ends the message about a file without a table, `advice` those about its fields.
    Raises UserError when there is no such table.
    """
    name = one_line(str(path), None)
    try:
        return Checked(name, read_object(path, most), advice)
    except NotAFileError:
        raise UserError(f"{name}: is not a file; {expected}") from None
    except (OSError, ValueError) as error:
        reason = one_line(str(getattr(error, "strerror", None) or error))[:100]
        raise UserError(f"{name}: cannot be read ({reason}); {expected}") from None
