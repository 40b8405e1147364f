"""Values that hold others: lists, tables of keys, tables from names to tables, references."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from marshmallow import Schema, ValidationError

from base.text import shown
from configs.schema.fields import MAX_ITEMS, AnyField, AtKey, ValueField, checked_name


class Holder(ValueField):
    """What holds values of one sort; `EXPECTS` says so around what is expected of each."""

    EXPECTS = "{}"

    def __init__(self, inner: ValueField, *, required: bool = False) -> None:
        super().__init__(self.EXPECTS.format(inner.expected), required=required)
        self.inner = inner

    def _bind_to_schema(self, field_name: str, parent: Schema | AnyField) -> None:
        super()._bind_to_schema(field_name, parent)
        self.inner._bind_to_schema(field_name, self)


class OneOrMore(Holder):
    """A list without repeats, or a single value for a list of one.

    Items that are wrong leave a gap (None) in what is passed on beside the errors, so that an
    item's place in the list stays its place in the file.
    """

    EXPECTS = "{}, or a list of them"

    def _convert(self, value: object) -> list[Any]:
        items = value if isinstance(value, list) else [value]
        if not items:
            raise ValidationError(f"the list is empty; expected {self.inner.expected}")
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"{len(items)} items; expected at most {MAX_ITEMS}")
        loaded, errors = _each(enumerate(items), self.inner.deserialize)
        found = [loaded.get(index) for index in range(len(items))]
        for index, item in loaded.items():
            if item in found[:index]:
                errors[index] = [f"{shown(items[index])} is repeated"]
        if errors:
            raise ValidationError(errors, valid_data=found)
        return found


class Section(ValueField):
    """A table of keys that a schema describes, as what the schema makes of it."""

    def __init__(
        self, schema: Callable[[], Schema], expected: str, *, required: bool = False
    ) -> None:
        super().__init__(expected, required=required)
        self.schema = schema
        self._loader: Schema | None = None

    def _convert(self, value: object) -> object:
        if not isinstance(value, dict):
            raise self.refuse(value)
        # A schema copies its fields when it is made; one serves all sections of a file.
        self._loader = self._loader or self.schema()
        return self._loader.load(value)


class Named(Holder):
    """A table from a name to a section that takes this name: `small: {…}`, `large: {…}`."""

    EXPECTS = "a table from names to {}"

    def _convert(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict) or not value:
            raise self.refuse(value)
        loaded, errors = _each(value.items(), self.inner.deserialize)
        for name in value:
            try:
                checked_name(name, "a name")
            except ValidationError as error:
                errors[name] = [AtKey(error.messages[0])]
        if errors:
            raise ValidationError(errors, valid_data=loaded)
        return {name: replace(item, name=name) for name, item in loaded.items()}


class Table(Holder):
    """A table from a name to a single value: `iterations: 575`, `area: 1.4 to 1.6`."""

    EXPECTS = "a table from names to {}"

    def _convert(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict) or not 0 < len(value) <= MAX_ITEMS:
            raise self.refuse(value)
        loaded, errors = _each(value.items(), self.inner.deserialize)
        if errors:
            raise ValidationError(errors, valid_data=loaded)
        return loaded


class Reference(ValueField):
    """A name to be looked up, or another short form, or the thing itself written out."""

    def __init__(self, short: ValueField, section: Section, *, required: bool = False) -> None:
        super().__init__(f"{short.expected}, or {section.expected}", required=required)
        self.short, self.section = short, section

    def _convert(self, value: object) -> object:
        return (self.section if isinstance(value, dict) else self.short).deserialize(value)


def _each(
    items: Iterable[tuple[Any, Any]], load: Callable[[Any], Any]
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return what is valid of every item, and the errors of every item, by index or name."""
    loaded: dict[Any, Any] = {}
    errors: dict[Any, Any] = {}
    for key, item in items:
        try:
            loaded[key] = load(item)
        except ValidationError as error:
            errors[key] = error.messages
            if error.valid_data:
                loaded[key] = error.valid_data
    return loaded, errors
