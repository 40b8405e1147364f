"""Files in `c2c/`: the cache lines that the cores of a case took from each other, by perf c2c."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from pinstudy.base.decoding import Count, Cpu, Text
from pinstudy.base.text import team_in_words

# Only the lines with most HITM are kept; the others have too few to matter.
MAX_LINES = 50
# Of a row of a table, as it was written in the study.
Word = Text | int
# In `unavailable`: why there are no lines at all, and which core kinds were not sampled.
LINES, KINDS = "lines", "kinds"


class SharedLine(Struct, frozen=True):
    """A cache line: samples of it by what they are, `cpus` by the CPU, all loads and stores.

    `symbols` is the code that was at it most often.
    """

    address: Annotated[str, Meta(pattern=r"\A0x[0-9a-f]{1,16}\Z", title="a hexadecimal number")]
    hitm: Count
    local_hitm: Count
    remote_hitm: Count
    stores: Count
    cpus: dict[Cpu, Count]
    symbols: list[Text]

    def __post_init__(self) -> None:
        """Raise ValueError for samples that do not add up."""
        if not 0 < self.hitm == self.local_hitm + self.remote_hitm:
            raise ValueError("hitm: local and remote HITM do not add up")
        if sum(self.cpus.values()) < self.hitm + self.stores:
            raise ValueError("cpus: their samples do not add up")


class Sampled(Struct, frozen=True):
    """Samples of all lines, by what they are."""

    samples: Count
    loads: Count
    stores: Count
    hitm: Count
    local_hitm: Count
    remote_hitm: Count

    def __post_init__(self) -> None:
        """Raise ValueError for samples that do not add up."""
        if not self.hitm == self.local_hitm + self.remote_hitm <= self.loads:
            raise ValueError("hitm: local and remote HITM do not add up")


class SampledRanks(Struct, frozen=True):
    """The ranks of what was run."""

    number: Annotated[int, Meta(ge=1, le=2**53)]


class SampledCase(Struct, frozen=True):
    """What was run under perf c2c."""

    app: Word
    build: Word
    size: Word
    threads: Annotated[int, Meta(ge=1, le=2**53)]
    mapping: Word
    schedule: Word
    wait_policy: Word
    governor: Word
    settings: dict[Text, Text] = {}
    ranks: SampledRanks | None = None
    no_schedule: bool = False

    @property
    def team_in_words(self) -> str:
        """What ran at a time: `4 threads`, `2 ranks of 4 threads`."""
        return team_in_words(self.ranks.number if self.ranks else None, self.threads)


class C2cFile(Struct, frozen=True, kw_only=True):
    """A case's execution under `perf c2c`; `lines` are those with most HITM, in their order."""

    schema: Literal[1]
    case_id: Text
    case: SampledCase
    started_at: Text
    sampled: Sampled | None = None
    lines: Annotated[list[SharedLine], Meta(max_length=MAX_LINES)] = []
    lines_left_out: Count = 0
    unavailable: dict[str, Text]

    def __post_init__(self) -> None:
        """Raise ValueError for lines that contradict each other, or what was sampled."""
        if LINES in self.unavailable:
            return
        if self.sampled is None:
            raise ValueError("sampled is missing")
        hitm = [line.hitm for line in self.lines]
        if hitm != sorted(hitm, reverse=True):
            raise ValueError("lines: expected the lines in the order of their HITM")
        if len({line.address for line in self.lines}) != len(self.lines):
            raise ValueError("lines: expected no line twice")
        total, left_out = self.sampled.hitm, self.lines_left_out
        if sum(hitm) + left_out > total or (sum(hitm) < total and not left_out):
            raise ValueError("sampled.hitm: that of the lines does not add up")


class NoC2cFile(Struct, frozen=True):
    """Why a node has no such files."""

    schema: Literal[1]
    unavailable: dict[str, Text]
