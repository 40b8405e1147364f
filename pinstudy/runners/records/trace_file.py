"""Files in `traces/`: the looks at the threads of a run, one file a run, compressed.

Times are microseconds since the program's start, or since the first look where that is not known.
"""

from __future__ import annotations

import gzip
import zlib
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from pinstudy.base.decoding import Count, Cpu, CpuList, Text, decoded

SUFFIX = ".json.gz"
# The most that is kept of a run: looks at threads, threads, and marks of regions. A look at a
# thread takes some 20 bytes of JSON.
MAX_ROWS, MAX_THREADS, MAX_MARKS = 65_536, 1024, 8192
# Many times that: what inflates to more is none of these files.
MAX_BYTES = 1 << 25
_GZIP = 16 + zlib.MAX_WBITS

_Rows = Meta(max_length=MAX_ROWS)


class TracedThread(Struct, frozen=True, omit_defaults=True):
    """A thread in columns, an entry for each look that found it.

    `looks` are numbered over all threads, from 1. `cpus` is where it ran last, `at_work` whether it
    worked or waited for a CPU only, `cpu_us` its CPU time so far.
    """

    pid: Count
    tid: Count
    name: Text
    looks: Annotated[list[Count], _Rows]
    at_us: Annotated[list[Count], _Rows]
    cpus: Annotated[list[Cpu], _Rows]
    at_work: Annotated[list[bool], _Rows]
    cpu_us: Annotated[list[Count], _Rows]
    rank: Count | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for columns that do not fit together."""
        columns = (self.looks, self.at_us, self.cpus, self.at_work, self.cpu_us)
        if not self.looks or len({len(column) for column in columns}) > 1:
            raise ValueError("looks: expected columns of one length")
        if any(after <= before for before, after in pairwise(self.looks)):
            raise ValueError("looks: expected them in their order")
        for name, column in (("at_us", self.at_us), ("cpu_us", self.cpu_us)):
            if any(after < before for before, after in pairwise(column)):
                raise ValueError(f"{name}: expected what never falls")


class RegionMark(Struct, frozen=True):
    """A mark of a region, when the program made it."""

    name: Text
    begins: bool
    at_us: Count


class TraceFile(Struct, frozen=True, kw_only=True):
    """The looks at a run; `title` is its case, `kinds` the CPUs of each core kind.

    `elapsed_us` is the program's time, None where its end was not seen. `looks` were made, and
    every `step`th is kept. `threads_left_out` and `marks_left_out` are beyond the bounds.
    """

    schema: Literal[1]
    run_id: Text
    title: Text
    started_at: Text
    kinds: dict[Text, CpuList]
    elapsed_us: Count | None = None
    looks: Count
    step: Annotated[int, Meta(ge=1, le=2**53)]
    threads: Annotated[list[TracedThread], Meta(max_length=MAX_THREADS)]
    threads_left_out: Count = 0
    marks: Annotated[list[RegionMark], Meta(max_length=MAX_MARKS)] = []
    marks_left_out: Count = 0


def packed(file: TraceFile) -> bytes:
    """Return the content of a file in `traces/`."""
    return gzip.compress(msgspec.json.encode(file), 6, mtime=0)


def unpacked(data: bytes) -> TraceFile:
    """Return what `packed` was given; raises ValueError, in one line, for anything else."""
    try:
        text = zlib.decompressobj(_GZIP).decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise ValueError(f"it is not compressed by gzip ({error})") from None
    return decoded(text, TraceFile)
