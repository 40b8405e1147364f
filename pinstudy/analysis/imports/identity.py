"""The case that a log belongs to, from options or the file's name, and its number in a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pinstudy.analysis.records.keys import TABLE_KEYS
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.base.errors import UserError
from pinstudy.base.files import digest_of
from pinstudy.base.text import one_line, shown, unknown_word
from pinstudy.configs.library import list_mappings
from pinstudy.configs.mapping import renamed

# What a log's case consists of; users must give the first three.
NEEDED = ("app", "threads", "mapping")
WORDS = ("build", "size", "governor", "schedule", "wait_policy")
FIELDS = (*NEEDED, *WORDS)
PLACEHOLDERS = (*FIELDS, "repetition", "any")
_NUMBERS = ("threads", "repetition")
MAX_NUMBER = 10**6

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# The published order; governors of other names come after these.
_GOVERNORS = ("performance", "powersave")


@dataclass(frozen=True)
class LoggedCase:
    """A case, and the repetition's number where the file's name has one.

    `meaning` is what the mapping's name means: selection, binding, mechanism; None for a mapping
    that the installation has not.
    """

    fields: Mapping[str, str | int]
    repetition: int | None = None
    meaning: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def table(self) -> tuple[str | int | None, ...]:
        """What identifies the table that the case belongs to, threads and ranks as numbers.

        Logs are of programs without ranks; summaries beside them may be of ranks.
        """
        return tuple(self.fields.get(name) for name in TABLE_KEYS)

    @property
    def row(self) -> tuple[str | int, ...]:
        """What identifies the case's row in its table."""
        return self.fields["mapping"], self.fields["governor"]

    @property
    def case_id(self) -> str:
        """A stable digest of what defines the case."""
        return digest_of({"imported": True, **self.fields})


class Identifier:
    """Identifies the case of a log by its file's name and the options for all files."""

    def __init__(self, options: Mapping[str, str | int | None], told: Collection[str] = ()) -> None:
        """`options` are a command's by name: `pattern`, and fields for all files.

        `told` are fields that the content of files tells. Raises UserError for options that are
        wrong or missing.
        """
        self._options = {
            name: _checked(_option(name), value)
            for name in FIELDS
            if (value := options.get(name)) is not None
        }
        self._mappings = {mapping.name: mapping for mapping in list_mappings()}
        self._pattern = str(options.get("pattern") or "")
        self._expression = _expression(self._pattern) if self._pattern else None
        in_pattern = set(self._expression.groupindex) if self._expression else set()
        for name in sorted(in_pattern & set(self._options)):
            raise UserError(
                f"{_option(name)} and {{{name}}} in --pattern both tell the {name}; "
                "give one of them"
            )
        for name in sorted(set(told) & (in_pattern | set(self._options))):
            raise UserError(f"the file tells the {name}; leave out what else does")
        for name in NEEDED:
            if name not in {*in_pattern, *self._options, *told}:
                raise UserError(
                    f"the logs do not tell their {name}: give --{name}, or {{{name}}} in --pattern"
                )

    def identify(self, path: Path, told: Mapping[str, str | int] = {}) -> LoggedCase:
        """Return the case of a file, or of a part of it that tells some fields itself.

        Raises UserError when the file's name is not as the pattern says, or a field is no name.
        """
        where = one_line(str(path), None)
        fields = {name: _checked(f"{where}: {name}", value) for name, value in told.items()}
        values = self._options | self._of_name(path) | fields
        repetition = values.get("repetition")
        known = {name: values[name] for name in NEEDED}
        words = {name: values.get(name, UNKNOWN) for name in WORDS}
        name = str(known["mapping"])
        if message := renamed(name):
            raise UserError(f"{one_line(str(path), None)}: {message}")
        mapping = self._mappings.get(name)
        meaning = {
            fact: getattr(mapping, fact, None) for fact in ("selection", "binding", "mechanism")
        }
        number = repetition if isinstance(repetition, int) else None
        return LoggedCase(known | words, number, meaning)

    def _of_name(self, path: Path) -> dict[str, str | int]:
        if self._expression is None:
            return {}
        where = one_line(str(path), None)
        name = "/".join(path.parts[-1 - self._pattern.count("/") :])
        match = self._expression.fullmatch(name)
        if match is None:
            raise UserError(
                f"{where}: the name does not match --pattern {shown(self._pattern)}; a placeholder "
                "stands for text without the character that follows it"
            )
        return {
            key: _checked(f"{where}: {key}", int(text) if key in _NUMBERS else text)
            for key, text in match.groupdict().items()
        }


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _checked(what: str, value: str | int) -> str | int:
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
    names: set[str] = set()
    for match in _PLACEHOLDER.finditer(pattern):
        name = match[1]
        if name not in PLACEHOLDERS:
            raise UserError(f"--pattern: {unknown_word('placeholder', name, PLACEHOLDERS)}")
        if name in names and name != "any":
            raise UserError(f"--pattern: {{{name}}} is there twice")
        if names and end == match.start():
            raise UserError(
                f"--pattern: nothing stands before {{{name}}} that tells where the text in front "
                "of it ends"
            )
        names.add(name)
        follows = pattern[match.end() : match.end() + 1]
        text = r"\d{1,7}" if name in _NUMBERS else f"[^/{re.escape(follows)}]+"
        parts.append(re.escape(pattern[end : match.start()]))
        parts.append(text if name == "any" else f"(?P<{name}>{text})")
        end = match.end()
    rest = pattern[end:]
    if not names or "{" in rest or "}" in _PLACEHOLDER.sub("", pattern):
        raise UserError(
            f"--pattern {shown(pattern)} has no placeholders, or braces without one (known: "
            f"{', '.join(PLACEHOLDERS)})"
        )
    return re.compile("".join(parts) + re.escape(rest), re.ASCII)


@dataclass
class Numbers:
    """The numbers that tables, and rows in them, have in a folder of results."""

    tables: dict[tuple[str | int | None, ...], int] = field(default_factory=dict)
    rows: dict[tuple[int, tuple[str | int, ...]], int] = field(default_factory=dict)

    def keep(self, case: LoggedCase, table: int, row: int) -> None:
        """Remember the numbers of a case that is there already."""
        self.tables.setdefault(case.table, table)
        self.rows.setdefault((table, case.row), row)

    def number(self, cases: Iterable[LoggedCase]) -> None:
        """Give new cases the next numbers: in the published order, whatever the files' order."""
        mappings = [mapping.name for mapping in list_mappings()]

        def place(case: LoggedCase) -> tuple[object, ...]:
            mapping, governor = case.row
            return (*case.table, _rank(governor, _GOVERNORS), _rank(mapping, mappings))

        for case in sorted(cases, key=place):
            table = self.tables.setdefault(case.table, max(self.tables.values(), default=0) + 1)
            taken = [number for (own_table, _), number in self.rows.items() if own_table == table]
            self.rows.setdefault((table, case.row), max(taken, default=0) + 1)

    def of(self, case: LoggedCase) -> tuple[int, int]:
        """Return the numbers of a case's table and row."""
        table = self.tables[case.table]
        return table, self.rows[table, case.row]


def _rank(name: str | int, known: Sequence[str]) -> tuple[int, str]:
    """Return what sorts names as they are known, those that are not behind them."""
    text = str(name)
    return (known.index(text) if text in known else len(known)), text
