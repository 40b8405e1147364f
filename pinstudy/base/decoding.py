"""JSON to declared types: what differs is one line with its place, what was expected and found.

A type says all that a value may be: `Annotated[int, Meta(ge=1, le=9)]`. `Meta(title=…)` says in
words what a pattern expects. The text below a field says what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

from pinstudy.base.cpulist import MAX_CHARACTERS, MAX_CPU
from pinstudy.base.errors import UserError
from pinstudy.base.files import NotAFileError, read_regular
from pinstudy.base.text import one_line, shown, unknown_word

Declared = TypeVar("Declared")

# Not among them: characters that control a terminal, break lines, turn the reading direction or
# cannot be seen.
_PRINTABLE = (
    "[^\\x00-\\x1f\\x7f-\\xa0\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u1680"
    "\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\ud800-\\uf8ff\\ufeff\\ufff9-\\ufffb"
    "\\ufffe\\uffff\\U000e0000-\\U000e00ff\\U000f0000-\\U0010ffff{}]"
)


def line(most: int, without: str = "", title: str = "", *, least: int = 1) -> Meta:
    """Return what a text of one printable line is, `without` some characters."""
    return Meta(
        min_length=least,
        max_length=most,
        pattern=rf"\A{_PRINTABLE.format(without)}*\Z",
        title=title or f"one printable line of at most {most} characters",
    )


Line = Annotated[str, line(500)]
# Renderers escape it: it may have any characters.
Text = Annotated[str, Meta(max_length=2000)]
_RANGE = r"[0-9]{1,5}(?:-[0-9]{1,5})?"
_CPUS = rf"{_RANGE}(?:,{_RANGE})*"
_SUCH_AS = "a list of CPUs such as 0-3,8"
CpuList = Annotated[str, Meta(max_length=MAX_CHARACTERS, pattern=rf"\A{_CPUS}\Z", title=_SUCH_AS)]
MaybeCpus = Annotated[
    str, Meta(max_length=MAX_CHARACTERS, pattern=rf"\A(?:{_CPUS})?\Z", title=_SUCH_AS)
]
Cpu = Annotated[int, Meta(ge=0, le=MAX_CPU)]
# A type without its own bounds would otherwise take numbers that no float holds.
Count = Annotated[int, Meta(ge=0, le=2**53)]
ClockNs = Annotated[int, Meta(ge=0, le=2**62)]
# Finite, such as 300 years in seconds.
Amount = Annotated[float, Meta(ge=0, le=1e10)]

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    date: "a day such as 2026-11-22",
    object: "what JSON can hold, within bounds",
}
_PLACE = re.compile(r"(?P<why>.*?) - at (?P<key>`key` in )?`\$(?P<path>.*)`", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>\w+)|\[(?P<item>[0-9]+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_OF_TYPES = re.compile(r"Expected |Invalid |Number out of range|Integer value out of range")


def decoded(data: bytes, kind: type[Declared]) -> Declared:
    """Return the value of a declared type that a text of JSON holds.

    Raises ValueError for anything else, in one line: `cases[3].n: expected a whole number from 1
    to 9, found '0'`.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        refused = error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no JSON: {one_line(str(error), 100)}") from None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        # Cut off behind the place, or too deep for anything but its type.
        value = None
    else:
        # This knows the place of what is too long, too.
        converted(value, kind)
    raise ValueError(_in_words(refused, kind, value))


def converted(value: object, kind: type[Declared]) -> Declared:
    """Return a value that JSON held as one of a declared type; raises ValueError as `decoded`."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(_in_words(error, kind, value)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def message_of(value: object) -> dict[str, Any]:
    """Return a value of a declared type as fields of JSON, which `complete` takes."""
    fields: dict[str, Any] = msgspec.to_builtins(value, str_keys=True)
    return fields


def complete(message: object, kind: type[Declared]) -> Declared:
    """Return a message as a declared type, all of whose fields it has; raises as `converted`."""
    if isinstance(message, dict):
        for name in _fields(kind):
            if name not in message:
                raise ValueError(f"{name} is missing")
    return converted(message, kind)


def read_decoded(
    path: Path, kind: type[Declared], most: int, expected: str, advice: str
) -> Declared:
    """Return the value of a declared type in a user's JSON file of at most `most` bytes.

    `expected` ends the message about a file that cannot be read, `advice` that about a value in it.
    Raises UserError.
    """
    name = one_line(str(path), None)
    try:
        data = read_regular(path, most)
    except NotAFileError:
        raise UserError(f"{name}: is not a file; {expected}") from None
    except (OSError, ValueError) as error:
        reason = one_line(str(getattr(error, "strerror", None) or error))[:100]
        raise UserError(f"{name}: cannot be read ({reason}); {expected}") from None
    if len(data) > most:
        raise UserError(f"{name}: cannot be read (it is far too large); {expected}")
    try:
        return decoded(data, kind)
    except ValueError as error:
        raise UserError(f"{name}: {error}{advice}") from None


def encoded(value: object) -> bytes:
    """Return a value of a declared type as JSON for people to read, too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _in_words(error: msgspec.ValidationError, kind: Any, found: object) -> str:  # noqa: ANN401
    """Return what msgspec refuses as a line with place, expected and found value."""
    match = _PLACE.fullmatch(str(error))
    why, path = (match["why"], match["path"]) if match else (str(error), "")
    place = ""
    for step in _STEP.finditer(path):
        kind, found, name = _inside(kind, found, step)
        place += name
    place = one_line(place.removeprefix("."), 200)
    begin = f"{place}: " if place else ""
    plain, _ = plain_type(kind)
    if unknown := _UNKNOWN.fullmatch(why):
        return f"{begin}{unknown_word('key', one_line(unknown[1], 60), _fields(plain))}"
    if missing := _MISSING.fullmatch(why):
        return f"{begin}{missing[1]} is missing"
    if not _OF_TYPES.match(why):
        return f"{begin}{one_line(why)}"
    if match and match["key"]:
        kind_of_keys = get_args(plain)[0]
        keys = found if isinstance(found, dict) else ()
        wrong = next((key for key in keys if not _fits(key, kind_of_keys)), "")
        return f"{begin}expected as a key {expected_of(kind_of_keys)}, found {shown(wrong)}"
    return f"{begin}expected {expected_of(kind)}, found {shown(found)}"


def _inside(kind: Any, value: object, step: re.Match[str]) -> tuple[Any, object, str]:  # noqa: ANN401
    """Return type, value and name of what is in a value; by any name, of what is wrong."""
    plain, _ = plain_type(kind)
    inside = get_args(plain) or tuple(_fields(plain).values())
    if name := step["field"]:
        inner = _fields(plain).get(name, object)
        return inner, value.get(name) if isinstance(value, dict) else None, f".{name}"
    if step["item"] == "...":
        kind_of_values = inside[-1] if inside else object
        for key, item in value.items() if isinstance(value, dict) else ():
            if not _fits(item, kind_of_values):
                return kind_of_values, item, f".{key}"
        return kind_of_values, None, ""
    number = int(step["item"])
    item = value[number] if isinstance(value, list) and number < len(value) else None
    # Of a list all are alike; a tuple, or a table that is written as a list, has one for each.
    place = 0 if get_origin(plain) is list or Ellipsis in inside else number
    return inside[place] if place < len(inside) else object, item, f"[{number}]"


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401
    try:
        # Keys of JSON are texts.
        msgspec.convert(value, kind, strict=False, str_keys=True)
    except msgspec.ValidationError:
        return False
    return True


def plain_type(kind: Any) -> tuple[Any, list[Meta]]:  # noqa: ANN401
    """Return a type without its bounds and without null, and the bounds, inner ones first."""
    bounds: list[Meta] = []
    while True:
        if get_origin(kind) is Annotated:
            bounds = [*(meta for meta in kind.__metadata__ if isinstance(meta, Meta)), *bounds]
            kind = kind.__origin__
        elif get_origin(kind) in (Union, UnionType):
            kind = next(inner for inner in get_args(kind) if inner is not NoneType)
        else:
            return kind, bounds


def dict_type(kind: Any) -> Any:  # noqa: ANN401
    """Return a type with a dictionary of its fields, none of which must be there, for each Struct.

    To decode such a one takes as long as JSON without types.
    """
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind, include_extras=True)
        fields = {name: dict_type(hint) for name, hint in hints.items()}
        return TypedDict(kind.__name__, fields, total=False)  # type: ignore[operator]
    origin = get_origin(kind)
    if origin is Annotated:
        return Annotated[(dict_type(kind.__origin__), *kind.__metadata__)]
    if origin is None or origin is Literal:
        return kind
    arguments = tuple(map(dict_type, get_args(kind)))
    return Union[arguments] if origin is UnionType else origin[arguments]  # noqa: UP007


def expected_of(kind: Any) -> str:  # noqa: ANN401
    """Return in words what a value of a type is."""
    plain, bounds = plain_type(kind)
    null = " or null" if plain is not kind and NoneType in get_args(kind) else ""
    found = dict(_bounds_of(bounds))
    if title := found.get("title"):
        return f"{title}{null}"
    if get_origin(plain) is Literal:
        words = get_args(plain)
        return f"{'one of ' if len(words) > 1 else ''}{', '.join(map(str, words))}{null}"
    if plain in (int, float) and "ge" in found and "le" in found:
        return f"{_WORDS[plain]} from {found['ge']:g} to {found['le']:g}{null}"
    noun = _WORDS.get(plain, "a table of keys")
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        config = plain.__struct_config__
        noun = f"a list of {len(plain.__struct_fields__)}" if config.array_like else noun
    if get_origin(plain) in (list, tuple):
        noun = "a list"
    if most := found.get("max_length"):
        least = f"{found['min_length']} to " if "min_length" in found else "at most "
        units = {"a list": "", "a text": " characters"}.get(noun, " keys")
        return f"{noun} of {least}{most}{units}{null}"
    return f"{noun}{null}"


def _bounds_of(metas: list[Meta]) -> Iterator[tuple[str, Any]]:
    """Yield what the bounds of a type say, inner ones first."""
    for meta in metas:
        for name in ("ge", "le", "min_length", "max_length", "title"):
            if (value := getattr(meta, name)) is not None:
                yield name, value


def _fields(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401
    known = is_dataclass(kind) or hasattr(kind, "__struct_fields__")
    return get_type_hints(kind, include_extras=True) if known else {}
