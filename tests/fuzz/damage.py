"""What can be wrong with a file: other bytes in it, or something else in its place."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

# Replacements of texts: control characters, right-to-left, HTML, formulas, other digits.
HOSTILE = (
    b"\x1b[31m\x1b]0;x\x07",
    "\u202e\u2066\u200b\u009b31m\u0085".encode(),
    b"<script>alert(1)</script>",
    b"=cmd|'/c calc'!A1",
    "\u0663\uff13\u00b2".encode(),
    b"\xff\xfe\xc3(",
    b"\x00",
    b"{{7*7}}",
    b"'\"`$(x)\\",
)
# Replacements of numbers.
NUMBERS = (
    b"-1", b"0", b"NaN", b"-Infinity", b"1e400", b"9" * 5000, b"1_000", b"0o10", b"010", b"1:30",
    b"1,5", b"true", b"\"3\"", b"null", b"[]", b"{}", "\u0663".encode(), b"0x10", b"1e5", b"3.5",
    b"99999999999999999999999",
)  # fmt: skip

Bytes = Callable[[bytes, random.Random], bytes]


def _place(data: bytes, chance: random.Random) -> int:
    return chance.randrange(len(data) + 1)


def _replacing(pattern: re.Pattern[bytes], news: Sequence[bytes]) -> Bytes:
    """Return a change that replaces a match of the pattern by one of `news`."""

    def change(data: bytes, chance: random.Random) -> bytes:
        places = [match.span() for match in pattern.finditer(data)] or [(len(data), len(data))]
        start, end = chance.choice(places)
        return data[:start] + chance.choice(news) + data[end:]

    return change


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(min(8, len(changed))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _twice(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b"\n"]
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], lines[at], *lines[at:]])


def _swapped(data: bytes, chance: random.Random) -> bytes:
    """Replace a piece of the data by another piece."""
    start, end = sorted((_place(data, chance), _place(data, chance)))
    at = _place(data, chance)
    return data[:at] + data[start:end][:2000] + data[at + chance.randrange(40) :]


CHANGES: Mapping[str, Bytes] = {
    "cut": lambda data, chance: data[: _place(data, chance)],
    "inserted": _replacing(re.compile(b""), HOSTILE),
    "hostile text": _replacing(re.compile(rb"[A-Za-z_][\w-]{2,}"), HOSTILE),
    "hostile number": _replacing(re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])"), NUMBERS),
    "flipped": _flipped,
    "a line twice": _twice,
    "swapped": _swapped,
}
FIXED: Mapping[str, bytes] = {
    "empty": b"",
    "a newline": b"\n",
    "NUL": b"\x00" * 4096,
    "binary": bytes(range(256)) * 16,
    "negative": b"-5\n",
    "overflow": b"99999999999999999999999999999999999999\n",
    "digits": b"9" * 100_000,
    "other digits": "\u0663\u0664\n".encode(),
    "deep": b"[" * 100_000,
    "deep tables": b'{"a":' * 100_000,
    "null": b"null",
    "list": b"[1]",
    "table": b"{}",
    "UTF-16": "schema: 1\n".encode("utf-16"),
    "BOM": b"\xef\xbb\xbf{}",
    "a long line": b"a" * 3_000_000,
    "words": b"a b c\n" * 1000,
}


def _link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _forbidden(path: Path) -> None:
    path.write_bytes(b"1")
    path.chmod(0)


OTHERS: Mapping[str, Callable[[Path], None]] = {
    "missing": lambda _path: None,
    "a folder": Path.mkdir,
    "a FIFO": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": _link_to("/nowhere/at/all"),
    "a link to /dev/zero": _link_to("/dev/zero"),
    "a link to a terminal": _link_to("/dev/tty"),
    "a link to /etc/shadow": _link_to("/etc/shadow"),
    "a link to a kernel file": _link_to("/proc/kmsg"),
    "forbidden": _forbidden,
}
NAMES = (*CHANGES, *FIXED, *OTHERS)


@contextmanager
def damaged(path: Path, how: str, seed: int) -> Iterator[None]:
    """Damage a file while the context lasts."""
    data = path.read_bytes()
    _remove(path)
    if how in OTHERS:
        OTHERS[how](path)
    else:
        change = CHANGES.get(how)
        path.write_bytes(change(data, random.Random(seed)) if change else FIXED[how])
    try:
        yield
    finally:
        _remove(path)
        path.write_bytes(data)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
