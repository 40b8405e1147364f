"""YAML to plain values, each with its place in the file, so that every error can name it.

Every scalar stays the text that was written, and the field decides what the text means: YAML 1.1
would change names such as `on`, `no`, `1_000`, `0x10` or `1:30`. Anchors, aliases and type tags are
refused: a study needs none, and they let a small file expand to a large one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Union

import yaml

from pinstudy.base.errors import Problem
from pinstudy.base.text import shown
from pinstudy.configs.decoding import AtKey, Mistakes, Path

# A study is a page of text; a larger file is something else, and must not fill the memory.
MAX_BYTES = 1 << 20

# Characters that YAML's parsers refuse as unprintable (1.1, production c-printable), except those
# that UTF-8 cannot encode. The alternatives keep the expression cheap to compile.
_NOT_PRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\ufeff|\ufffe|\uffff")

# Part of the parser's wording (libyaml and PyYAML share it) -> what it means to the person
# who wrote the file. The first match counts.
# Study -> apps -> app -> sizes -> size -> arguments is 8 deep; the rest is room.
MAX_DEPTH = 24
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
_PLAIN_WORDS = (
    # libyaml has a limit of its own (0.2.6 of PyYAML 6.0.4), and reads ahead.
    ("maximum nesting depth", _TOO_DEEP),
    ("mapping values are not allowed", "a ':' is not expected here; check the indentation of this "
     "line and the one before, or put a text that contains ': ' in quotes"),
    ("could not find expected ':'", "expected ':' after the key; write `key: value`"),
    ("expected ',' or ']'", "expected ',' or ']': the list that starts with '[' is not closed"),
    ("expected ',' or '}'", "expected ',' or '}': the table that starts with '{' is not closed"),
    ("while parsing a block collection", "expected another list item, '- …', in the column of "
     "the items before it"),
    ("expected <block end>", "expected a key in the column of the keys before it"),
    ("did not find expected key", "expected a key in the column of the keys before it"),
    ("while scanning a quoted scalar", "the quoted text that starts here is not closed"),
    ("unknown escape character", "this '\\' is not the start of an escape that YAML knows; use "
     "single quotes, where a backslash is a backslash"),
    ("hexdecimal number", "expected hexadecimal digits after the '\\'; use single quotes, where a "
     "backslash is a backslash"),
    ("node content", "expected a value here"),
    ("block sequence entries are not allowed", "a list cannot start here; begin it on a line of "
     "its own"),
    ("found a tab", "indent with spaces; YAML takes no tabs"),
)  # fmt: skip

# What stands for "no value" when it is not quoted (YAML 1.1, type null).
_NOTHING = ("", "~", "null", "Null", "NULL")

Value = Union[None, str, "list[Value]", "dict[str, Value]"]


@dataclass
class Document:
    """The plain value of a file, and the positions of its parts.

    `values_at` and `keys_at` map a path such as `("apps", 0, "threads")` to (line, column), both
    from 1; `problems` are the mistakes that are found without a schema.
    """

    path: str
    value: Value = None
    values_at: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys_at: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return (line, column) of a value or of its key, else of the value that encloses it."""
        if key and path in self.keys_at:
            return self.keys_at[path]
        while path and path not in self.values_at:
            path = path[:-1]
        return self.values_at.get(path, (1, 1))

    def problem(self, path: Path, message: str) -> Problem:
        """Return a mistake at the place of a value, or of its key if it is an AtKey."""
        return Problem(self.path, *self.place(path, key=isinstance(message, AtKey)), message)

    def add(self, mistakes: Mistakes) -> None:
        """Add mistakes to the problems, except those at the place of a problem that is there."""
        taken = {(problem.line, problem.column) for problem in self.problems}
        new = [self.problem(path, message) for path, message in mistakes]
        self.problems += [problem for problem in new if (problem.line, problem.column) not in taken]


def parse_yaml(data: bytes, path: str) -> Document:
    """Return the document of a YAML file; messages name the file `path`. Never raises."""
    document = Document(path)
    text = ""
    try:
        text = _text(data, path)
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        _Composer(document, yaml.parse(text, Loader=loader)).compose()
    except _StopError as stop:
        document.problems.append(stop.problem)
    except yaml.MarkedYAMLError as error:
        document.problems.append(_syntax_problem(error, text, path))
    return document


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, path: str) -> Problem:
    words = ", ".join(part for part in (error.context, error.problem) if part)
    mark = error.problem_mark
    if error.context == "while scanning a quoted scalar" and "end of stream" in words:
        mark = error.context_mark or mark
    line, column = _at(mark)
    return Problem(path, line, column, _plain_words(text, line, column, words))


class _StopError(Exception):
    """Reading stops at a mistake, because nothing after it can be read."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Composer:
    """Builds the document from the parser's events, and goes on after a mistake if possible."""

    def __init__(self, document: Document, events: Iterator[Any]) -> None:
        self.document = document
        self.events = events

    def compose(self) -> None:
        for event in self.events:
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            if self.document.values_at:
                message = "a second document starts here; one file, one document"
                raise _StopError(self._problem(event, message))
            self.document.value = self._value(next(self.events), ())
        if not self.document.values_at:
            raise _StopError(Problem(self.document.path, 1, 1, "the file is empty"))

    def _value(self, event: yaml.Event, path: Path) -> Value:
        self.document.values_at[path] = _at(event.start_mark)
        if len(path) > MAX_DEPTH:
            raise _StopError(self._problem(event, _TOO_DEEP))
        if isinstance(event, yaml.AliasEvent):
            self._report(event, f"an alias (*{event.anchor}) is not allowed; write the value out")
        elif isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)):
            if event.anchor is not None:
                self._report(event, f"an anchor (&{event.anchor}) is not allowed; write values out")
            if event.tag is not None:
                self._report(event, f"a type tag ({event.tag}) is not allowed; leave it out")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._table(path)
        return _scalar(event) if isinstance(event, yaml.ScalarEvent) else None

    def _list(self, path: Path) -> Value:
        items: list[Value] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return items

    def _table(self, path: Path) -> Value:
        table: dict[str, Value] = {}
        # The place of values that are dropped, whose own mistakes still count: all keys are texts.
        dropped = (*path, 0)
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._key(event, dropped)
            if key is not None and key in table:
                line = self.document.keys_at[(*path, key)][0]
                self._report(event, f"key {shown(key)} is repeated; it is first on line {line}")
                key = None
            if key is None:
                self._value(next(self.events), dropped)
                continue
            self.document.keys_at[(*path, key)] = _at(event.start_mark)
            table[key] = self._value(next(self.events), (*path, key))
        return table

    def _key(self, event: yaml.Event, dropped: Path) -> str | None:
        if isinstance(event, yaml.ScalarEvent) and event.tag is None and event.anchor is None:
            key = _scalar(event)
            if key is not None:
                return key
        self._report(event, "a key must be a word, without anchor or tag")
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            self._value(event, dropped)
        return None

    def _report(self, event: yaml.Event, message: str) -> None:
        self.document.problems.append(self._problem(event, message))

    def _problem(self, event: yaml.Event, message: str) -> Problem:
        return Problem(self.document.path, *_at(event.start_mark), message)


def _at(mark: Any) -> tuple[int, int]:  # noqa: ANN401 - libyaml's marks have their own type
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _scalar(event: yaml.ScalarEvent) -> str | None:
    """Return the text as written, or None for no value (`key:`, `key: null`)."""
    text: str = event.value
    return None if not event.style and text in _NOTHING else text


def _text(data: bytes, path: str) -> str:
    """Return the text of a file; raises _StopError where its bytes are no text of YAML."""
    if len(data) > MAX_BYTES:
        raise _StopError(Problem(path, 1, 1, f"the file is larger than {MAX_BYTES // 1024} KiB"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", errors="replace")
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8 text"
    else:
        bad = _NOT_PRINTABLE.search(text)
        if bad is None:
            return text
        before = text[: bad.start()]
        message = f"the character U+{ord(bad[0]):04X} cannot be part of a YAML file"
    line_start = before.rfind("\n") + 1
    place = (before.count("\n") + 1, len(before) - line_start + 1)
    raise _StopError(Problem(path, *place, message))


def _plain_words(text: str, line: int, column: int, parser_words: str) -> str:
    """Return a message that a user can act on, for a syntax error at this place (from 1)."""
    lines = text.splitlines()
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    character = here[column - 1 : column]
    if "cannot start any token" in parser_words or "\t" in here[: len(here) - len(here.lstrip())]:
        if "\t" in here[:column]:
            return "indent with spaces; YAML takes no tabs"
        return f"a text cannot start with {character!r}; put it in quotes"
    for part, words in _PLAIN_WORDS:
        if part in parser_words:
            return words
    return f"this is not YAML: {parser_words}"
