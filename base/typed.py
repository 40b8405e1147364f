"""Commands that a user is told to type: their arguments, ready to be pasted into a shell."""

from __future__ import annotations

import os
import shlex
from pathlib import Path


def as_typed(path: str | Path) -> str:
    """Return a path as an argument of a command that a shell reads.

    One that begins with a dash gets its folder, so as to be no option. One with characters that are
    not printed is written in octal digits between $' and ', which POSIX.1-2024 and bash know.
    """
    text = str(path)
    return word_as_typed(f"./{text}" if text.startswith("-") else text)


def word_as_typed(text: str) -> str:
    """Return any word of a command as it is given to a shell; unprinted characters as above."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_octal, os.fsencode(text))) + "'"


def _octal(byte: int) -> str:
    character = chr(byte)
    plain = character.isascii() and character.isprintable() and character not in "'\\"
    return character if plain else f"\\{byte:03o}"
