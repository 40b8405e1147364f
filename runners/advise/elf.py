"""The names in a program's dynamic string table: what it asks of libraries, symbols above all.

Read as the loader finds it, through the program headers, so that stripped files tell as much. A
file from anywhere is read within bounds, and is never started.
"""

from __future__ import annotations

import errno
import os
import re
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from base.files import NotAFileError, open_given

# Programs have some 10 segments, 40 sections and 30 dynamic entries; 64 KiB of names, with C++ a
# few MiB.
MAX_SEGMENTS = 1000
MAX_SECTIONS = 10_000
MAX_TAGS = 4096
MAX_NAMES_BYTES = 32 << 20

_NAME = re.compile(rb"[^\0]+")


class NotLookedIntoError(Exception):
    """The file's dynamic names cannot be read, and why not."""


def dynamic_names(path: Path) -> frozenset[bytes]:
    """Return the names in the dynamic string table of a program or shared library.

    These are the symbols that it imports and exports, and the libraries that it needs. Raises
    NotLookedIntoError with the reason for what is no such file, or not a sound one.
    """
    try:
        # Imported here: only `advise` looks into programs.
        from elftools.common.exceptions import ELFError
        from elftools.construct import ConstructError
    except ImportError:
        raise NotLookedIntoError("the Python package pyelftools is not installed") from None
    # What reading a damaged file by offsets from itself may lead to.
    damage = (ELFError, ConstructError, AssertionError, AttributeError, LookupError, TypeError)
    try:
        with os.fdopen(open_given(path), "rb") as stream:
            return _names(stream)
    except NotAFileError:
        raise NotLookedIntoError("it is no file") from None
    except OSError as error:
        # A read at an offset that no file has is EINVAL.
        if error.errno == errno.EINVAL:
            raise NotLookedIntoError("it is not a sound ELF file") from None
        raise NotLookedIntoError(error.strerror or "it cannot be read") from None
    except (*damage, ValueError, OverflowError):
        raise NotLookedIntoError("it is not a sound ELF file") from None


def _names(stream: BinaryIO) -> frozenset[bytes]:
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile

    if stream.read(4) != b"\x7fELF":
        raise NotLookedIntoError("it is a script, or no program of this system")
    file = ELFFile(stream)
    # The library goes through all sections, of which a damaged file may claim any number.
    if file.num_segments() > MAX_SEGMENTS or file.num_sections() > MAX_SECTIONS:
        raise NotLookedIntoError("it is not a sound ELF file")
    dynamic = next(file.iter_segments("PT_DYNAMIC"), None)
    if not isinstance(dynamic, DynamicSegment):
        raise NotLookedIntoError("it is statically linked")
    tags = {tag.entry.d_tag: tag.entry.d_val for tag in islice(dynamic.iter_tags(), MAX_TAGS)}
    size = tags.get("DT_STRSZ", 0)
    if "DT_STRTAB" not in tags or not 0 < size <= MAX_NAMES_BYTES:
        raise NotLookedIntoError("it has no table of dynamic names")
    offset = next(file.address_offsets(tags["DT_STRTAB"], 1), None)
    if offset is None:
        raise NotLookedIntoError("it is not a sound ELF file")
    stream.seek(offset)
    names = stream.read(size)
    if len(names) < size:
        raise NotLookedIntoError("it is cut short")
    # No list of all: a table may be one of zeros.
    return frozenset(name[0] for name in _NAME.finditer(names))
