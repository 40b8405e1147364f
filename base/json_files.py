"""Read JSON files beside a study's results, which anybody may have written, as dataclasses."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from base.files import read_given

Table = TypeVar("Table")

# A submission is some kilobytes; a million blocks are some megabytes.
_MAX_BYTES = 64 << 20
# No file of pinstudy has a larger count, or a longer time (300 years).
_MAX_NUMBER = 10**10


def read_object(path: Path, most: int = _MAX_BYTES, links: bool = True) -> dict[str, Any]:
    """Return the JSON object in a file of at most `most` bytes; a link is followed if `links`.

    Raises OSError when it cannot be read, ValueError when it is too large or no JSON object.
    """
    raw = read_given(path, most, links)
    if len(raw) > most:
        raise ValueError("it is far too large")
    try:
        data = json.loads(raw)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is no table of fields")
    return data


def structured(kind: type[Table], data: dict[str, Any], **known: object) -> Table:
    """Return a dataclass from the fields of a JSON object, each of its declared type.

    Fields in `known` are not read from the object, and other keys of the object are ignored.
    A number is from 0 to 10^10. Raises ValueError, naming the field, for anything else.
    """
    hints = get_type_hints(kind)
    values = dict(known)
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in known:
            continue
        if field.name not in data:
            raise ValueError(f"{field.name} is missing")
        values[field.name] = _value(hints[field.name], data[field.name], field.name)
    return kind(**values)


def _value(kind: Any, value: object, name: str) -> object:  # noqa: ANN401 - any type
    """Return a JSON value as a field's type; `name` is the field's."""
    if get_origin(kind) is UnionType:
        (inner,) = (each for each in get_args(kind) if each is not type(None))
        return None if value is None else _value(inner, value, name)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_value(get_args(kind)[0], each, name) for each in value)
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        return structured(kind, value)
    allowed = (int, float) if kind is float else (kind,)
    if type(value) not in allowed or not _within_bounds(value):
        raise ValueError(f"{name} is not what it should be")
    return float(value) if kind is float else value  # type: ignore[arg-type]


def _within_bounds(value: object) -> bool:
    # NaN is not in the range either.
    return not isinstance(value, (int, float)) or 0 <= value <= _MAX_NUMBER
