"""Adding to the `summaries.csv` of a results folder: checked as a whole before it is replaced."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import StringIO
from itertools import zip_longest
from pathlib import Path

import pandas as pd

from pinstudy.analysis.imports.identity import FIELDS, Identity, Numbers
from pinstudy.analysis.imports.spreadsheet import read_table
from pinstudy.analysis.records.files import MAX_BYTES, read_lines, read_text
from pinstudy.analysis.results.summaries import FILE, UNKNOWN, WHAT, parse_lines, parse_summaries
from pinstudy.base.errors import ConfigError, UserError
from pinstudy.base.files import write_whole
from pinstudy.base.text import one_line


def add_summaries(into: Path, new: Iterable[tuple[str, Identity, dict[str, str]]]) -> None:
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
    """Return a table as results have it: as it is where it is plain."""
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
    """Return the rows that are there, with their numbers."""
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
    """Return a row's numbers of table and case; 0 where a cell is empty."""
    return int(row["table_number"] or 0), int(row["case_number"] or 0)


def _case_of(row: dict[str, str]) -> Identity:
    """Return the case of a row that is there: an empty cell says as little as an absent one."""
    words = {name: row.get(name) or UNKNOWN for name in FIELDS}
    counts = {name: int(text) for name in ("ranks", "threads") if (text := row.get(name))}
    return Identity({**words, **counts})
