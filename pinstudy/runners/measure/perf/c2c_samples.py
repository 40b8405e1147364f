"""Memory accesses that perf has sampled, and the contended cache lines among them. Pure.

Each line of `perf script` is one access, and has the source of the data twice: as the kernel's
number and in perf's words. Only the number is used: its bits are fixed (Linux
include/uapi/linux/perf_event.h, union perf_mem_data_src), while words and columns, above all those
of `perf c2c report`, change from version to version. The words must agree with the number. One line
where they do not, or that is no sample, invalidates the whole recording. A HITM is a load of a line
that was modified in another core's cache.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Literal

from msgspec import to_builtins

from pinstudy.base.text import one_line
from pinstudy.runners.records.c2c_file import MAX_LINES, Sampled, SharedLine

# perf prints the fields in this order, whatever order is requested.
FIELDS = "cpu,event,addr,data_src,ip,sym"
# What perf prints for code without a symbol.
UNKNOWN = "[unknown]"

# `[002] cpu/mem-loads,ldlat=30/P:   7f01 10668100842 |OP LOAD|LVL L3 …|BLK  N/A   55d0a0 main`;
# software events have a symbol behind the first address, and perf cuts the words where they are
# too many.
_LINE = re.compile(
    r"\s*\[(?P<cpu>[0-9]{1,5})\]\s+\S{1,200}:\s+(?P<address>[0-9a-f]{1,16})\s"
    r"[^|]*?(?P<source>[0-9a-f]{1,16}) \|OP (?P<op>[^|]{1,60})\|(?P<words>.{1,200}?)"
    r"\s(?P<ip>[0-9a-f]{4,16}) (?P<symbol>.*)"
)
_SNOOP = re.compile(r"\|SNP ([^|]*)\|")
_LONGEST_LINE = 8192
# Twenty minutes at perf's 4000 samples a second.
MAX_SAMPLES = 5_000_000
MAX_SYMBOLS = 5
_MAX_SYMBOL_CHARACTERS = 120
_MAX_SHOWN = 80

_LOAD, _STORE = 0x02, 0x04
_L2_OR_L3 = 0x20 | 0x40
_REMOTE_CACHE = 0x400 | 0x800
_HITM = 0x10
_LEVEL_NUMBERS_L2_TO_L4 = (2, 3, 4)
_HOPS_IN_THE_NODE = 1

Hitm = Literal["", "local", "remote"]


class NotUnderstoodError(Exception):
    """A recording has an unexpected form, so none of its numbers can be trusted."""


@dataclass(frozen=True)
class MemorySample:
    """One sampled access: the CPU it was made on, the address, the code's symbol.

    `source` is the kernel's number (data_src) for the operation and where its data came from.
    """

    cpu: int
    address: int
    source: int
    symbol: str

    @property
    def load(self) -> bool:
        """Whether the access reads."""
        return bool(self.source & _LOAD)

    @property
    def store(self) -> bool:
        """Whether the access writes and does not read."""
        return bool(self.source & _STORE) and not self.load

    @property
    def hitm(self) -> Hitm:
        """Where this load found the line modified in another core's cache; empty if it did not.

        `local` is in the same NUMA node, be it in a second-level cache that cores share or behind
        the third level; `remote` is in another node. A line that was modified in the core's own
        first-level cache, which Arm marks too, was not fetched from another core.
        """
        if not (self.load and self.source >> 19 & _HITM):
            return ""
        level, number = self.source >> 5 & 0x3FFF, self.source >> 33 & 0xF
        remote, hops = self.source >> 37 & 1, self.source >> 43 & 7
        if hops:
            return "local" if hops == _HOPS_IN_THE_NODE else "remote"
        # AMD before Zen 4 sets both: the third level, or another core's cache in the same node.
        if level & _L2_OR_L3:
            return "local"
        if level & _REMOTE_CACHE or remote:
            return "remote"
        return "local" if number in _LEVEL_NUMBERS_L2_TO_L4 else ""


def lines_of(stream: IO[bytes]) -> Iterator[str]:
    """Yield the lines of what perf printed; raises NotUnderstoodError for one that is too long."""
    while line := stream.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise NotUnderstoodError(f"a line of more than {_LONGEST_LINE} bytes")
        yield line.decode(errors="replace")


def read_samples(lines: Iterable[str]) -> Iterator[MemorySample]:
    """Yield the samples that `perf script -F` FIELDS has printed.

    Raises NotUnderstoodError for a line that is no sample, or contradicts itself, and for more than
    MAX_SAMPLES.
    """
    number = 0
    for line in lines:
        if not line.strip():
            continue
        number += 1
        if number > MAX_SAMPLES:
            raise NotUnderstoodError(f"more than {MAX_SAMPLES} samples")
        yield _sample(line)


def _sample(line: str) -> MemorySample:
    found = _LINE.fullmatch(line.rstrip("\n"))
    if found is None:
        raise NotUnderstoodError(f"{_shown(line)} is no sample of a memory access")
    sample = MemorySample(
        cpu=int(found["cpu"]),
        address=int(found["address"], 16),
        source=int(found["source"], 16),
        symbol=one_line(found["symbol"], _MAX_SYMBOL_CHARACTERS),
    )
    snoop = _SNOOP.search(found["words"])
    agree = found["op"].startswith("LOAD") == sample.load
    if snoop:
        agree = agree and ("HitM" in snoop[1]) == bool(sample.source >> 19 & _HITM)
    if not agree:
        raise NotUnderstoodError(f"number and words contradict each other in {_shown(line)}")
    return sample


def _shown(line: str) -> str:
    return ascii(" ".join(line.split())[:_MAX_SHOWN])


def contended_lines(
    samples: Callable[[], Iterator[MemorySample]], line_bytes: int
) -> dict[str, Any]:
    """Return `sampled`, `lines` and `lines_left_out`, as docs/threads-and-lines.md describes them.

    `samples` gives the same samples each time it is called. They are read twice, so that accesses
    are collected only for the few lines that matter. All numbers are counts of samples. Raises what
    `samples` raises.
    """
    sampled: Counter[str] = Counter()
    local: Counter[int] = Counter()
    remote: Counter[int] = Counter()
    for sample in samples():
        sampled["samples"] += 1
        sampled["loads"] += sample.load
        sampled["stores"] += sample.store
        # An access without an address belongs to no line.
        if sample.address and sample.hitm:
            (local if sample.hitm == "local" else remote)[sample.address // line_bytes] += 1
    hitm = local + remote
    kept = sorted(hitm, key=lambda line: (-hitm[line], line))[:MAX_LINES]
    stores: Counter[int] = Counter()
    cpus: dict[int, Counter[int]] = {line: Counter() for line in kept}
    symbols: dict[int, Counter[str]] = {line: Counter() for line in kept}
    for sample in samples() if kept else ():
        line = sample.address // line_bytes
        if line in cpus and sample.address and (sample.load or sample.store):
            stores[line] += sample.store
            cpus[line][sample.cpu] += 1
            if sample.symbol != UNKNOWN:
                symbols[line][sample.symbol] += 1
    counted = Sampled(
        sampled["samples"],
        sampled["loads"],
        sampled["stores"],
        hitm.total(),
        local.total(),
        remote.total(),
    )
    lines = [
        SharedLine(
            address=f"{line * line_bytes:#x}",
            hitm=hitm[line],
            local_hitm=local[line],
            remote_hitm=remote[line],
            stores=stores[line],
            cpus=dict(sorted(cpus[line].items())),
            symbols=[name for name, _ in symbols[line].most_common(MAX_SYMBOLS)],
        )
        for line in kept
    ]
    found = {"sampled": counted, "lines": lines, "lines_left_out": len(hitm) - len(kept)}
    fields: dict[str, Any] = to_builtins(found, str_keys=True)
    return fields
