"""Recordings of memory accesses for tests, on machines whose CPU samples none.

perf records page faults with the fields that `perf c2c record` asks for, and of each sample the
address, the CPU and the data source are then replaced. What perf reads out of such a file is perf's
own doing: `perf script` and `perf c2c report` decode the numbers, whatever event they stand with.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tools import missing

# What `perf c2c record` asks for, of page faults.
FAULTS = ("-e", "page-faults", "-c", "1", "-d", "-W", "--phys-data", "--sample-cpu")
# PERF_MEM_NA of linux/perf_event.h, what the kernel gives where a sample has no data source.
NOTHING = 0x1E05080021

_SAMPLE = 9
_SAMPLE_TYPE = b"IP|TID|TIME|ADDR|CPU|DATA_SRC|PHYS_ADDR|WEIGHT_STRUCT,"
# linux/perf_event.h: ip, pid and tid, time, address, cpu, weight, data source, physical address.
_FIELDS = struct.Struct("=QQQQIIQQQ")
_FILE_HEADER = struct.Struct("=8sQQQQQQ")
_RECORD_HEADER = struct.Struct("=IHH")


@dataclass(frozen=True)
class Access:
    """What is put into a sample."""

    cpu: int
    address: int
    source: int


def record_faults(perf: str, folder: Path, accesses: int) -> Path:
    """Record at least so many page faults; return the recording.

    Skips the calling test where perf may not, or does it in another way.
    """
    path = folder / "faults.data"
    # Each page that is written for the first time is a fault.
    touch = f"b = bytearray({accesses} * 4096)\nfor i in range(0, len(b), 4096): b[i] = 1"
    program = ("python3", "-S", "-c", touch)
    done = subprocess.run(
        [perf, "record", *FAULTS, "-B", "-o", str(path), "--", *program],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        missing(f"this perf may not record page faults: {done.stderr.decode(errors='replace')}")
    listed = subprocess.run(
        [perf, "evlist", "-v", "-i", str(path)], check=True, capture_output=True
    )
    if _SAMPLE_TYPE not in listed.stdout:
        missing("this perf's samples of page faults have other fields")
    return path


def put_accesses(recording: Path, accesses: Sequence[Access], path: Path) -> Path:
    """Write the recording again as `path`, with these accesses first and nothing of the others."""
    data = bytearray(recording.read_bytes())
    _, _, _, _, _, at, size = _FILE_HEADER.unpack_from(data)
    left = list(accesses)[::-1]
    end = at + size
    while at < end:
        kind, _, length = _RECORD_HEADER.unpack_from(data, at)
        if kind == _SAMPLE:
            assert length == _RECORD_HEADER.size + _FIELDS.size
            fields = list(_FIELDS.unpack_from(data, at + _RECORD_HEADER.size))
            access = left.pop() if left else Access(0, 0, NOTHING)
            fields[3], fields[4], fields[7] = access.address, access.cpu, access.source
            _FIELDS.pack_into(data, at + _RECORD_HEADER.size, *fields)
        at += length
    assert not left, "the recording has too few samples"
    path.write_bytes(data)
    return path
