"""Tables, each declared once as a dataclass: decoding, messages and documentation follow from it.

A field is a key of the table if its annotation has a `Kind`; the text is the key's meaning::

    threads: Annotated[int, Count("a thread count", 1, 4096), "how many threads run"] = 1

A key whose field has a default may be left out. `Called` gives the key another name than the field,
and `Without` documents what holds without the key where the default does not show it.

All mistakes are reported, not the first one only. The valid values are passed on beside them, so
that rules between tables are checked at the same time.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from itertools import islice
from typing import Any, get_type_hints

from base.text import shown, unknown_word

# A path such as `("apps", 0, "threads")` leads from a table to one of its values.
Path = tuple[str | int, ...]
Mistake = tuple[Path, str]
Mistakes = list[Mistake]

MAX_ITEMS = 1000
# A table with more unknown keys belongs to another kind of file; a longer list does not help.
MAX_UNKNOWN_KEYS = 50

# Names become parts of file names and columns of tables.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
NAME_RULE = "letters, digits and . _ + - only, at most 64, the first a letter or digit"


class AtKey(str):
    """A message about a key itself; its position is that of the key, not of the value."""


class InvalidError(ValueError):
    """All mistakes of a value, with their paths; `valid` has the parts of it that are valid.

    Its text is the first message. For each wrong item of a list `valid` has None, so that the other
    items keep their index.
    """

    def __init__(self, mistakes: str | Iterable[Mistake], valid: object = None) -> None:
        self.mistakes: Mistakes = [((), mistakes)] if isinstance(mistakes, str) else list(mistakes)
        self.valid = valid
        super().__init__(self.mistakes[0][1])

    def below(self, *steps: str | int) -> Mistakes:
        """Return the mistakes with these steps before their paths."""
        return [((*steps, *path), message) for path, message in self.mistakes]


class Kind(ABC):
    """What a value may be; `expected` describes it in messages: `'x' is not {expected}`."""

    def __init__(self, expected: str) -> None:
        self.expected = expected

    @abstractmethod
    def decode(self, value: Any) -> Any:  # noqa: ANN401 - any plain value
        """Return what a plain value means; raises InvalidError where it is not of this kind."""

    def mismatch(self, value: object, why: object = "") -> InvalidError:
        """Return the error for a value that is not of this kind."""
        return InvalidError(f"{shown(value)} is not {self.expected}" + (f": {why}" if why else ""))

    def entries(self, value: object) -> dict[str, Any]:
        """Return a table from names to values; raise InvalidError for none, or too many of them."""
        if not isinstance(value, dict):
            raise self.mismatch(value)
        if not value:
            raise InvalidError(f"the table is empty; expected {self.expected}")
        if len(value) > MAX_ITEMS:
            raise InvalidError(f"{len(value)} names; expected at most {MAX_ITEMS}")
        return value


class Called(str):
    """The name of a key, where its field has another."""


class Without(str):
    """The documentation of a key that is left out, where the default does not show it."""


@dataclass(frozen=True)
class Key:
    """A key of a table: its name, the field that takes it, and what it means.

    `default` is MISSING for a required key. `meaning` may be empty where the kind says enough, and
    `without` where the default does.
    """

    name: str
    field: str
    kind: Kind
    meaning: str
    without: str
    default: Any

    @property
    def required(self) -> bool:
        """Whether a table without the key is a mistake."""
        return self.default is MISSING

    def find(self, table: dict[str, Any]) -> tuple[Path, Any]:
        """Return the path to the key's value and the value, MISSING where there is none."""
        if isinstance(self.kind, Inline):
            return (), self.kind.part_of(table) or MISSING
        return (self.name,), table.get(self.name, MISSING)


@cache
def keys_of(table: type) -> tuple[Key, ...]:
    """Return the keys that a dataclass declares, in their order."""
    hints = get_type_hints(table, include_extras=True)
    keys = []
    for field in fields(table):
        notes = getattr(hints[field.name], "__metadata__", ())
        kinds = [note for note in notes if isinstance(note, Kind)]
        if not kinds:
            continue
        texts = {type(note): note for note in notes if isinstance(note, str)}
        factory = field.default_factory
        keys.append(
            Key(
                name=texts.get(Called, field.name),
                field=field.name,
                kind=kinds[0],
                meaning=texts.get(str, ""),
                without=texts.get(Without, ""),
                default=field.default if factory is MISSING else factory(),
            )
        )
    return tuple(keys)


class Table(Kind):
    """A table of keys, as the dataclass that declares them, or as `build` makes it of their values.

    The dataclass may have a static method `contradictions(values, present)`, which yields mistakes
    between keys as (path, message): `values` are the valid values by the names of their fields,
    `present` are the names of all its keys.
    """

    def __init__(
        self, declared: type, expected: str, build: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(expected)
        self.declared, self.build = declared, build or declared

    @property
    def key_names(self) -> list[str]:
        """The names of its keys, in their order; an `Inline` counts as its own keys."""
        return [key.name for key in flat(keys_of(self.declared))]

    def decode(self, value: Any, **known: object) -> Any:  # noqa: ANN401
        """Return what the values make; fields in `known` are no keys of this table."""
        values, mistakes = self.values(value, **known)
        if mistakes:
            raise InvalidError(mistakes, values)
        return self.build(**values)

    def values(self, value: object, **known: object) -> tuple[dict[str, Any], Mistakes]:
        """Return the valid values by field, and all mistakes."""
        if not isinstance(value, dict):
            raise self.mismatch(value)
        keys = [key for key in keys_of(self.declared) if key.field not in known]
        values, mistakes = dict(known), []
        for key in keys:
            path, plain = key.find(value)
            if plain is MISSING:
                if key.required:
                    mistakes.append((path, _lack(key, "missing")))
                continue
            try:
                if plain is None:
                    raise InvalidError(_lack(key, "empty"))
                values[key.field] = key.kind.decode(plain)
            except InvalidError as error:
                mistakes += error.below(*path)
                if error.valid:
                    values[key.field] = error.valid
        mistakes += _unknown_keys(value, [key.name for key in flat(keys)])
        between = getattr(self.declared, "contradictions", None)
        if between is not None:
            mistakes += between(values, value.keys())
        return values, mistakes


class Inline(Table):
    """A dataclass whose keys stand in the enclosing table; without any of them it is absent."""

    def part_of(self, around: dict[str, Any]) -> dict[str, Any]:
        """Return the entries of the enclosing table that belong to these keys."""
        names = self.key_names
        return {name: value for name, value in around.items() if name in names}

    def values(self, value: object, **known: object) -> tuple[dict[str, Any], Mistakes]:
        """Return them as `Table` does; a missing key is reported at the first key that is there."""
        values, mistakes = super().values(value, **known)
        assert isinstance(value, dict)
        first = next(iter(value))
        return values, [
            (path if path[0] in value else (first,), message) for path, message in mistakes
        ]


class OneOrMore(Kind):
    """A list without repeats, or a single value for a list of one, as a tuple."""

    def __init__(self, inner: Kind) -> None:
        super().__init__(f"{inner.expected}, or a list of them")
        self.inner = inner

    def decode(self, value: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Return what the items mean."""
        items = value if isinstance(value, list) else [value]
        if not items:
            raise InvalidError(f"the list is empty; expected {self.inner.expected}")
        if len(items) > MAX_ITEMS:
            raise InvalidError(f"{len(items)} items; expected at most {MAX_ITEMS}")
        loaded, mistakes = _each(enumerate(items), lambda _, item: self.inner.decode(item))
        decoded = tuple(loaded.get(index) for index in range(len(items)))
        # What is left of an invalid item may be equal to what is left of another one.
        invalid = {path[0] for path, _ in mistakes}
        for index, item in loaded.items():
            if item in decoded[:index] and index not in invalid:
                mistakes.append(((index,), f"{shown(items[index])} is repeated"))
        if mistakes:
            raise InvalidError(mistakes, decoded)
        return decoded


class ByName(Kind):
    """A table from names to values; an inner `Table` gets its `name` from here, not from a key."""

    def __init__(self, inner: Kind) -> None:
        super().__init__(f"a table from names to {inner.expected}")
        self.inner = inner

    def decode(self, value: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return what the values mean, by their names."""
        loaded, mistakes = _each(self.entries(value).items(), self._decode)
        mistakes += [
            ((name,), AtKey(f"{shown(name)} is not a name: {NAME_RULE}"))
            for name in value
            if not NAME.fullmatch(name)
        ]
        if mistakes:
            raise InvalidError(mistakes, loaded)
        return loaded

    def _decode(self, name: str, value: object) -> object:
        if isinstance(self.inner, Table):
            return self.inner.decode(value, name=name)
        return self.inner.decode(value)


class Listed(ByName):
    """A table from names to tables with a field `name`, decoded to a tuple."""

    def decode(self, value: Any) -> Any:  # noqa: ANN401
        """Return the decoded values, in their order."""
        return tuple(super().decode(value).values())


class As(Kind):
    """A value of a kind, converted by a function, which raises InvalidError for some."""

    def __init__(self, inner: Kind, convert: Callable[[Any], Any]) -> None:
        super().__init__(inner.expected)
        self.inner, self.convert = inner, convert

    def decode(self, value: Any) -> Any:  # noqa: ANN401
        """Return the converted value."""
        return self.convert(self.inner.decode(value))


class Either(Kind):
    """A short form, or a table of keys."""

    def __init__(self, short: Kind, table: Kind) -> None:
        super().__init__(f"{short.expected}, or {table.expected}")
        self.short, self.table = short, table

    def decode(self, value: Any) -> Any:  # noqa: ANN401
        """Return what either form means."""
        return (self.table if isinstance(value, dict) else self.short).decode(value)


def flat(keys: Iterable[Key]) -> list[Key]:
    """Return the keys, each `Inline` replaced by its own keys."""
    plain: list[Key] = []
    for key in keys:
        kind = key.kind
        plain += flat(keys_of(kind.declared)) if isinstance(kind, Inline) else [key]
    return plain


def _lack(key: Key, how: str) -> str:
    return f"{key.name!r} is {how}; expected {key.kind.expected}"


def _unknown_keys(table: dict[str, Any], known: Collection[str]) -> Mistakes:
    unknown = islice((name for name in table if name not in known), MAX_UNKNOWN_KEYS)
    return [((name,), AtKey(unknown_word("key", name, known, " here"))) for name in unknown]


def _each(
    items: Iterable[tuple[Any, Any]], decode: Callable[[Any, Any], Any]
) -> tuple[dict[Any, Any], Mistakes]:
    """Return the valid part of each item by its index or name, and the mistakes of all items."""
    loaded: dict[Any, Any] = {}
    mistakes: Mistakes = []
    for step, item in items:
        try:
            loaded[step] = decode(step, item)
        except InvalidError as error:
            mistakes += error.below(step)
            if error.valid:
                loaded[step] = error.valid
    return loaded, mistakes
