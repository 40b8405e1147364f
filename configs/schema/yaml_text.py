"""From the bytes of a YAML file to its text, and from a YAML syntax error to plain words."""

from __future__ import annotations

import re
from pathlib import Path

from base.errors import Problem, UserError
from base.files import NotAFileError, read_given

# A study is a page of text; a larger file is something else, and must not fill the memory.
MAX_BYTES = 1 << 20

# What is not printable to YAML (1.1, production c-printable) and so refused by its parsers; what
# UTF-8 cannot encode is not listed. The alternatives keep the expression cheap to compile.
_NOT_PRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\ufeff|\ufffe|\uffff")


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, at most one more than MAX_BYTES of them.

    Raises UserError when it cannot be read or is no regular file (a device or a pipe never ends).
    """
    try:
        return read_given(path, MAX_BYTES)
    except NotAFileError:
        raise UserError(f"{path}: is not a file; expected a YAML file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{path}: cannot be read: {reason}") from error


def decode(data: bytes, path: str) -> tuple[str, Problem | None]:
    """Return the text of a file, or an empty one and what is wrong with its bytes."""
    if len(data) > MAX_BYTES:
        return "", Problem(path, 1, 1, f"the file is larger than {MAX_BYTES // 1024} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", errors="replace")
        byte = data[error.start]
        return "", _at_end_of(before, path, f"the byte 0x{byte:02x} is not UTF-8 text")
    bad = _NOT_PRINTABLE.search(text)
    if bad is not None:
        message = f"the character U+{ord(bad[0]):04X} cannot be part of a YAML file"
        return "", _at_end_of(text[: bad.start()], path, message)
    return text, None


def _at_end_of(before: str, path: str, message: str) -> Problem:
    line_start = before.rfind("\n") + 1
    return Problem(path, before.count("\n") + 1, len(before) - line_start + 1, message)


# Part of the parser's wording (libyaml and PyYAML share it) -> what it means to the person
# who wrote the file. The first that is found counts.
_PLAIN_WORDS = (
    ("mapping values are not allowed", "a ':' is not expected here; check the indentation of this "
     "line and the one before, or put a text that contains ': ' in quotes"),
    ("could not find expected ':'", "expected ':' after the key; write `key: value`"),
    ("expected ',' or ']'", "expected ',' or ']': the list that starts with '[' is not closed"),
    ("expected ',' or '}'", "expected ',' or '}': the table that starts with '{' is not closed"),
    ("while parsing a block collection", "expected another list item, '- …', in the column of "
     "the items before it"),
    ("expected <block end>", "expected a key in the column of the keys before it"),
    ("did not find expected key", "expected a key in the column of the keys before it"),
    ("while scanning a quoted scalar", "the quoted text that starts here is not closed"),
    ("unknown escape character", "this '\\' is not the start of an escape that YAML knows; use "
     "single quotes, where a backslash is a backslash"),
    ("did not find expected hexdecimal number", "expected hexadecimal digits after the '\\'; use "
     "single quotes, where a backslash is a backslash"),
    ("expected escape sequence of", "expected hexadecimal digits after the '\\'; use "
     "single quotes, where a backslash is a backslash"),
    ("did not find expected node content", "expected a value here"),
    ("expected the node content", "expected a value here"),
    ("block sequence entries are not allowed", "a list cannot start here; begin it on a line of "
     "its own"),
    ("found a tab", "indent with spaces; YAML takes no tabs"),
)  # fmt: skip


def plain_words(text: str, line: int, column: int, parser_words: str) -> str:
    """Return what a syntax error at this place (from 1) means, in words a user can act on."""
    lines = text.splitlines()
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    character = here[column - 1 : column]
    if "cannot start any token" in parser_words or "\t" in here[: len(here) - len(here.lstrip())]:
        if "\t" in here[:column]:
            return "indent with spaces; YAML takes no tabs"
        return f"a text cannot start with {character!r}; put it in quotes"
    for part, words in _PLAIN_WORDS:
        if part in parser_words:
            return words
    return f"this is not YAML: {parser_words}"
