"""Programs as ELF files (elf(5)), read within bounds and without starting them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from pinstudy.base.errors import ShortageError, is_shortage
from pinstudy.base.files import NotAFileError, open_regular

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# Programs have some 10 segments and 40 sections.
MAX_SEGMENTS = 1000
MAX_SECTIONS = 10_000

_Content = TypeVar("_Content")


class UnreadableProgramError(Exception):
    """The file cannot be read as a program; the text is the reason."""


def read_elf(path: Path, read: Callable[[ELFFile, BinaryIO], _Content]) -> _Content:
    """Return what `read` finds in an ELF file, opened as such and as bytes.

    Untrusted files are read within bounds. Raises UnreadableProgramError when the file cannot be
    read, is damaged or of another kind, ShortageError when there are too few files or memory.
    """
    try:
        # Imported here: few commands look into programs.
        from elftools.common.exceptions import ELFError
        from elftools.construct import ConstructError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise UnreadableProgramError("the Python package pyelftools is not installed") from None
    # What pyelftools raises when it follows the offsets of a damaged file.
    damage = (ELFError, ConstructError, AssertionError, AttributeError, LookupError, TypeError)
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            if stream.read(4) != b"\x7fELF":
                raise UnreadableProgramError("it is a script, or no program of this system")
            file = ELFFile(stream)
            # pyelftools goes through all sections, and a damaged file may claim any number.
            if file.num_segments() > MAX_SEGMENTS or file.num_sections() > MAX_SECTIONS:
                raise UnreadableProgramError("it is not a sound ELF file")
            return read(file, stream)
    except NotAFileError:
        raise UnreadableProgramError("it is no file") from None
    except OSError as error:
        if is_shortage(error):
            raise ShortageError(f"{path} cannot be read: {error.strerror}") from None
        # EINVAL: a damaged file has an offset that no file can have.
        if error.errno == errno.EINVAL:
            raise UnreadableProgramError("it is not a sound ELF file") from None
        raise UnreadableProgramError(error.strerror or "it cannot be read") from None
    except (*damage, ValueError, OverflowError):
        raise UnreadableProgramError("it is not a sound ELF file") from None


def has_loader(path: Path) -> bool:
    """Return whether a program names a loader for its libraries (PT_INTERP).

    Without, the kernel starts it alone: it is linked statically. Raises UnreadableProgramError when
    that is not known.
    """
    return read_elf(path, lambda file, _: next(file.iter_segments("PT_INTERP"), None) is not None)
