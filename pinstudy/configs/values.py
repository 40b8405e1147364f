"""The kinds of single values that configurations have, as notes for the types of their fields.

Every message has all that is needed: the value as written, what is allowed, the nearest word.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable
from functools import partial
from math import isfinite
from typing import Annotated, Any

from msgspec import Meta

from pinstudy.base.errors import UserError
from pinstudy.base.text import shown, with_article
from pinstudy.base.units import SECONDS_OF_UNIT, parse_duration
from pinstudy.configs.decoding import (
    MAX_ITEMS,
    NAME,
    NAME_RULE,
    InvalidError,
    MismatchError,
    decode,
    written,
)

MAX_TEXT_CHARACTERS = 500

# What is better of a number.
DIRECTIONS = ("lower", "higher")
HIGHER = DIRECTIONS[True]
NUMBER = r"[+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][+-]?\d{1,3})?"

_PERCENTAGE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", re.ASCII)
_RANGE = re.compile(rf"(?P<low>{NUMBER})(?: +to +(?P<high>{NUMBER}))?", re.ASCII)
# No argument can have these: NUL, which ends it, and surrogates, which are no text.
_NOT_IN_ARGUMENTS = re.compile("[\x00\ud800-\udfff]")
# For editors, an argument that looks like a number or a truth value is a text as well.
ARGUMENT_SCHEMA = {"type": ["string", "number", "boolean"]}

# One line of text.
Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARACTERS)]


def text(expected: str, form: re.Pattern[str] | None = None, rule: str = "") -> Meta:
    """Return the note of one line of text; `form` is its pattern, which `rule` describes."""
    return Meta(
        min_length=1,
        max_length=MAX_TEXT_CHARACTERS,
        pattern=form and f"^(?:{form.pattern})$",
        extra={"expected": expected, "rule": rule},
    )


def label(expected: str) -> Meta:
    """Return the note of a word that can be part of a file name."""
    return text(expected, NAME, NAME_RULE)


RegionName = Annotated[str, label("the name of a region")]


def is_name(word: str) -> bool:
    """Return whether a text can be part of a file name as it is."""
    return NAME.fullmatch(word) is not None


def word(kind: str, known: Iterable[str]) -> Meta:
    """Return the note of one of the known words."""
    known = tuple(known)
    return Meta(
        min_length=1,
        max_length=MAX_TEXT_CHARACTERS,
        extra={
            "expected": f"{with_article(kind)} ({', '.join(known)})",
            "kind": kind,
            "known": known,
            "schema": {"enum": list(known)},
        },
    )


def count(expected: str, least: int, most: int) -> Meta:
    """Return the note of a whole number within bounds, in decimal digits only."""
    words = f"{expected}: a whole number from {least} to {most}"
    return Meta(ge=least, le=most, extra={"expected": words})


def text_schema(form: str) -> dict[str, Any]:
    """Return the schema of texts of a form."""
    return {"type": "string", "pattern": f"^{form}$"}


def number_range(expected: str) -> Meta:
    """Return the note of a number, or both ends of a range of them: `575`, `1.4 to 1.6`."""
    form = text_schema(rf"{NUMBER}( +to +{NUMBER})?")
    return written(str, to=_ends, expected=expected, schema={"anyOf": [{"type": "number"}, form]})


def _ends(plain: str) -> tuple[float, float]:
    match = _RANGE.fullmatch(plain)
    if match is None:
        raise MismatchError
    low, high = float(match["low"]), float(match["high"] or match["low"])
    if not isfinite(low) or not isfinite(high):
        raise MismatchError
    if low > high:
        raise InvalidError(f"{shown(plain)} ends below its beginning")
    return low, high


def duration(expected: str, least: float = 0.0, most: float = float("inf")) -> Meta:
    """Return the note of a time with its unit, in seconds; `expected` must name both bounds."""
    schema = text_schema(rf"\d+(\.\d+)?\s*({'|'.join(SECONDS_OF_UNIT)})")
    to = partial(_seconds, least=least, most=most)
    return written(str, to=to, expected=expected, schema=schema)


def _seconds(plain: str, least: float, most: float) -> float:
    try:
        seconds = parse_duration(plain)
    except ValueError as error:
        raise InvalidError(f"{shown(plain)} {error}") from None
    if not least <= seconds <= most:
        raise MismatchError
    return seconds


def percentage(expected: str) -> Meta:
    """Return the note of a percentage above 0 % and below 100 %, as a share: `1%` is 0.01."""
    return written(str, to=_share, expected=expected, schema=text_schema(r"\d+(\.\d+)?\s*%"))


def _share(plain: str) -> float:
    match = _PERCENTAGE.fullmatch(plain.strip())
    if match is None:
        raise MismatchError
    number = float(match[1])
    if not 0 < number < 100:
        raise InvalidError(f"{shown(plain)} is not more than 0% and less than 100%")
    return number / 100


def command_line(expected: str) -> Meta:
    """Return the note of a command line: a text, split as a shell splits it, or a list."""
    items = {"type": "array", "items": ARGUMENT_SCHEMA, "maxItems": MAX_ITEMS}
    schema = {"anyOf": [ARGUMENT_SCHEMA, items]}
    return written(Any, to=_arguments, expected=expected, schema=schema)


def _arguments(plain: object) -> tuple[str, ...]:
    if isinstance(plain, str):
        if _NOT_IN_ARGUMENTS.search(plain):
            raise MismatchError
        return tuple(split_words(plain))
    if not isinstance(plain, list) or len(plain) > MAX_ITEMS:
        raise MismatchError
    mistakes = [
        ((index,), f"{shown(item)} is not an argument; {remedy}")
        for index, item in enumerate(plain)
        if (remedy := _remedy(item))
    ]
    if mistakes:
        raise InvalidError(mistakes)
    return tuple(plain)


def _remedy(item: object) -> str:
    """Return what helps where an item is not an argument; empty where it is one."""
    if not isinstance(item, str):
        return "put an empty one in quotes"
    return "expected UTF-8 text without NUL" if _NOT_IN_ARGUMENTS.search(item) else ""


def split_words(plain: str) -> list[str]:
    """Return the words of a text as a shell splits them; raises InvalidError for an open quote."""
    try:
        return shlex.split(plain)
    except ValueError:
        raise InvalidError(f"{shown(plain)} has a quote that is not closed") from None


def regex(*, picks: bool) -> Meta:
    """Return the note of a regular expression; with `picks` its group 1 picks a number."""
    return written(Text, to=partial(_expression, picks=picks), expected="a regular expression")


def _expression(plain: str, *, picks: bool) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            groups = re.compile(plain, re.MULTILINE).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidError(f"{shown(plain)} is not a regular expression: {error}") from None
    if picks and groups == 0:
        raise InvalidError(
            f"{shown(plain)} has no group; put parentheses around the number, as in "
            "'elapsed: ([0-9.]+)'"
        )
    return plain


def option_value(option: str, value: object, form: Any) -> Any:  # noqa: ANN401 - any type
    """Return what the value of a command's option means, None for None; raises UserError."""
    if value is None:
        return None
    try:
        return decode(form, value)
    except InvalidError as error:
        raise UserError(f"{option}: {error}") from None


def share_option(option: str, value: str) -> float:
    """Return the share of a command's percentage option; raises UserError when it is none."""
    form = Annotated[float, percentage("a percentage, such as 1%")]
    share: float = option_value(option, value, form)
    return share


def time_option(option: str, value: str | None) -> float | None:
    """Return the seconds of a command's time option; raises UserError when it is no time."""
    form = Annotated[float, duration("a time, such as 10 min")]
    seconds: float | None = option_value(option, value, form)
    return seconds
