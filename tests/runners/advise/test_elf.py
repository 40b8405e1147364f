"""The names that a program asks of its libraries are read, and hostile files are refused."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from runners.advise.program import dynamic_names
from runners.host.elf import UnreadableProgramError
from tests.runners.advise.programs import elf, write_elf

NAMES = ("libm.so.6", "sin", "GOMP_parallel")


def test_the_names_that_a_program_asks_for_are_read(tmp_path: Path) -> None:
    assert dynamic_names(write_elf(tmp_path / "program", NAMES)) == {
        *(b"libm.so.6", b"sin", b"GOMP_parallel")
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a script, or no program"),
        (b"#!/bin/sh\n", "a script, or no program"),
        (b"\x7fELF", "not a sound ELF file"),
        (b"\x7fELF\x02\x01\x01" + bytes(9), "not a sound ELF file"),
        (elf(NAMES)[:100], "not a sound ELF file"),
        (elf(NAMES)[:-40], "not a sound ELF file|cut short"),
    ],
)
def test_what_is_no_sound_program_has_its_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    file = tmp_path / "program"
    file.write_bytes(data)
    with pytest.raises(UnreadableProgramError, match=reason):
        dynamic_names(file)


def test_a_program_without_a_dynamic_table_is_statically_linked(tmp_path: Path) -> None:
    data = bytearray(elf(NAMES))
    data[64 + 56 : 64 + 60] = struct.pack("<I", 4)  # PT_NOTE instead of PT_DYNAMIC
    file = tmp_path / "program"
    file.write_bytes(data)
    with pytest.raises(UnreadableProgramError, match="statically linked"):
        dynamic_names(file)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(UnreadableProgramError):
            dynamic_names(path)


def test_a_file_that_claims_any_number_of_sections_is_not_gone_through(tmp_path: Path) -> None:
    data = bytearray(elf(NAMES))
    # No number of sections in the header, so that the first section has it (gABI, e_shnum).
    data[40:48] = struct.pack("<Q", len(data))
    data[58:62] = struct.pack("<HH", 64, 0)
    section = bytearray(64)
    section[32:40] = struct.pack("<Q", 1 << 40)
    file = tmp_path / "program"
    file.write_bytes(data + section)
    with pytest.raises(UnreadableProgramError, match="not a sound ELF file"):
        dynamic_names(file)
