"""Fields of the JSON files beside a study's results, which somebody else may have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from base.files import read_given

# A submission is some kilobytes; a million blocks are some megabytes.
_MOST_BYTES = 64 << 20
# Whoever counts more, or waits for longer (300 years), has not written what is read here.
_MOST = 10**10


def read_object(path: Path) -> dict[str, Any]:
    """Return what a file holds.

    Raises OSError when it cannot be read, ValueError when it is too large or no JSON object.
    """
    raw = read_given(path, _MOST_BYTES)
    if len(raw) > _MOST_BYTES:
        raise ValueError("it is far too large")
    try:
        data = json.loads(raw)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is no table of fields")
    return data


def checked(value: Any, kind: type | tuple[type, ...], name: str) -> Any:  # noqa: ANN401
    """Return a value of this kind; raises TypeError, which names the field, for any other."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{name} is not what it should be")
    return value


def checked_count(value: Any, name: str, most: int = _MOST) -> int:  # noqa: ANN401
    """Return a whole number from 0 to `most`; raises TypeError as `checked`."""
    number: int = checked(value, int, name)
    if not 0 <= number <= most:
        raise TypeError(f"{name} is not what it should be")
    return number


def checked_seconds(value: Any, name: str) -> float:  # noqa: ANN401
    """Return a time that is not negative; raises TypeError as `checked`."""
    number = checked(value, (int, float), name)
    # NaN is not in the range either.
    if not 0 <= number <= _MOST:
        raise TypeError(f"{name} is not what it should be")
    return float(number)


def checked_all(value: Any, kind: type, name: str) -> tuple[Any, ...]:  # noqa: ANN401
    """Return the values of a list, all of them of this kind; raises TypeError as `checked`."""
    return tuple(checked(each, kind, name) for each in checked(value, list, name))
