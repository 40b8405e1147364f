"""Recordings of memory accesses for tests, on machines whose CPU samples none.

perf records page faults with the fields that `perf c2c record` asks for, and of each sample the
address, the CPU and the data source are then replaced. What perf reads out of such a file is perf's
own doing: `perf script` and `perf c2c report` decode the numbers, whatever event they stand with.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.tools import missing, need_tool

# What `perf c2c record` asks for, of page faults.
FAULTS = ("-e", "page-faults", "-c", "1", "-d", "-W", "--phys-data", "--sample-cpu")
# PERF_MEM_NA of linux/perf_event.h, what the kernel gives where a sample has no data source.
NOTHING = 0x1E05080021

_SAMPLE = 9
_RECORD_HEADER = struct.Struct("=IHH")
_FILE_HEADER = struct.Struct("=8sQQQQQQ")
# linux/perf_event.h: where struct perf_event_attr has the fields of its samples; their bits: ip,
# pid and tid, time, address, number of the event, cpu, data source, physical address, weights.
_SAMPLE_TYPE = struct.Struct("=24xQ")
_WITH_NUMBER = 1 << 6
_EXPECTED = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 15 | 1 << 19 | 1 << 24


@dataclass(frozen=True)
class Access:
    """What is put into a sample."""

    cpu: int
    address: int
    source: int


@cache
def need_perf() -> str:
    """Return the path of a perf that may record page faults; skips the calling test without."""
    perf = need_tool("perf")
    with tempfile.TemporaryDirectory() as folder:
        record_faults(perf, Path(folder), 1)
    return perf


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
    if _fields_of(path.read_bytes()) is None:
        missing("this perf's samples of page faults have other fields")
    return path


def put_accesses(recording: Path, accesses: Sequence[Access], path: Path) -> Path:
    """Write the recording again as `path`, with these accesses first and nothing of the others."""
    data = bytearray(recording.read_bytes())
    offsets = _fields_of(data)
    assert offsets, "the samples have other fields"
    _, _, _, _, _, at, size = _FILE_HEADER.unpack_from(data)
    left = list(accesses)[::-1]
    end = at + size
    while at < end:
        kind, _, length = _RECORD_HEADER.unpack_from(data, at)
        if kind == _SAMPLE:
            access = left.pop() if left else Access(0, 0, NOTHING)
            values = (access.address, access.cpu, access.source)
            for offset, value in zip(offsets, values, strict=True):
                struct.pack_into("=Q", data, at + _RECORD_HEADER.size + offset, value)
        at += length
    assert not left, "the recording has too few samples"
    path.write_bytes(data)
    return path


def _fields_of(data: bytes | bytearray) -> tuple[int, int, int] | None:
    """Return where samples have address, CPU and data source; None where that is not known."""
    _, _, _, attributes, _, _, _ = _FILE_HEADER.unpack_from(data)
    (fields,) = _SAMPLE_TYPE.unpack_from(data, attributes)
    if fields & ~_WITH_NUMBER != _EXPECTED:
        return None
    cpu = 40 if fields & _WITH_NUMBER else 32
    return 24, cpu, cpu + 16
