"""The names in a program's dynamic string table: symbols above all, and the libraries it needs.

The table is found as the loader finds it, through the program headers, so that it is there in
stripped files, too. Untrusted files are read within bounds, and never started.
"""

from __future__ import annotations

import errno
import os
import re
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from base.files import NotAFileError, open_given

# Programs have some 10 segments, 40 sections, 30 dynamic entries and 64 KiB of names, a few MiB
# with C++.
MAX_SEGMENTS = 1000
MAX_SECTIONS = 10_000
MAX_TAGS = 4096
MAX_NAMES_BYTES = 32 << 20

_NAME = re.compile(rb"[^\0]+")


class NotLookedIntoError(Exception):
    """The file's dynamic names cannot be read; says why."""


def dynamic_names(path: Path) -> frozenset[bytes]:
    """Return the names in the dynamic string table of a program or shared library.

    These are the symbols that it imports and exports, and the libraries that it needs. Raises
    NotLookedIntoError with the reason when the file is unreadable, damaged or of another kind.
    """
    try:
        # Imported here: only `advise` looks into programs.
        from elftools.common.exceptions import ELFError
        from elftools.construct import ConstructError
    except ImportError:
        raise NotLookedIntoError("the Python package pyelftools is not installed") from None
    # What pyelftools raises when it follows the offsets of a damaged file.
    damage = (ELFError, ConstructError, AssertionError, AttributeError, LookupError, TypeError)
    try:
        with os.fdopen(open_given(path), "rb") as stream:
            return _names(stream)
    except NotAFileError:
        raise NotLookedIntoError("it is no file") from None
    except OSError as error:
        # EINVAL: a damaged file has an offset that no file can have.
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
    # pyelftools goes through all sections, and a damaged file may claim any number of them.
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
    # Not split at zeros: a table of zeros would become a list of millions.
    return frozenset(name[0] for name in _NAME.finditer(names))
