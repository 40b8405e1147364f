"""The case that a log belongs to, from options or the file's name, and its number in a table."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analysis.results.fields import TABLE_KEYS
from analysis.results.summaries import UNKNOWN
from base.errors import UserError
from base.text import one_line, shown, unknown_word
from configs.library import list_mappings
from runners.plan.case import digest_of

# What a log's case consists of; users must give the first three.
NEEDED = ("app", "threads", "mapping")
WORDS = ("variant", "size", "governor", "schedule", "wait_policy")
FIELDS = (*NEEDED, *WORDS)
PLACEHOLDERS = (*FIELDS, "repetition", "any")
_NUMBERS = ("threads", "repetition")
MAX_NUMBER = 10**6

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# The published order; governors of other names come after these.
_GOVERNORS = ("performance", "powersave")


@dataclass(frozen=True)
class Identity:
    """A case, and the repetition's number where the file's name has one."""

    fields: Mapping[str, str | int]
    repetition: int | None = None

    @property
    def table(self) -> tuple[str | int, ...]:
        """What identifies the table that the case belongs to, threads as a number."""
        return tuple(self.fields[name] for name in TABLE_KEYS)

    @property
    def row(self) -> tuple[str | int, ...]:
        """What identifies the case's row in its table."""
        return self.fields["mapping"], self.fields["governor"]

    @property
    def case_id(self) -> str:
        """A stable digest of what defines the case."""
        return digest_of({"imported": True, **self.fields})


class Identifier:
    """Finds the case of a log in its file's name and in the options for all files."""

    def __init__(self, said: Mapping[str, str | int], pattern: str | None) -> None:
        """`said` are fields for all files; raises UserError when the pattern is not valid."""
        self._said = said
        self._pattern = pattern
        self._expression = _expression(pattern) if pattern else None
        told = set(self._expression.groupindex) if self._expression else set()
        if twice := told & set(said):
            name = sorted(twice)[0]
            raise UserError(
                f"--{name.replace('_', '-')} and {{{name}}} in --pattern both tell the {name}; "
                "give one of them"
            )
        for name in NEEDED:
            if name not in told and name not in said:
                raise UserError(
                    f"the logs do not tell their {name}: give --{name}, or {{{name}}} in --pattern"
                )

    @classmethod
    def of_options(cls, options: Mapping[str, str | int | None]) -> Identifier:
        """Return the identifier for a command's options; raises UserError for what is wrong."""
        said: dict[str, str | int] = {}
        for name in FIELDS:
            value = options.get(name)
            if value is not None:
                said[name] = _said(f"--{name.replace('_', '-')}", value)
        pattern = options.get("pattern")
        return cls(said, None if pattern is None else str(pattern))

    def identify(self, path: Path) -> Identity:
        """Return the case of a file; raises UserError when its name is not as the pattern says."""
        fields: dict[str, str | int] = {**self._said, **self._of_name(path)}
        repetition = fields.pop("repetition", None)
        words = {name: fields.get(name) or UNKNOWN for name in WORDS}
        known = {name: fields[name] for name in NEEDED}
        return Identity(known | words, repetition if isinstance(repetition, int) else None)

    def _of_name(self, path: Path) -> dict[str, str | int]:
        if self._expression is None or self._pattern is None:
            return {}
        where = one_line(str(path), None)
        name = "/".join(path.parts[-1 - self._pattern.count("/") :])
        match = self._expression.fullmatch(name)
        if match is None:
            raise UserError(
                f"{where}: the name does not match --pattern {shown(self._pattern)}; a placeholder "
                "stands for text without the character that follows it"
            )
        found: dict[str, str | int] = {}
        for key, text in match.groupdict().items():
            found[key] = _said(f"{where}: {key}", int(text) if key in _NUMBERS else text)
        return found


def _said(what: str, value: str | int) -> str | int:
    """Return a value without blanks around it; raises UserError when it names nothing."""
    if isinstance(value, int):
        if not 1 <= value <= MAX_NUMBER:
            raise UserError(f"{what} {shown(value)} is not from 1 to {MAX_NUMBER}")
        return value
    if not value.strip() or not value.isprintable():
        raise UserError(f"{what} {shown(value)} is no name; expected a printable word")
    return value.strip()


def _expression(pattern: str) -> re.Pattern[str]:
    """Return a pattern of file names as a regular expression; raises UserError for a mistake.

    A text ends before the character that follows its placeholder, so that a name can be read in
    one way only.
    """
    parts: list[str] = []
    end = 0
    seen: set[str] = set()
    for match in _PLACEHOLDER.finditer(pattern):
        name = match[1]
        if name not in PLACEHOLDERS:
            raise UserError(f"--pattern: {unknown_word('placeholder', name, PLACEHOLDERS)}")
        if name in seen and name != "any":
            raise UserError(f"--pattern: {{{name}}} is there twice")
        if seen and end == match.start():
            raise UserError(
                f"--pattern: nothing stands before {{{name}}} that tells where the text in front "
                "of it ends"
            )
        seen.add(name)
        follows = pattern[match.end() : match.end() + 1]
        text = r"\d{1,7}" if name in _NUMBERS else f"[^/{re.escape(follows)}]+"
        parts.append(re.escape(pattern[end : match.start()]))
        parts.append(text if name == "any" else f"(?P<{name}>{text})")
        end = match.end()
    rest = pattern[end:]
    if not seen or "{" in rest or "}" in _PLACEHOLDER.sub("", pattern):
        raise UserError(
            f"--pattern {shown(pattern)} has no placeholders, or braces without one (known: "
            f"{', '.join(PLACEHOLDERS)})"
        )
    return re.compile("".join(parts) + re.escape(rest), re.ASCII)


def mapping_fields(name: str) -> dict[str, str | None]:
    """Return what a mapping's name means; None for a mapping that the installation has not."""
    mapping = next((mapping for mapping in list_mappings() if mapping.name == name), None)
    return {of: getattr(mapping, of, None) for of in ("selection", "binding", "mechanism")}


@dataclass
class Numbers:
    """The numbers that tables, and rows in them, have in a folder of results."""

    tables: dict[tuple[Hashable, ...], int] = field(default_factory=dict)
    rows: dict[tuple[int, tuple[Hashable, ...]], int] = field(default_factory=dict)

    def keep(
        self, table: tuple[Hashable, ...], row: tuple[Hashable, ...], numbers: tuple[int, int]
    ) -> None:
        """Remember the numbers of a case that is there already."""
        self.tables.setdefault(table, numbers[0])
        self.rows.setdefault((numbers[0], row), numbers[1])

    def number(self, cases: Iterable[Identity]) -> None:
        """Give new cases the next numbers: in the published order, whatever the files' order."""
        mappings = [mapping.name for mapping in list_mappings()]

        def place(case: Identity) -> tuple[object, ...]:
            mapping, governor = str(case.fields["mapping"]), str(case.fields["governor"])
            return (
                str(case.table[:3]), case.table[3:4], str(case.table[4:]),
                _rank(governor, _GOVERNORS), governor, _rank(mapping, mappings), mapping,
            )  # fmt: skip

        for case in sorted(cases, key=place):
            table = self.tables.setdefault(case.table, max(self.tables.values(), default=0) + 1)
            taken = [number for (of, _), number in self.rows.items() if of == table]
            self.rows.setdefault((table, case.row), max(taken, default=0) + 1)

    def of(self, case: Identity) -> tuple[int, int]:
        """Return the numbers of a case's table and row."""
        table = self.tables[case.table]
        return table, self.rows[table, case.row]


def _rank(name: str, known: Iterable[str]) -> int:
    order = list(known)
    return order.index(name) if name in order else len(order)
