"""Plain values of YAML to the dataclasses that declare them; every mistake with its place.

A field is a key of its table. It has a type that msgspec understands, with notes on what is allowed
(`pinstudy.configs.values`); the text below it says what it means, for docs and editors::

    threads: Annotated[int, count("a thread count", 1, 4096)] = 1
    '''how many threads run. Without it: one'''

A tuple is written as a list without repeats, or as its only item; a dict as a table from names,
whose tables get the field `name` from there. A key whose field has a default may be left out.

msgspec's own decoder stops at the first mistake. Here all are reported, and the valid values are
passed on beside them, so that rules between keys are checked at the same time: `contradictions`, a
static method of a table. It yields (path, message) for the valid values by field, and all keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache, cached_property
from itertools import islice
from typing import Annotated, Any

from msgspec import NODEFAULT, Meta, inspect

from pinstudy.base.text import shown, unknown_word, with_article

# A path such as `("apps", 0, "threads")` leads from a table to one of its values.
Path = tuple[str | int, ...]
Mistake = tuple[Path, str]
Mistakes = list[Mistake]
Notes = Mapping[str, Any]

MAX_ITEMS = 1000
# A table with more unknown keys belongs to another kind of file; a longer list does not help.
MAX_UNKNOWN_KEYS = 50

# Names become parts of file names and columns of tables.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
NAME_RULE = "letters, digits and . _ + - only, at most 64, the first a letter or digit"

# No leading zero: 010 is eight in YAML 1.1, and ten in YAML 1.2 and to most people.
_WHOLE_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


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


class MismatchError(ValueError):
    """A value is not what is expected of it; the text says why, where that is not enough."""


# A field that no file has.
NO_KEY = Meta(extra={"no_key": True})
# A table whose keys stand in the enclosing one; without any of them it is absent.
INLINE = Meta(extra={"inline": True})


def called(name: str, *, before: str | None = None, file: str = "file") -> Meta:
    """Return the note of a key's name, where it is not the field's.

    `before` is the name that the key once had, in a `file` such as a site.
    """
    earlier = {before: name} if before else {}
    return Meta(extra={"name": name, "before": _messages(file, earlier)})


def replacing(file: str, earlier: Mapping[str, str]) -> Meta:
    """Return the note of a key that takes the place of earlier ones in a `file` such as a study.

    `earlier` has what is written now, by the name of each.
    """
    return Meta(extra={"before": _messages(file, earlier)})


def _messages(file: str, earlier: Mapping[str, str]) -> dict[str, str]:
    owner = with_article(file)
    return {name: f"`{name}` of {owner} is `{instead}` now" for name, instead in earlier.items()}


@dataclass(frozen=True, eq=False)
class Written:
    """The forms in which a value may stand in a file, and what makes the value of any of them."""

    forms: tuple[Any, ...]
    convert: Callable[[Any], Any] | None

    @cached_property
    def types(self) -> tuple[inspect.Type, ...]:
        """The forms as msgspec describes them."""
        forms = (Annotated[str, form] if isinstance(form, Meta) else form for form in self.forms)
        return tuple(inspect.multi_type_info(forms))


def written(
    *forms: Any,  # noqa: ANN401 - types and notes
    to: Callable[[Any], Any] | None = None,
    expected: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Meta:
    """Return the note that a value is written in one of these forms; `to` makes it of them.

    A note is the form of a text with it. `to` raises MismatchError or InvalidError. `expected`
    describes the value in messages, `schema` to editors, where the forms do not. Of several tables
    the first one counts that has any of the keys, else the last one.
    """
    notes = {"written": Written(forms, to), "expected": expected, "schema": schema}
    return Meta(extra={name: note for name, note in notes.items() if note is not None})


@dataclass(frozen=True)
class Key:
    """A key of a table; `default` is NODEFAULT for one that must be there.

    `before` has the names in whose place it is, each with the message about that.
    """

    name: str
    field: str
    type: inspect.Type
    inline: bool
    default: Any
    before: Mapping[str, str] = dataclass_field(default_factory=dict)


@cache
def keys_of(table: type) -> tuple[Key, ...]:
    """Return the keys that a dataclass declares, in their order."""
    described = inspect.type_info(table)
    assert isinstance(described, inspect.DataclassType)
    keys = []
    for field in described.fields:
        _, notes = bare(field.type)
        if "no_key" not in notes:
            factory = field.default_factory
            default = field.default if factory is NODEFAULT else factory()
            name, before = notes.get("name", field.name), notes.get("before", {})
            inline = "inline" in notes
            keys.append(Key(name, field.name, field.type, inline, default, before))
    return tuple(keys)


@cache
def flat_keys(table: type) -> tuple[Key, ...]:
    """Return the keys of a table, those of an inline one in its place."""
    keys: list[Key] = []
    for key in keys_of(table):
        keys += flat_keys(bare(key.type)[0].cls) if key.inline else [key]
    return tuple(keys)


def bare(kind: inspect.Type) -> tuple[Any, Notes]:
    """Return a type without its notes and None, and the notes."""
    if isinstance(kind, inspect.Metadata):
        inner, notes = bare(kind.type)
        return inner, {**(kind.extra or {}), **notes}
    if isinstance(kind, inspect.UnionType):
        return bare(next(part for part in kind.types if not isinstance(part, inspect.NoneType)))
    return kind, {}


def expected(kind: inspect.Type) -> str:
    """Return what a value may be, as messages say it: `'x' is not {expected}`."""
    inner, notes = bare(kind)
    if "expected" in notes:
        return str(notes["expected"])
    if "written" in notes:
        return ", or ".join(map(expected, notes["written"].types))
    if isinstance(inner, inspect.VarTupleType):
        return f"{expected(inner.item_type)}, or a list of them"
    if isinstance(inner, inspect.DictType):
        return f"a table from names to {expected(inner.value_type)}"
    return "true or false" if isinstance(inner, inspect.BoolType) else str(inner.cls.expected)


def decode(form: Any, plain: object) -> Any:  # noqa: ANN401 - any type
    """Return what a plain value means; raises InvalidError."""
    walk = _Walk()
    value = walk.value(inspect.type_info(form), plain, ())
    if walk.mistakes:
        raise InvalidError(walk.mistakes, value)
    return value


def decode_keys(table: type, plain: dict[str, Any]) -> tuple[dict[str, Any], Mistakes]:
    """Return the valid values of a table by field, and all mistakes."""
    walk = _Walk()
    return walk.fields(table, plain, ()), walk.mistakes


def entries(plain: object, words: str) -> dict[str, Any]:
    """Return a table from names to values, of which `words` are expected; raises for none."""
    if not isinstance(plain, dict):
        raise MismatchError
    if not plain:
        raise InvalidError(f"the table is empty; expected {words}")
    if len(plain) > MAX_ITEMS:
        raise InvalidError(f"{len(plain)} names; expected at most {MAX_ITEMS}")
    return plain


class _Walk:
    """One walk through a plain value. Its methods return what is valid, None where nothing is."""

    def __init__(self) -> None:
        self.mistakes: Mistakes = []

    def value(
        self,
        kind: inspect.Type,
        plain: object,
        path: Path,
        words: str = "",
        name: str | None = None,
    ) -> Any:  # noqa: ANN401 - any value
        """Return what a value means; `words` are expected where its type does not say it."""
        kind, notes = bare(kind)
        words = notes.get("expected", words)
        try:
            if "written" in notes:
                return self._written(notes["written"], plain, path, words)
            if isinstance(kind, inspect.DataclassType):
                return self._table(kind.cls, plain, path, name)
            if isinstance(kind, inspect.VarTupleType):
                return self._items(kind.item_type, plain, path)
            if isinstance(kind, inspect.DictType):
                return self._by_name(kind, plain, path)
            return _scalar(kind, notes, plain)
        except MismatchError as error:
            why = f": {error}" if str(error) else ""
            self._add(path, f"{shown(plain)} is not {words or expected(kind)}{why}")
        except InvalidError as error:
            for steps, message in error.mistakes:
                self._add((*path, *steps), message)
            return error.valid
        return None

    def fields(
        self, table: type, plain: object, path: Path, name: str | None = None
    ) -> dict[str, Any]:
        """Return the values of a table by field; one with a name has no key for it."""
        if not isinstance(plain, dict):
            raise MismatchError
        known = {} if name is None else {"name": name}
        values: dict[str, Any] = dict(known)
        for key in keys_of(table):
            if key.field not in known:
                value = (self._inline if key.inline else self._key)(key, plain, path)
                if value is not None:
                    values[key.field] = value
        for key in keys_of(table):
            for before in key.before:
                if before in plain:
                    self._add((*path, before), AtKey(key.before[before]))
        keys = [key for key in flat_keys(table) if key.field not in known]
        names = [key.name for key in keys]
        old = [before for key in keys for before in key.before]
        unread = (key for key in plain if key not in names and key not in old)
        for unknown in islice(unread, MAX_UNKNOWN_KEYS):
            self._add((*path, unknown), AtKey(unknown_word("key", unknown, names, " here")))
        between = getattr(table, "contradictions", None)
        for steps, message in between(values, plain.keys()) if between else ():
            self._add((*path, *steps), message)
        return values

    def _key(self, key: Key, plain: dict[str, Any], path: Path) -> Any:  # noqa: ANN401
        here = (*path, key.name)
        if plain.get(key.name) is not None:
            return self.value(key.type, plain[key.name], here)
        if key.name in plain or (
            key.default is NODEFAULT and not any(before in plain for before in key.before)
        ):
            how = "empty" if key.name in plain else "missing"
            self._add(here, f"{key.name!r} is {how}; expected {expected(key.type)}")
        return None

    def _inline(self, key: Key, around: dict[str, Any], path: Path) -> Any:  # noqa: ANN401
        """Return a table whose keys stand among others; what is missing, the first one lacks."""
        table = bare(key.type)[0].cls
        names = [name for key in flat_keys(table) for name in (key.name, *key.before)]
        part = {name: value for name, value in around.items() if name in names}
        if not part:
            return None
        before = len(self.mistakes)
        value = self._table(table, part, path)
        first = (*path, next(iter(part)))
        self.mistakes[before:] = [
            (found if found[len(path)] in part else first, message)
            for found, message in self.mistakes[before:]
        ]
        return value

    def _table(self, table: type, plain: object, path: Path, name: str | None = None) -> Any:  # noqa: ANN401
        """Return the dataclass, or what its `make` makes; its values by field if any is wrong."""
        before = len(self.mistakes)
        values = self.fields(table, plain, path, name)
        is_wrong = len(self.mistakes) > before
        return values if is_wrong else getattr(table, "make", table)(**values)

    def _items(self, kind: inspect.Type, plain: object, path: Path) -> tuple[Any, ...]:
        items = plain if isinstance(plain, list) else [plain]
        if not items:
            raise InvalidError(f"the list is empty; expected {expected(kind)}")
        if len(items) > MAX_ITEMS:
            raise InvalidError(f"{len(items)} items; expected at most {MAX_ITEMS}")
        before = len(self.mistakes)
        values = tuple(self.value(kind, item, (*path, at)) for at, item in enumerate(items))
        # What is left of an invalid item may be equal to what is left of another one.
        invalid = {found[len(path)] for found, _ in self.mistakes[before:]}
        for at, value in enumerate(values):
            if at not in invalid and value in values[:at]:
                self._add((*path, at), f"{shown(items[at])} is repeated")
        return values

    def _by_name(self, kind: inspect.DictType, plain: object, path: Path) -> dict[str, Any]:
        values = {}
        for name, item in entries(plain, expected(kind)).items():
            if not NAME.fullmatch(name):
                self._add((*path, name), AtKey(f"{shown(name)} is not a name: {NAME_RULE}"))
            value = self.value(kind.value_type, item, (*path, name), name=name)
            if value is not None:
                values[name] = value
        return values

    def _written(self, written: Written, plain: object, path: Path, words: str) -> Any:  # noqa: ANN401
        tables = [form for form in written.types if isinstance(form, inspect.DataclassType)]
        if tables and isinstance(plain, dict):
            has_key = (form for form in tables if any(k.name in plain for k in keys_of(form.cls)))
            chosen: inspect.Type = next(has_key, tables[-1])
        else:
            has_word = (form for form in written.types if plain in bare(form)[1].get("known", ()))
            chosen = next(has_word, written.types[0])
        before = len(self.mistakes)
        value = self.value(chosen, plain, path, words)
        if len(self.mistakes) > before or written.convert is None:
            return value
        return written.convert(value)

    def _add(self, path: Path, message: str) -> None:
        self.mistakes.append((path, message))


def _scalar(kind: Any, notes: Notes, plain: object) -> object:  # noqa: ANN401 - a type of msgspec
    """Return what a text means; raises MismatchError or InvalidError."""
    if isinstance(kind, inspect.AnyType):
        return plain
    if not isinstance(plain, str):
        raise MismatchError
    if isinstance(kind, inspect.IntType):
        assert kind.ge is not None
        assert kind.le is not None
        if not _WHOLE_NUMBER.fullmatch(plain) or not kind.ge <= int(plain) <= kind.le:
            raise MismatchError
        return int(plain)
    if isinstance(kind, inspect.BoolType):
        if plain.lower() not in _TRUTH:
            raise MismatchError
        return _TRUTH[plain.lower()]
    assert isinstance(kind, inspect.StrType)
    if kind.max_length and not (
        plain.strip() and len(plain) <= kind.max_length and plain.isprintable()
    ):
        raise MismatchError(f"one line of 1 to {kind.max_length} characters")
    if kind.pattern and not re.search(kind.pattern, plain):
        raise MismatchError(notes.get("rule", ""))
    if "known" in notes and plain not in notes["known"]:
        raise InvalidError(unknown_word(notes["kind"], plain, notes["known"]))
    return plain
