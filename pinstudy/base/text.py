"""Words for messages and commands: values as they were written, counts and nouns, signals."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

MAX_SHOWN_CHARACTERS = 60
# For the own text of a command or a file in a message.
MAX_LINE_CHARACTERS = 300
_MAX_NAME = 64
# Programs are built with -march=native unless told otherwise.
_ILLEGAL = (
    " (an instruction that this CPU does not have: it was built for another; build it here with "
    "`make clean setup`)"
)


def safe_name(name: str) -> str:
    """Return a host name without characters that are special in a path or a pattern."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:_MAX_NAME]
    return safe or "node"


def shown(value: object) -> str:
    """Return a value of a file as one short line: quoted, control characters escaped."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a table of keys"
    if isinstance(value, list):
        return "a list"
    text = str(value)
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = text[:MAX_SHOWN_CHARACTERS] + "…"
    return repr(text)


def unknown_word(noun: str, word: str, known: Iterable[str], where: str = "") -> str:
    """Return the message for a word that is none of `known`, with the nearest one of them."""
    choices = list(known)
    near = nearest(word, choices)
    guess = f"; did you mean {near!r}?" if near else ""
    listed = ", ".join(choices) or "none"
    return f"{noun} {shown(word)} is not known{where}{guess} (known: {listed})"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was most likely meant to be, or None."""
    # Imported here: only a mistake needs it.
    from difflib import get_close_matches

    folded = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(word[:MAX_SHOWN_CHARACTERS].lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def printable(text: str, allowed: str = "\n\t") -> str:
    """Return a text with U+FFFD for each unprintable character, except those in `allowed`.

    Such characters control a terminal, reverse the order in which a line is read, or are parts of
    names that are not UTF-8.
    """
    if text.isprintable():
        return text
    others = {ord(c): "\ufffd" for c in set(text) if not c.isprintable() and c not in allowed}
    return text.translate(others) if others else text


def one_line(text: str, most: int | None = MAX_LINE_CHARACTERS) -> str:
    """Return a text of lines as one printable line, cut after `most` characters unless None."""
    line = printable(" ".join(text.split()))
    return line if most is None or len(line) <= most else line[:most] + "…"


def with_article(noun: str) -> str:
    """Return a lower-case noun behind `a` or `an`, as its first letter asks for."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: `1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def team_in_words(ranks: int | None, threads: int) -> str:
    """Return what runs at a time: `4 threads`, or of an MPI program `2 ranks of 4 threads`."""
    team = plural(threads, "thread")
    return f"{plural(ranks, 'rank')} of {team}" if ranks else team


def team_label(ranks: int | None, threads: int) -> str:
    """Return the same in short: `x4`, `2x4`."""
    return f"{ranks or ''}x{threads}"


def first_of(texts: Sequence[str], most: int, separator: str = "; ") -> str:
    """Return the first texts, and how many more there are: `a; b; c and 2 more`."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def as_typed(path: str | Path) -> str:
    """Return a path as an argument on a shell's command line.

    Before a leading dash it gets `./`, so that it is no option. Its unprintable characters are
    written as octal digits between $' and ', which POSIX.1-2024 and bash understand.
    """
    text = str(path)
    return word_as_typed(f"./{text}" if text.startswith("-") else text)


def word_as_typed(text: str) -> str:
    """Return any word as a shell reads it; unprintable characters as in `as_typed`."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_octal, os.fsencode(text))) + "'"


def _octal(byte: int) -> str:
    character = chr(byte)
    plain = character.isascii() and character.isprintable() and character not in "'\\"
    return character if plain else f"\\{byte:03o}"


def ended_by(number: int) -> str:
    """Return `ended by SIGKILL`, with an explanation for SIGILL."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"ended by signal {number}"
    return f"ended by {name}" + (_ILLEGAL if number == signal.SIGILL else "")
