"""The kinds of single values a configuration has, as marshmallow fields over texts of a YAML file.

Every message stands by itself: the value as it was written, what is allowed, the nearest word.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any

from marshmallow import Schema, ValidationError, fields

from base.text import shown, unknown_word
from base.units import parse_duration

if TYPE_CHECKING:
    AnyField = fields.Field[Any]
else:
    AnyField = fields.Field  # not generic before marshmallow 4

MAX_TEXT_CHARACTERS = 500
MAX_ITEMS = 1000

# Names become parts of file names and columns of tables.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
# What no program can be given: the end of an argument, and what is no text.
_UNTOLD = re.compile("[\x00\ud800-\udfff]")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
# No zero in front: to YAML 1.1 010 is eight, to YAML 1.2 and most people ten.
_WHOLE_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_NUMBER = r"[+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][+-]?\d{1,3})?"
_RANGE = re.compile(rf"(?P<low>{_NUMBER})(?: +to +(?P<high>{_NUMBER}))?", re.ASCII)


class AtKey(str):
    """A message about a key itself, to be shown where the key stands instead of its value."""


class ValueField(AnyField):
    """A field that says what it expects, whether it is absent, empty or of the wrong form."""

    def __init__(self, expected: str, *, required: bool = False) -> None:
        super().__init__(required=required)
        self.expected = expected

    def _bind_to_schema(self, field_name: str, parent: Schema | AnyField) -> None:
        super()._bind_to_schema(field_name, parent)
        # marshmallow formats these texts once more.
        expected = self.expected.replace("{", "{{").replace("}", "}}")
        self.error_messages = self.error_messages | {
            "required": f"{field_name!r} is missing; expected {expected}",
            "null": f"{field_name!r} is empty; expected {expected}",
        }

    def _deserialize(self, value: object, *_: object, **__: object) -> object:
        return self._convert(value)

    def _convert(self, value: object) -> object:
        """Return what the plain value means; raise ValidationError if it is not of this kind."""
        raise NotImplementedError

    def refuse(self, value: object) -> ValidationError:
        """Return the error for a value that is not of this kind."""
        return ValidationError(f"{shown(value)} is not {self.expected}")


class Text(ValueField):
    """A text of one or more characters, with no line breaks."""

    def _convert(self, value: object) -> str:
        if not isinstance(value, str):
            raise self.refuse(value)
        if not value.strip() or len(value) > MAX_TEXT_CHARACTERS or not value.isprintable():
            raise ValidationError(
                f"{shown(value)} is not {self.expected}: one line of 1 to {MAX_TEXT_CHARACTERS} "
                "characters"
            )
        return value


class Name(Text):
    """A word that can be part of a file name."""

    def _convert(self, value: object) -> str:
        return checked_name(super()._convert(value), self.expected)


def checked_name(value: str, expected: str) -> str:
    """Return a name that can be part of a file name, or raise ValidationError."""
    if not is_name(value):
        raise ValidationError(
            f"{shown(value)} is not {expected}: letters, digits and . _ + - only, at most 64, "
            "the first a letter or digit"
        )
    return value


def is_name(text: str) -> bool:
    """Return whether a text can be part of a file name as it is."""
    return _NAME.fullmatch(text) is not None


class Word(Text):
    """One of the words that are known."""

    def __init__(self, what: str, known: Iterable[str], *, required: bool = False) -> None:
        self.what = what
        self.known = tuple(known)
        super().__init__(f"a {what} ({', '.join(self.known)})", required=required)

    def _convert(self, value: object) -> str:
        word = super()._convert(value)
        if word not in self.known:
            raise ValidationError(unknown_word(self.what, word, self.known))
        return word


class Count(ValueField):
    """A whole number within bounds, in decimal digits only."""

    def __init__(self, what: str, least: int, most: int, *, required: bool = False) -> None:
        super().__init__(f"{what}: a whole number from {least} to {most}", required=required)
        self.least, self.most = least, most

    def _convert(self, value: object) -> int:
        if not isinstance(value, str) or not _WHOLE_NUMBER.fullmatch(value):
            raise self.refuse(value)
        if not self.least <= int(value) <= self.most:
            raise self.refuse(value)
        return int(value)


class Flag(ValueField):
    """`true` or `false`, or the other words YAML has for them."""

    def _convert(self, value: object) -> bool:
        if not isinstance(value, str) or value.lower() not in _TRUTH:
            raise self.refuse(value)
        return _TRUTH[value.lower()]


class Range(ValueField):
    """A number, or the ends of a range of numbers, both included: `575`, `1.4 to 1.6`."""

    def _convert(self, value: object) -> tuple[float, float]:
        match = _RANGE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise self.refuse(value)
        low, high = float(match["low"]), float(match["high"] or match["low"])
        if not isfinite(low) or not isfinite(high):
            raise self.refuse(value)
        if low > high:
            raise ValidationError(f"{shown(value)} ends below its beginning")
        return low, high


class Duration(ValueField):
    """A time with its unit, as seconds."""

    def _convert(self, value: object) -> float:
        if not isinstance(value, str):
            raise self.refuse(value)
        try:
            return parse_duration(value)
        except ValueError as error:
            raise ValidationError(f"{shown(value)} {error}") from None


class Arguments(ValueField):
    """A command line's arguments: one text, split as a shell splits words, or a list of them."""

    def _convert(self, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            if _UNTOLD.search(value):
                raise self.refuse(value)
            try:
                return tuple(shlex.split(value))
            except ValueError:
                raise ValidationError(f"{shown(value)} has a quote that is not closed") from None
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise self.refuse(value)
        errors = {
            index: [f"{shown(item)} is not an argument; put an empty one in quotes"]
            for index, item in enumerate(value)
            if not isinstance(item, str) or _UNTOLD.search(item)
        }
        if errors:
            raise ValidationError(errors)
        return tuple(value)


class Pattern(Text):
    """A regular expression, with a group 1 when it is there to pick a number."""

    def __init__(self, expected: str, *, picks: bool, required: bool = False) -> None:
        super().__init__(expected, required=required)
        self.picks = picks

    def _convert(self, value: object) -> str:
        text = super()._convert(value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                groups = re.compile(text, re.MULTILINE).groups
        except (re.error, OverflowError, RecursionError) as error:
            raise ValidationError(f"{shown(text)} is not a regular expression: {error}") from None
        if self.picks and groups == 0:
            raise ValidationError(
                f"{shown(text)} has no group; put parentheses around the number, as in "
                "'elapsed: ([0-9.]+)'"
            )
        return text


def unknown_key(key: str, known: Iterable[str]) -> AtKey:
    """Return the message for a key that no schema has."""
    return AtKey(unknown_word("key", key, known, " here"))
