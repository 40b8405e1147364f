"""Extracts the ELF kernel from a bzImage, so that QEMU boots it by PVH without decompression.

usage: python -m pinstudy.runners.vm.vmlinux BZIMAGE OUTPUT

This saves about three seconds per emulated boot. The layout is that of Linux
Documentation/x86/boot.rst: setup_sects at 0x1f1, payload_offset and payload_length at 0x248.
"""

from __future__ import annotations

import lzma
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from pinstudy.base.files import write_whole

SECTOR = 512
HEADER_END = 0x250
DEFAULT_SETUP_SECTORS = 4
LENGTH_AT_THE_END = 4


def vmlinux(image: bytes) -> bytes:
    """Return the ELF kernel; raises ValueError for no bzImage or an unknown compression."""
    if image[0x202:0x206] != b"HdrS" or len(image) < HEADER_END:
        raise ValueError("is no bzImage")
    sectors = image[0x1F1] or DEFAULT_SETUP_SECTORS
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * SECTOR + offset
    # The kernel's uncompressed length follows some kinds of payload.
    kernel = decompressed(image[start : start + length], behind=LENGTH_AT_THE_END)
    if kernel[:4] != b"\x7fELF":
        raise ValueError("holds no ELF kernel")
    return kernel


def decompressed(payload: bytes, behind: int = 0) -> bytes:
    """Decompress xz, gzip, zstd or lz4 data, which `behind` other bytes follow in the payload.

    Raises ValueError for any other format, for truncated or damaged data, and when the program
    `zstd` or `lz4` cannot read it.
    """
    if payload.startswith(b"\xfd7zXZ\0"):
        return _whole(lzma.LZMADecompressor(), payload)
    if payload.startswith(b"\x1f\x8b"):
        return _whole(zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), payload)
    for magic, command in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x02\x21\x4c\x18", "lz4")):
        if payload.startswith(magic):
            packed = payload[: len(payload) - behind]
            try:
                done = subprocess.run(
                    [command, "-dc"], input=packed, capture_output=True, check=True
                )
            except (OSError, subprocess.CalledProcessError) as error:
                raise ValueError(f"cannot be decompressed by {command}: {error}") from error
            return done.stdout
    raise ValueError("is compressed in an unknown way")


def _whole(decompressor: lzma.LZMADecompressor | zlib._Decompress, payload: bytes) -> bytes:
    try:
        data = decompressor.decompress(payload)
    except (lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"cannot be decompressed: {error}") from error
    if not decompressor.eof:
        raise ValueError("cannot be decompressed: it is cut off")
    return data


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    write_whole(target, vmlinux(source.read_bytes()))
