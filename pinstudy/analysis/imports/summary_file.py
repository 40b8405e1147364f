"""Tables of means become the `summaries.csv` of a results folder, checked before it is replaced.

Spreadsheets and pandas write tables in their own ways; each is read as the plain one that it
stands for. Offices write `;` between cells where the decimal sign is a comma, blank rows and
columns at the end, and separators of thousands; pandas an index, `nan`, and whole numbers as `1.0`
in columns that lack some. Cells keep their line and column, for messages.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import zip_longest
from pathlib import Path

import pandas as pd

from pinstudy.analysis.imports.identity import FIELDS, LoggedCase, Numbers
from pinstudy.analysis.records.files import MAX_BYTES, CsvCell, read_lines, read_text
from pinstudy.analysis.results.summaries import (
    FILE,
    UNKNOWN,
    WHAT,
    holds_count,
    holds_number,
    is_column,
    parse_lines,
    parse_summaries,
)
from pinstudy.base.errors import ConfigError, Problem, UserError
from pinstudy.base.files import write_whole
from pinstudy.base.text import one_line, shown

_SEPARATORS = (",", ";", "\t", "|")
# What Excel reads, and some programs write, above a table.
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(?P<separator>[^\w\s\"]|\t)\"?\s*", re.IGNORECASE)
# What stands for a number that is not there.
_NO_NUMBER = {"nan", "na", "n/a", "#n/a", "<na>", "none", "null", "-"}
_NO_TEXT = {"nan", "NaN", "<NA>"}
_INDEX_NAME = re.compile(r"(?:Unnamed: \d{1,4})?", re.ASCII)
_WHOLE = re.compile(r"\d{1,15}(?:\.0{1,15})?", re.ASCII)
# Behind a sign: digits with signs for thousands and decimals between them.
_DIGITS = re.compile(r"[+-]?(?P<digits>\d[\d.,'\u2019\xa0\u202f ]{0,40})", re.ASCII)
_GROUPS = "'\u2019\xa0\u202f "


@dataclass(frozen=True)
class _Layout:
    """How a table is written: the sign before decimals, and the columns that are kept.

    Of each column, `holds` is a "count", another "number" or "text".
    """

    holds: Sequence[str]
    decimal: str
    kept: Sequence[int]


@dataclass
class _Signs:
    """The signs in a table's numbers: the first cell of each that is a decimal sign, surely or not.

    `single` has those of numbers with one sign, by column, `with_thousands` the columns in which a
    number has several: there a single one may well be for thousands.
    """

    sure: dict[str, CsvCell] = field(default_factory=dict)
    unsure: dict[str, CsvCell] = field(default_factory=dict)
    single: dict[int, dict[str, CsvCell]] = field(default_factory=dict)
    with_thousands: set[int] = field(default_factory=set)

    def add(self, column: int, cell: CsvCell) -> None:
        """Take the signs of a cell into account."""
        sign, is_sure = _decimal_sign(cell.text)
        if not sign:
            return
        (self.sure if is_sure else self.unsure).setdefault(sign, cell)
        if len(re.findall("[.,]", cell.text)) > 1:
            self.with_thousands.add(column)
        else:
            self.single.setdefault(column, {}).setdefault(sign, cell)

    def decimal(self, path: str, separator: str) -> str:
        """Return the decimal sign of the table; raises ConfigError where it does not show."""
        if len(self.sure) > 1:
            point, comma = self.sure["."], self.sure[","]
            problem = f"{shown(comma.text)} has a decimal comma, and {shown(point.text)} in line "
            problem += f"{point.line} a decimal point; write all numbers in the same way"
            raise ConfigError([Problem(path, comma.line, comma.column, problem)])
        for column in self.single.keys() - self.with_thousands:
            _check_same_sign(list(self.single[column].values()), path)
        if self.sure:
            return next(iter(self.sure))
        # Offices write semicolons because commas are their decimal signs.
        if "," in self.unsure and separator != ";" and (separator == "," or "." in self.unsure):
            cell = self.unsure[","]
            fine, coarse = cell.text.replace(",", "."), cell.text.replace(",", "")
            problem = f"{shown(cell.text)} may be {fine} or {coarse}; write it as one of them"
            raise ConfigError([Problem(path, cell.line, cell.column, problem)])
        return "," if "," in self.unsure else "."


def _check_same_sign(single: list[CsvCell], path: str) -> None:
    """Raise ConfigError where the only sign of a column's numbers is now one, now the other."""
    if len(single) > 1:
        first, other = single
        problem = f"{shown(other.text)} has another decimal sign than {shown(first.text)} in line "
        problem += f"{first.line}, or one for thousands; write all numbers in the same way"
        raise ConfigError([Problem(path, other.line, other.column, problem)])


def read_table(text: str, path: str) -> Iterator[list[CsvCell]]:
    """Yield the lines of a file of means in their plain form, without blank rows and columns.

    Raises ConfigError where a number may mean one thing or another, and as `read_lines` does.
    """
    text, separator = _separated(text)
    layout = _layout_of(read_lines(text, path, separator), path, separator)
    for row in read_lines(text, path, separator):
        if any(field.text for field in row):
            yield _plain_row(row, layout)


def _separated(text: str) -> tuple[str, str]:
    if "\n" not in text:
        text = text.replace("\r", "\n")
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if re.search(r"\w", line)), 0)
    if told := _SEPARATOR_LINE.fullmatch(lines[first].removesuffix("\r")):
        lines[first] = ""
        return "\n".join(lines), told["separator"]
    return text, max(_SEPARATORS, key=lambda separator: _known_columns(lines[first], separator))


def _known_columns(header: str, separator: str) -> int:
    names = (name.strip().strip('"') for name in header.split(separator, 2000))
    return sum(map(is_column, names))


def _layout_of(rows: Iterator[list[CsvCell]], path: str, separator: str) -> _Layout:
    header = next((row for row in rows if any(field.text for field in row)), [])
    names = [field.text for field in header]
    holds = [_what_it_holds(name) for name in names]
    if len(names) == 1 and not is_column(names[0]):
        problem = (
            f"{shown(names[0])} is one column; expected a line of columns such as "
            "app,threads,mapping with commas between them (or semicolons, tabs, bars)"
        )
        raise ConfigError([Problem(path, header[0].line, 1, problem)])
    if not any(map(is_column, names)):
        return _Layout(holds, ".", range(len(names)))
    unnamed = {at for at, name in enumerate(names) if _INDEX_NAME.fullmatch(name)}
    with_text, with_more = set[int](), set[int]()
    signs = _Signs()
    for row in rows:
        for at in unnamed.intersection(range(len(row))):
            if row[at].text:
                with_text.add(at)
                if at > 0 or not _WHOLE.fullmatch(row[at].text):
                    with_more.add(at)
        for at, (kind, cell) in enumerate(zip(holds, row, strict=False)):
            if kind != "text" and not cell.text.isdigit():
                signs.add(at, cell)
    # An index counts the rows; a column without a name and cells is no column.
    kept = [at for at in range(len(names)) if at not in unnamed or at in with_more]
    return _Layout(holds, signs.decimal(path, separator), kept)


def _what_it_holds(name: str) -> str:
    if holds_count(name):
        return "count"
    return "number" if holds_number(name) else "text"


def _decimal_sign(text: str) -> tuple[str, bool]:
    """Return the decimal sign of a number, empty where it has none, and whether that is sure.

    Before three digits at the end, a single sign may be one of thousands.
    """
    number = _DIGITS.fullmatch(text.partition("e")[0].partition("E")[0])
    signs = re.findall("[.,]", number["digits"]) if number else []
    if not number or not signs:
        return "", True
    if len(set(signs)) > 1:
        return signs[-1], True
    if len(signs) > 1:
        return ("." if signs[0] == "," else ","), True
    before, _, behind = number["digits"].partition(signs[0])
    may_be_thousands = len(behind) == 3 and re.fullmatch("[1-9][0-9]{0,2}", before)
    return signs[0], not may_be_thousands


def _plain_row(row: Sequence[CsvCell], layout: _Layout) -> list[CsvCell]:
    width = len(layout.holds)
    if any(field.text for field in row[width:]) or len(row) < width:
        # A row of another length is a mistake, which is told where rows are checked.
        return list(row)
    return [
        replace(row[at], text=_plain_text(layout.holds[at], row[at].text, layout.decimal))
        for at in layout.kept
    ]


def _plain_text(kind: str, text: str, decimal: str) -> str:
    if kind == "text":
        return "" if text in _NO_TEXT else text
    if text.lower() in _NO_NUMBER:
        return ""
    number = _plain_number(text, decimal)
    return number.partition(".")[0] if kind == "count" and _WHOLE.fullmatch(number) else number


def _plain_number(text: str, decimal: str) -> str:
    """Return a number with a decimal point and without thousands; any other text as it is."""
    sign = "," if decimal == "." else "."
    whole, comma, behind = text.partition(decimal)
    # India's groups in front of the last are pairs.
    if re.fullmatch(rf"[+-]?\d{{1,3}}(?:([{sign}{_GROUPS}])(?:\d{{2,3}}\1){{0,9}}\d{{3}})?", whole):
        whole = re.sub(f"[{sign}{_GROUPS}]", "", whole)
    return f"{whole}.{behind}" if comma else whole


def add_summaries(into: Path, new: Iterable[tuple[str, LoggedCase, dict[str, str]]]) -> None:
    """Add cases to a folder's summaries.

    `new` has each case's file and line, its identity and its columns. Raises UserError when the
    folder holds runs or cannot be written, or when a case is there twice.
    """
    rows = _existing(into)
    numbers = Numbers()
    for row in rows:
        numbers.keep(_case_of(row), *_numbers_of(row))
    added = list(new)
    numbers.number([identity for _, identity, _ in added])
    taken = {_numbers_of(row) for row in rows}
    for where, identity, columns in added:
        place = numbers.of(identity)
        if place in taken:
            raise UserError(
                f"{where}: a second average of the same case ({identity.fields['app']}, "
                f"{identity.fields['mapping']}, {identity.fields['governor']}); averages cannot be "
                "averaged: give each case one"
            )
        taken.add(place)
        rows.append({"table_number": str(place[0]), "case_number": str(place[1]), **columns})
    _write(into, rows)


def import_summaries(file: Path, into: Path) -> int:
    """Take a CSV file of means as a folder's summaries; return how many cases it has.

    Raises UserError when there are summaries already, ConfigError with every mistake in the file.
    """
    if (into / FILE).exists():
        raise UserError(f"{into}: holds means already ({FILE}); import into another folder")
    text, name = read_text(file, WHAT), one_line(str(file), None)
    cases = parse_lines(read_table(text, name), name, "")
    _put(into, _plain(text, name))
    return len(cases)


def _plain(text: str, name: str) -> str:
    as_it_is = zip_longest(read_lines(text, name), read_table(text, name))
    with suppress(ConfigError):
        if all(line == plain for line, plain in as_it_is):
            return text
    out = StringIO()
    rows = ([field.text for field in line] for line in read_table(text, name))
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _write(into: Path, rows: Sequence[dict[str, str]]) -> None:
    text = pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
    parse_summaries(text, into / FILE, "")
    _put(into, text)


def _put(into: Path, text: str) -> None:
    if any((into / "records").glob("*.jsonl")):
        raise UserError(f"{into}: holds runs (records/); import means into another folder")
    path, data = into / FILE, text.encode()
    if len(data) > MAX_BYTES:
        raise UserError(
            f"{path}: would be larger than {MAX_BYTES >> 20} MiB; import into another folder"
        )
    try:
        write_whole(path, data)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}); name a writable folder with "
            "--output"
        ) from None


def _existing(into: Path) -> list[dict[str, str]]:
    path = into / FILE
    if not path.exists():
        return []
    text = read_text(path, WHAT)
    parse_summaries(text, path, "")
    header, *lines = read_lines(text, str(path))
    names = [name.text for name in header]
    if not {"table_number", "case_number"} <= set(names):
        raise UserError(f"{path}: its rows have no numbers; import into another folder")
    return [dict(zip(names, (cell.text for cell in line), strict=True)) for line in lines]


def _numbers_of(row: dict[str, str]) -> tuple[int, int]:
    return int(row["table_number"] or 0), int(row["case_number"] or 0)


def _case_of(row: dict[str, str]) -> LoggedCase:
    """Return the case of a row that is there: an empty cell says as little as an absent one."""
    words = {name: row.get(name) or UNKNOWN for name in FIELDS}
    counts = {name: int(text) for name in ("ranks", "threads") if (text := row.get(name))}
    return LoggedCase({**words, **counts})
