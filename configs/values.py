"""The kinds of single values that a configuration has, decoded from the texts of a YAML file.

Every message has all that is needed: the value as written, what is allowed, the nearest word.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable
from math import isfinite
from typing import Any

from base.errors import UserError
from base.structure import MAX_ITEMS, NAME, NAME_RULE, InvalidError, Kind
from base.text import shown, unknown_word
from base.units import parse_duration

MAX_TEXT_CHARACTERS = 500

# No argument can have these: NUL, which ends it, and surrogates, which are no text.
_NOT_IN_ARGUMENTS = re.compile("[\x00\ud800-\udfff]")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
# No leading zero: 010 is eight in YAML 1.1, and ten in YAML 1.2 and to most people.
_WHOLE_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
NUMBER = r"[+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][+-]?\d{1,3})?"
_PERCENTAGE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", re.ASCII)
_RANGE = re.compile(rf"(?P<low>{NUMBER})(?: +to +(?P<high>{NUMBER}))?", re.ASCII)


class Text(Kind):
    """A text of one or more characters in one line; `form` narrows it, `rule` describes `form`."""

    def __init__(self, expected: str, form: re.Pattern[str] | None = None, rule: str = "") -> None:
        super().__init__(expected)
        self.form, self.rule = form, rule

    def decode(self, value: Any) -> str:  # noqa: ANN401
        """Return the text."""
        if not isinstance(value, str):
            raise self.mismatch(value)
        if not value.strip() or len(value) > MAX_TEXT_CHARACTERS or not value.isprintable():
            raise self.mismatch(value, f"one line of 1 to {MAX_TEXT_CHARACTERS} characters")
        if self.form is not None and not self.form.fullmatch(value):
            raise self.mismatch(value, self.rule)
        return value


class Name(Text):
    """A word that can be part of a file name."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected, NAME, NAME_RULE)


def is_name(text: str) -> bool:
    """Return whether a text can be part of a file name as it is."""
    return NAME.fullmatch(text) is not None


# What is better of a number.
LOWER, HIGHER = DIRECTIONS = ("lower", "higher")


class Word(Text):
    """One of the known words."""

    def __init__(self, what: str, known: Iterable[str]) -> None:
        self.what, self.known = what, tuple(known)
        article = "an" if what[0] in "aeiou" else "a"
        super().__init__(f"{article} {what} ({', '.join(self.known)})")

    def decode(self, value: Any) -> str:  # noqa: ANN401
        """Return the word."""
        word = super().decode(value)
        if word not in self.known:
            raise InvalidError(unknown_word(self.what, word, self.known))
        return word


class Count(Kind):
    """A whole number within bounds, in decimal digits only."""

    def __init__(self, what: str, least: int, most: int) -> None:
        super().__init__(f"{what}: a whole number from {least} to {most}")
        self.least, self.most = least, most

    def decode(self, value: Any) -> int:  # noqa: ANN401
        """Return the number."""
        if not isinstance(value, str) or not _WHOLE_NUMBER.fullmatch(value):
            raise self.mismatch(value)
        if not self.least <= int(value) <= self.most:
            raise self.mismatch(value)
        return int(value)


class Flag(Kind):
    """`true` or `false`, or the other words YAML has for them."""

    def decode(self, value: Any) -> bool:  # noqa: ANN401
        """Return whether it is true."""
        if not isinstance(value, str) or value.lower() not in _TRUTH:
            raise self.mismatch(value)
        return _TRUTH[value.lower()]


class Range(Kind):
    """A number, or the ends of a range of numbers, both included: `575`, `1.4 to 1.6`."""

    def decode(self, value: Any) -> tuple[float, float]:  # noqa: ANN401
        """Return both ends."""
        match = _RANGE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise self.mismatch(value)
        low, high = float(match["low"]), float(match["high"] or match["low"])
        if not isfinite(low) or not isfinite(high):
            raise self.mismatch(value)
        if low > high:
            raise InvalidError(f"{shown(value)} ends below its beginning")
        return low, high


class Duration(Kind):
    """A time with its unit, as seconds, from `least` to `most`; `expected` must name both."""

    def __init__(self, expected: str, least: float = 0.0, most: float = float("inf")) -> None:
        super().__init__(expected)
        self.least, self.most = least, most

    def decode(self, value: Any) -> float:  # noqa: ANN401
        """Return the seconds."""
        if not isinstance(value, str):
            raise self.mismatch(value)
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            raise InvalidError(f"{shown(value)} {error}") from None
        if not self.least <= seconds <= self.most:
            raise self.mismatch(value)
        return seconds


class Percentage(Kind):
    """A percentage above 0 % and below 100 %, as a share: `1%` is 0.01."""

    def decode(self, value: Any) -> float:  # noqa: ANN401
        """Return the share."""
        match = _PERCENTAGE.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise self.mismatch(value)
        number = float(match[1])
        if not 0 < number < 100:
            raise InvalidError(f"{shown(value)} is not more than 0% and less than 100%")
        return number / 100


class Arguments(Kind):
    """A command line's arguments: one text, split as a shell splits words, or a list of them."""

    def decode(self, value: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Return the arguments."""
        if isinstance(value, str):
            if _NOT_IN_ARGUMENTS.search(value):
                raise self.mismatch(value)
            return tuple(split_words(value))
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise self.mismatch(value)
        mistakes = [
            ((index,), f"{shown(item)} is not an argument; {remedy}")
            for index, item in enumerate(value)
            if (remedy := _remedy(item))
        ]
        if mistakes:
            raise InvalidError(mistakes)
        return tuple(value)


def _remedy(item: Any) -> str:  # noqa: ANN401
    """Return what helps where an item is not an argument; empty where it is one."""
    if not isinstance(item, str):
        return "put an empty one in quotes"
    return "expected UTF-8 text without NUL" if _NOT_IN_ARGUMENTS.search(item) else ""


def split_words(text: str) -> list[str]:
    """Return the words of a text as a shell splits them; raises InvalidError for an open quote."""
    try:
        return shlex.split(text)
    except ValueError:
        raise InvalidError(f"{shown(text)} has a quote that is not closed") from None


class Pattern(Text):
    """A regular expression; with `picks` it needs a group 1, which picks a number."""

    def __init__(self, expected: str, *, picks: bool) -> None:
        super().__init__(expected)
        self.picks = picks

    def decode(self, value: Any) -> str:  # noqa: ANN401
        """Return the expression, if it compiles."""
        text = super().decode(value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                groups = re.compile(text, re.MULTILINE).groups
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidError(f"{shown(text)} is not a regular expression: {error}") from None
        if self.picks and groups == 0:
            raise InvalidError(
                f"{shown(text)} has no group; put parentheses around the number, as in "
                "'elapsed: ([0-9.]+)'"
            )
        return text


def option_value(option: str, value: object, kind: Kind) -> Any:  # noqa: ANN401
    """Return what the value of a command's option means, None for None; raises UserError."""
    if value is None:
        return None
    try:
        return kind.decode(value)
    except InvalidError as error:
        raise UserError(f"{option}: {error}") from None


def share_option(option: str, text: str) -> float:
    """Return the share of a command's percentage option; raises UserError when it is none."""
    share: float = option_value(option, text, Percentage("a percentage, such as 1%"))
    return share


def time_option(option: str, text: str | None) -> float | None:
    """Return the seconds of a command's time option; raises UserError when it is no time."""
    seconds: float | None = option_value(option, text, Duration("a time, such as 10 min"))
    return seconds
