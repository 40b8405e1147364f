"""The names in a program's dynamic string table: what it asks of libraries, symbols above all.

Read as the loader finds it, through the program headers, so that stripped files tell as much. A
file from anywhere is read within bounds, and is never started.

Source: Tool Interface Standard, ELF specification 1.2, book I; gABI, chapter 5 (program loading
and dynamic linking); elf(5).
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

# Programs have some 10 segments and 30 dynamic entries, 64 KiB of names, with C++ a few MiB.
MAX_SEGMENTS = 1000
MAX_DYNAMIC_BYTES = 1 << 16
MAX_NAMES_BYTES = 32 << 20

_NAME = re.compile(rb"[^\0]+")
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_STRTAB, _DT_STRSZ = 0, 5, 10


class NotLookedIntoError(Exception):
    """The file's dynamic names cannot be read, and why not."""


@dataclass(frozen=True)
class _Form:
    """How a class of ELF files is laid out: the offsets and formats of what is read."""

    header: str
    segment: str
    entry: str

    def segment_fields(self, values: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Return type, offset in the file, address and size in the file of a segment."""
        if self.entry == "qQ":
            return values[0], values[2], values[3], values[5]
        return values[0], values[1], values[2], values[4]


# After the 16 bytes of identification; then a program header; then an entry of the dynamic table.
_FORMS = {1: _Form("HHIIIIIHHH", "8I", "iI"), 2: _Form("HHIQQQIHHH", "2I6Q", "qQ")}
_ORDERS = {1: "<", 2: ">"}


def dynamic_names(path: Path) -> frozenset[bytes]:
    """Return the names in the dynamic string table of a program or shared library.

    These are the symbols that it imports and exports, and the libraries that it needs. Raises
    NotLookedIntoError with the reason for what is no such file, or not a sound one.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise NotLookedIntoError(getattr(error, "strerror", None) or str(error)) from None
    try:
        return _names(descriptor)
    except OSError as error:
        raise NotLookedIntoError(error.strerror or "it cannot be read") from None
    finally:
        os.close(descriptor)


def _names(descriptor: int) -> frozenset[bytes]:
    form, order, segments = _segments(descriptor)
    dynamic = next((at for at in segments if at[0] == _PT_DYNAMIC), None)
    if dynamic is None:
        raise NotLookedIntoError("it is statically linked")
    if dynamic[3] > MAX_DYNAMIC_BYTES:
        raise NotLookedIntoError("its dynamic table is too large")
    packed = struct.Struct(order + form.entry)
    table = _read(descriptor, dynamic[1], dynamic[3] // packed.size * packed.size)
    found: dict[int, int] = {}
    for tag, value in packed.iter_unpack(table):
        if tag == _DT_NULL:
            break
        found.setdefault(tag, value)
    if _DT_STRTAB not in found or not 0 < found.get(_DT_STRSZ, 0) <= MAX_NAMES_BYTES:
        raise NotLookedIntoError("it has no table of dynamic names")
    offset = _in_file(found[_DT_STRTAB], segments)
    names = _read(descriptor, offset, found[_DT_STRSZ])
    # No list of all: a table may be one of zeros.
    return frozenset(name[0] for name in _NAME.finditer(names))


def _segments(descriptor: int) -> tuple[_Form, str, list[tuple[int, int, int, int]]]:
    identity = os.pread(descriptor, 16, 0).ljust(16, b"\0")
    if identity[:4] != b"\x7fELF":
        raise NotLookedIntoError("it is a script, or no program of this system")
    form, order = _FORMS.get(identity[4]), _ORDERS.get(identity[5])
    if form is None or order is None:
        raise NotLookedIntoError("it is not a sound ELF file")
    header = struct.Struct(order + form.header)
    values = header.unpack(_read(descriptor, 16, header.size))
    start, size, count = values[4], values[8], values[9]
    segment = struct.Struct(order + form.segment)
    if size != segment.size or not 0 < count <= MAX_SEGMENTS:
        raise NotLookedIntoError("it is not a sound ELF file")
    table = _read(descriptor, start, size * count)
    return form, order, [form.segment_fields(each) for each in segment.iter_unpack(table)]


def _in_file(address: int, segments: list[tuple[int, int, int, int]]) -> int:
    """Return where the file has what is loaded to an address."""
    for type_, offset, start, size in segments:
        if type_ == _PT_LOAD and start <= address < start + size:
            return offset + address - start
    raise NotLookedIntoError("it is not a sound ELF file")


def _read(descriptor: int, offset: int, size: int) -> bytes:
    # Offsets are 64 bits wide in the file, and the kernel's are signed.
    if offset >= 1 << 62:
        raise NotLookedIntoError("it is not a sound ELF file")
    data = os.pread(descriptor, size, offset)
    if len(data) < size:
        raise NotLookedIntoError("it is cut short")
    return data
