"""A request to root's part: its fields, which may hold anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

# An answer's fields, and the open file that goes with it, which is closed once it is sent.
Answer = tuple[Mapping[str, Any], int | None]
# Takes a request's fields. Raises ValueError and UserError for what is refused, OSError for what
# the kernel refuses.
Handler = Callable[[Mapping[str, Any]], Answer]

_MAX_CHARACTERS = 64 * 1024
_MAX_ITEMS = 64 * 1024


def text_in(request: Mapping[str, Any], name: str) -> str:
    """Return a text of a request; raises ValueError for anything else, and for a NUL in it."""
    value = request.get(name)
    if not isinstance(value, str) or len(value) > _MAX_CHARACTERS or "\0" in value:
        raise ValueError(f"a request without {name}")
    return value


def texts_in(request: Mapping[str, Any], name: str) -> list[str]:
    """Return a list of texts of a request; raises ValueError for anything else."""
    values = request.get(name)
    if not isinstance(values, list) or len(values) > _MAX_ITEMS:
        raise ValueError(f"a request without {name}")
    return [text_in({name: value}, name) for value in values]


def switch_in(request: Mapping[str, Any], name: str) -> bool:
    """Return a truth value of a request; raises ValueError for anything else."""
    value = request.get(name)
    if not isinstance(value, bool):
        raise ValueError(f"a request without {name}")
    return value
