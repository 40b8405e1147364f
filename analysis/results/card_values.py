"""The values on a card, each checked: texts of one line, finite numbers, days, lists of CPUs.

A function that is given a table raises UserError, naming file and field, for any other value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from analysis.records.files import Checked
from base.cpulist import parse_cpulist
from base.errors import UserError
from base.text import one_line

MAX_LETTERS = 500
# Of footnotes, and of the keys of a table of texts.
MAX_NOTES = 50
_DIGEST = re.compile(r"[0-9a-f]{1,64}")


def only_keys(table: Checked, known: Iterable[str]) -> None:
    """Raise UserError for the first key of a table that no card has."""
    names = list(known)
    for name in table.values:
        if name not in names:
            place = f"{table.where}: " if table.where else ""
            raise UserError(
                f"{table.path}: {place}unknown key {one_line(name, 60)!r} (known: "
                f"{', '.join(names)}){table.advice}"
            )


def is_line(value: object, most: int = MAX_LETTERS) -> bool:
    """Return whether a value is a text of one printable line, up to `most` letters long."""
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


def line_of(table: Checked, name: str, most: int = MAX_LETTERS) -> str:
    """Return a text of one printable line."""
    text: str = table.valid(
        name, lambda value: is_line(value, most), f"one printable line of at most {most} letters"
    )
    return text


def line_or_none(table: Checked, name: str) -> str | None:
    """Return a text of one printable line; None where it is null."""
    return line_of(table, name) if table.has(name) else None


def lines_by_name(table: Checked, name: str) -> dict[str, str]:
    """Return a table of names and texts, each of one line."""
    of = table.table(name)
    if len(of.values) > MAX_NOTES:
        raise table.wrong(name, f"at most {MAX_NOTES} keys")
    for key in of.values:
        if not is_line(key, 60):
            raise table.wrong(name, "names of at most 60 printable letters", key)
    return {key: line_of(of, key) for key in of.values}


def list_of_lines(table: Checked, name: str, most: int) -> list[str]:
    """Return a list of texts, each of one printable line."""
    values: list[str] = table.valid(
        name,
        lambda value: isinstance(value, list) and len(value) <= most,
        f"a list of at most {most}",
    )
    for at, value in enumerate(values):
        # A footnote of a publication, or one that lists runs, is long.
        if not is_line(value, 4 * MAX_LETTERS):
            raise table.wrong(f"{name}[{at}]", "one printable line", value or "")
    return values


def number_of(table: Checked, name: str, least: float, most: float) -> float:
    """Return a number within bounds, which NaN and infinities are not."""
    value = table.valid(
        name,
        lambda value: type(value) in (int, float) and least <= value <= most,
        f"a number from {least:g} to {most:g}",
    )
    return float(value)


def flag_of(table: Checked, name: str) -> bool:
    """Return whether a field is true."""
    value: bool = table.valid(name, lambda value: isinstance(value, bool), "true or false")
    return value


def digest_in(table: Checked) -> str:
    """Return the digest of a table, in hexadecimal digits."""
    text: str = table.valid(
        "digest",
        lambda value: isinstance(value, str) and _DIGEST.fullmatch(value) is not None,
        "hexadecimal digits",
    )
    return text


def is_day(text: object) -> bool:
    """Return whether a value is a day such as `2026-11-22`."""
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def cpus_in(table: Checked) -> str:
    """Return the list of CPUs of a table, which are one or more."""

    def is_list(value: object) -> bool:
        try:
            return is_line(value, 10_000) and bool(parse_cpulist(str(value)))
        except ValueError:
            return False

    text: str = table.valid("cpus", is_list, "a list of CPUs such as 0-3,8")
    return text
