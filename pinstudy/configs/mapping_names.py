"""The name of the mapping that binds nothing, and what is said of a name that no mapping has."""

from __future__ import annotations

from collections.abc import Iterable

from pinstudy.base.text import unknown_word

UNPINNED = "unpinned"
# The old name of UNPINNED, which readers of older texts still type.
_OLD_NAME = "scheduler"


def renamed(name: str) -> str | None:
    """Return the message for an old name of a mapping; None for any other name."""
    return f"the mapping `{_OLD_NAME}` is `{UNPINNED}` now" if name == _OLD_NAME else None


def unknown_mapping(name: str, known: Iterable[str], where: str = "") -> str:
    """Return the message for a mapping that is none of `known`."""
    return renamed(name) or unknown_word("mapping", name, known, where)
