"""`perf c2c`: whether it can record here, its commands, and the contended lines of a recording.

Each line of `perf script` is one access, and has the source of the data twice: as the kernel's
number and in perf's words. Only the number is used: its bits are fixed (Linux
include/uapi/linux/perf_event.h, union perf_mem_data_src), while words and columns, above all those
of `perf c2c report`, change from version to version. The words must agree with the number. One line
where they do not, or that is no sample, invalidates the whole recording. A HITM is a load of a line
that was modified in another core's cache.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from msgspec import to_builtins

from pinstudy.base.command import CommandResult, ask, output_of, run
from pinstudy.base.reading import Unavailable
from pinstudy.base.text import one_line, plural
from pinstudy.runners.host.privileges import root_helper
from pinstudy.runners.host.root_helper import RefusedError
from pinstudy.runners.host.starter import folder_prefix
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.perf.events import (
    OUTPUT,
    kinds_of_pmus,
    read_permission,
    unsupported_reason,
)
from pinstudy.runners.measure.perf.stat import FOLDER, perf_environment
from pinstudy.runners.node.cpuinfo import first_block, number
from pinstudy.runners.node.topology import CoreKind
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


TRIAL_LIMIT_S = 20.0
READ_LIMIT_S = 300.0
MAX_BYTES = 2 * 1024**3
MAX_EVENTS = 20
# `perf c2c record` also samples physical addresses, which the kernel hides from users.
NEEDS = "perf c2c needs kernel.perf_event_paranoid at most 1, or CAP_PERFMON"
_NO_EVENT = "not supported"
# User space alone, if possible: under older kernels AMD's sampling cannot exclude the kernel.
MODES: tuple[tuple[str, ...], ...] = (("-u",), ())
_LINE_BYTES = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size"
# Linux arch/x86/kernel/cpu/amd.c: the models of family 0x19 that are Zen 3.
_ZEN3_MODELS = (range(0x10), range(0x20, 0x60))
# Linux tools/perf/util/header.h, struct perf_file_header: the size of the data stands at byte 48.
_DATA_SIZE = struct.Struct("=48xQ")


def try_c2c(perf: str, root: Path) -> tuple[str, ...] | str:
    """Return the options of the first mode in which `perf c2c record` works, or why it does not.

    Records the program `true`; some 10 ms where perf refuses. `root` is the tree that describes
    the CPU and the permissions of this process.
    """
    if problem := _without_hitm(root):
        return problem
    problems = []
    for modes in MODES:
        if not (problem := _trial_problem(perf, modes)):
            return modes
        problems.append(problem)
    # Permission does not help where perf has found no event that samples.
    if read_permission(root).user_only and _NO_EVENT not in problems[0]:
        return f"{NEEDS} ({problems[0]})"
    return f"perf c2c record: {problems[0]} ({unsupported_reason(root)})"


def _trial_problem(perf: str, modes: Sequence[str]) -> str:
    helper = root_helper()
    if helper is None or perf != helper.program("perf"):
        return trial_problem(perf, modes)
    try:
        return str(helper.ask("c2c-trial", modes=list(modes))[0]["problem"])
    except (OSError, RefusedError) as error:
        return str(error)


def trial_problem(perf: str, modes: Sequence[str]) -> str:
    """Return why `perf c2c record` does not work in these modes; empty when it does."""
    with (
        tempfile.TemporaryDirectory(prefix=folder_prefix()) as folder,
        (Path(folder) / "true.data").open("w+b") as recording,
    ):
        number = recording.fileno()
        words = record_command(perf, modes)
        named = (f"/proc/self/fd/{number}" if word == OUTPUT else word for word in words)
        command = [*named, "--", "true"]
        environment = perf_environment()
        done = ask(command, TRIAL_LIMIT_S, environment=environment, pass_fds=(number,), cwd=FOLDER)
    return _failure_of(done)


def record_command(perf: str, modes: Sequence[str]) -> tuple[str, ...]:
    """Return the command that records samples in these modes, for a PerfStat."""
    # -B: without it perf would read every file that the program has mapped, and keep copies of
    # them in the user's home. Root's perf would tell of all BPF programs.
    return (perf, "c2c", "record", *modes, "--", "-B", "--no-bpf-event", "-o", OUTPUT)


def line_bytes(root: Path) -> int:
    """Return the bytes of a cache line, or 64 if the tree has no valid size."""
    found = Tree(root).integer(_LINE_BYTES)
    return 64 if isinstance(found, Unavailable) or not 16 <= found <= 1024 else found


def read_recording(perf: str, recording: Path, bytes_of_line: int) -> dict[str, Any] | str:
    """Return `events` and the fields of `contended_lines`, or why there are none.

    The samples that perf prints are written into a file beside the recording.
    """
    try:
        with recording.open("rb") as stream:
            head = stream.read(_DATA_SIZE.size)
        size = recording.stat().st_size
    except OSError as error:
        return f"perf has left no recording ({error.strerror})"
    if len(head) < _DATA_SIZE.size or not _DATA_SIZE.unpack(head)[0]:
        return "perf has recorded nothing, or could not end its recording"
    if size > MAX_BYTES:
        return f"the recording has {size} bytes, more than {MAX_BYTES}; a shorter size has fewer"
    events = output_of([perf, "evlist", "-i", str(recording)], perf_environment())
    printed = recording.with_suffix(".txt")
    problem = _print_samples(perf, recording, printed)
    if problem:
        return problem
    try:
        counted = contended_lines(partial(_samples, printed), bytes_of_line)
    except NotUnderstoodError as error:
        return f"not understood: {error}"
    if not counted["sampled"]["loads"]:
        found = plural(counted["sampled"]["samples"], "sample")
        return f"perf recorded no load ({found}); the program may have been too short"
    names = [line.strip() for line in (events or "").splitlines()[:MAX_EVENTS]]
    return {"events": [name for name in names if name.isprintable() and name], **counted}


def kinds_sampled(
    events: Iterable[str], pmus: Mapping[str, Iterable[int] | None], kinds: Sequence[CoreKind]
) -> tuple[str, ...] | None:
    """Return the core kinds whose loads some event samples; None if the events do not show it.

    On a hybrid node each core PMU has its own event, `cpu_atom/mem-loads…/`; an event of any other
    PMU (AMD's `ibs_op//`) covers all CPUs.
    """
    every = tuple(kind.name for kind in kinds)
    loads = [event for event in events if "stores" not in event]
    named = {event.partition("/")[0] for event in loads if "/" in event}
    by_pmu = kinds_of_pmus(pmus, kinds)
    if named.intersection(by_pmu):
        covered = {kind for pmu in named for kind in by_pmu.get(pmu, ())}
        return tuple(kind for kind in every if kind in covered)
    return every if named or len(every) == 1 else None


def _without_hitm(root: Path) -> str:
    """Return why this CPU's samples do not show HITM; empty if they may.

    Such samples could be recorded, but every count of HITM would be a 0 that was not measured.
    """
    block = first_block(Tree(root))
    if "CPU implementer" in block:
        return (
            "samples of Arm's SPE tell that another core had the line (peer snoop), not that it "
            "had been modified there"
        )
    model = number(block, "model")
    is_amd = block.get("vendor_id") == "AuthenticAMD" and number(block, "cpu family") == 0x19
    if is_amd and any(model in models for models in _ZEN3_MODELS):
        return "perf c2c does not support AMD's Zen 3, whose samples do not tell it (perf-c2c(1))"
    return ""


def _print_samples(perf: str, recording: Path, printed: Path) -> str:
    """Let perf print the samples into a file; return why that failed, or empty."""
    command = [perf, "script", "-i", str(recording), "-F", FIELDS]
    try:
        with printed.open("wb") as out:
            done = run(command, READ_LIMIT_S, environment=perf_environment(), write=out)
    except OSError as error:
        return f"perf script: {error.strerror}"
    return f"perf script: {_failure_of(done)}" if done.failed else ""


def _samples(printed: Path) -> Iterator[MemorySample]:
    with printed.open("rb") as stream:
        yield from read_samples(lines_of(stream))


def _failure_of(done: CommandResult) -> str:
    """Return why perf failed, from its own message if there is one; empty if it did not fail."""
    if not done.failed:
        return ""
    words = one_line(done.stderr).removeprefix("failed: ")
    return done.problem or words or f"exit status {done.status}"
