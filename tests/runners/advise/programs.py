"""Programs to advise on: requests for them, and ELF files made by hand."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pinstudy.runners.advise.program import Program
from pinstudy.runners.advise.request import Request, make_request

COMMAND = ("/bin/sh", "-c", "exit 0")
LIBGOMP = Program(Path("/bin/sh"), "libgomp", "no", "OpenMP by libgomp", "no such loops")
WITH_LOOPS = replace(LIBGOMP, loops="yes", loops_line="it has such loops")
OTHER = replace(LIBGOMP, runtime="other")
SERIAL = replace(LIBGOMP, runtime="none")


def request(*command: str, **options: Any) -> Request:  # noqa: ANN401 - as make_request
    """Return the request of these options for a command, `/bin/sh -c 'exit 0'` without one."""
    return make_request(command or COMMAND, **options)


def elf(names: Iterable[str], bits: int = 64, big: bool = False) -> bytes:
    """Return a file with these names in its dynamic string table."""
    order = ">" if big else "<"
    wide = bits == 64
    header, segment, entry = (64, 56, "qQ") if wide else (52, 32, "iI")
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    start = header + 2 * segment
    address = 0x10000
    entries = [(5, address + start), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack(order + entry, *pair) for pair in entries)
    whole = start + len(strings) + len(dynamic)
    form = order + ("2I6Q" if wide else "8I")

    def program_header(type_: int, offset: int, at: int, size: int) -> bytes:
        if wide:
            return struct.pack(form, type_, 4, offset, at, at, size, size, 8)
        return struct.pack(form, type_, offset, at, at, size, size, 4, 8)

    identity = bytes([0x7F, *b"ELF", 2 if wide else 1, 2 if big else 1, 1]) + bytes(9)
    rest = struct.pack(
        order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"),
        *(3, 62, 1, 0, header, 0, 0, header, segment, 2, 0, 0, 0),
    )
    segments = program_header(1, 0, address, whole)
    segments += program_header(2, start + len(strings), 0, len(dynamic))
    return identity + rest + segments + strings + dynamic


def write_elf(path: Path, names: Iterable[str]) -> Path:
    """Write such a file, and return where."""
    path.write_bytes(elf(names))
    path.chmod(0o755)
    return path
