"""`perf c2c` as it is installed here: what it refuses, and what it makes of a recording."""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.runners.measure.perf.c2c import (
    NEEDS,
    MemorySample,
    NotUnderstoodError,
    contended_lines,
    kinds_sampled,
    line_bytes,
    lines_of,
    read_recording,
    read_samples,
    try_c2c,
)
from pinstudy.runners.node.topology import CoreKind
from pinstudy.runners.records.c2c_file import MAX_LINES
from tests.runners.c2c_recordings import Access, put_accesses, record_faults
from tests.runners.fake_commands import install
from tests.support.tools import ROOT, need_tool
from tests.support.trees import CPU, build_tree, write

DATA = ROOT / "tests" / "data" / "c2c"
REFUSED, DENIED = DATA / "refused-guest.txt", DATA / "refused-permission.txt"
LOCAL, REMOTE, L1, STORE, NOTHING = (
    *(0x629800842, 0x2000000000 | 0x600000000 | 0x800000 | 0x8042),
    *(0x1026A100142, 0x229080144, 0x1E05080021),
)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The real perf, and a recording of its with room for accesses."""
    perf = need_tool("perf")
    return perf, record_faults(perf, tmp_path_factory.mktemp("c2c"), 100)


def guest(tmp_path: Path, paranoid: int = 2, capabilities: str = "000001ffffffffff") -> Path:
    root = build_tree(tmp_path, "kvm-guest")
    write(root, "proc/sys/kernel/perf_event_paranoid", paranoid)
    write(root, "proc/self/status", f"CapEff:\t{capabilities}")
    return root


accesses = st.lists(
    st.builds(
        Access,
        cpu=st.integers(0, max(0, (os.cpu_count() or 1) - 1)),
        address=st.integers(0x7F0000001000, 0x7F0000001000 + 64 * 6),
        source=st.sampled_from([LOCAL, LOCAL, REMOTE, L1, STORE, NOTHING]),
    ),
    min_size=1,
    max_size=100,
)


# Each example is two runs of perf.
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(accesses)
def test_perfs_own_report_has_the_same_hitm(faults: tuple[str, Path], put: list[Access]) -> None:
    perf, empty = faults
    recording = put_accesses(empty, put, empty.with_name("put.data"))
    found = read_recording(perf, recording, 64)
    if all(access.source in (STORE, NOTHING) for access in put):
        assert isinstance(found, str) and "no load" in found
        return
    assert isinstance(found, dict), found
    command = [perf, "c2c", "report", "--stdio", "--no-source", "-i", str(recording)]
    report = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C"}
    ).stdout
    for name, label in (("local_hitm", "Load Local HITM"), ("remote_hitm", "Load Remote HITM")):
        printed = re.search(rf"^ +{label} +: +(\d+)$", report, re.MULTILINE)
        assert printed and found["sampled"][name] == int(printed[1])
    by_line: Counter[str] = Counter()
    for row in re.finditer(
        r"^ +\d+ +(0x[0-9a-f]+) +\S+ +\d+ +[0-9.]+% +(\d+) ", report, re.MULTILINE
    ):
        by_line[row[1]] += int(row[2])
    assert {line["address"]: line["hitm"] for line in found["lines"]} == by_line
    assert found["events"] == ["page-faults"]
    for line in found["lines"]:
        at = int(line["address"], 16) // 64
        cpus = Counter(
            str(access.cpu)
            for access in put
            if access.address // 64 == at and access.source != NOTHING
        )
        assert line["cpus"] == cpus


def test_a_torn_recording_is_a_reason(faults: tuple[str, Path], tmp_path: Path) -> None:
    perf, empty = faults
    whole = empty.read_bytes()
    torn = tmp_path / "torn.data"
    for data, reason in (
        (b"", "could not end"),
        (whole[:40], "could not end"),
        (whole[:48] + bytes(8) + whole[56:], "could not end"),
        (b"\1" * 200, "perf script: "),
    ):
        torn.write_bytes(data)
        found = read_recording(perf, torn, 64)
        assert isinstance(found, str) and reason in found
    found = read_recording(perf, tmp_path / "never.data", 64)
    assert found == "perf has left no recording (No such file or directory)"


def test_this_machines_perf_records_or_says_why_not() -> None:
    perf = need_tool("perf")
    command = [perf, "c2c", "record", "-o", os.devnull, "--", "true"]
    refused = subprocess.run(command, capture_output=True, check=False)
    trial = try_c2c(perf, Path("/"))
    assert isinstance(trial, str) or not refused.returncode
    assert REFUSED.read_bytes() not in refused.stderr or "memory events not supported" in trial


def test_a_refusal_is_told_in_perfs_words_and_ours(tmp_path: Path) -> None:
    install(tmp_path, "perf", f"cat '{REFUSED}' >&2; exit 255")
    root, user = guest(tmp_path), guest(tmp_path / "user", paranoid=2, capabilities="0")
    assert try_c2c(str(tmp_path / "perf"), root) == (
        "perf c2c record: memory events not supported (no hardware PMU in this virtual machine)"
    )
    assert "CAP_PERFMON" not in try_c2c(str(tmp_path / "perf"), user)
    install(tmp_path, "perf", f"cat '{DENIED}' >&2; exit 255")
    denied = try_c2c(str(tmp_path / "perf"), user)
    assert isinstance(denied, str)
    assert denied.startswith(f"{NEEDS} (Error: Access to performance monitoring")
    assert "No such file" in try_c2c(str(tmp_path / "none"), root)


@pytest.mark.parametrize(
    ("cpuinfo", "found"),
    [
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c", "peer snoop"),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 33", "Zen 3"),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 97", ("-u",)),
    ],
)
def test_a_cpu_whose_samples_do_not_tell_is_not_asked(
    tmp_path: Path, cpuinfo: str, found: str | tuple[str, ...]
) -> None:
    install(tmp_path, "perf", "exit 0")
    root = guest(tmp_path)
    write(root, "proc/cpuinfo", cpuinfo)
    trial = try_c2c(str(tmp_path / "perf"), root)
    assert found in trial if isinstance(found, str) else trial == found
    # Where the CPU cannot leave the kernel out, it is sampled too.
    install(tmp_path, "perf", '[ "$3" != -u ] || { echo "failed: no -u" >&2; exit 255; }')
    assert isinstance(found, str) or try_c2c(str(tmp_path / "perf"), root) == ()


def test_kinds_are_sampled_by_the_events_of_their_pmus() -> None:
    kinds = (CoreKind("P", (0, 1), ""), CoreKind("E", (2, 3), ""), CoreKind("LP-E", (4,), ""))
    hybrid = {"cpu_core": (0, 1), "cpu_atom": (2, 3, 4)}
    p_loads, p_stores = "cpu_core/mem-loads,ldlat=30/P", "cpu_core/mem-stores/P"
    e_loads, e_stores = "cpu_atom/mem-loads,ldlat=30/P", "cpu_atom/mem-stores/P"
    every = ("P", "E", "LP-E")
    assert kinds_sampled([p_loads, e_loads, p_stores, e_stores, "dummy:u"], hybrid, kinds) == every
    assert kinds_sampled([p_loads, p_stores, e_stores], hybrid, kinds) == ("P",)
    assert kinds_sampled(["cpu/mem-loads,ldlat=30/P"], {"cpu": None}, kinds) == every
    assert kinds_sampled(["ibs_op//"], hybrid, kinds) == every
    assert kinds_sampled(["page-faults"], hybrid, kinds) is None
    assert kinds_sampled(["page-faults"], {}, kinds[:1]) == ("P",)


def test_a_line_has_the_bytes_that_the_kernel_says(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    assert line_bytes(root) == 64
    for size, used in ((128, 128), (0, 64)):
        write(root, f"{CPU}/cpu0/cache/index0/coherency_line_size", size)
        assert line_bytes(root) == used


LOAD, WRITE, PREFETCH = 0x2, 0x4, 0x8
HIT, LEVEL_1, L2, L3, REMOTE_CACHE, RAM = 0x2, 0x8, 0x20, 0x40, 0x400, 0x80
NONE, HITM = 0x2, 0x10


def source(
    op: int, level: int, snoop: int = 0, number: int = 15, remote: int = 0, hops: int = 0
) -> int:
    """Put a data source together, by the positions of linux/perf_event.h."""
    return op | level << 5 | snoop << 19 | number << 33 | remote << 37 | hops << 43


def sample(source: int, cpu: int = 0, address: int = 0x1000, symbol: str = "main") -> MemorySample:
    return MemorySample(cpu, address, source, symbol)


def line(number: str, words: str, symbol: str = "main") -> str:
    event = "cpu/mem-loads,ldlat=30/P"
    return f"[003] {event}:     7f0000001008 {number} {words}   55d0c0de4000 {symbol}\n"


def test_the_numbers_and_words_that_perf_prints_are_read() -> None:
    rows = [row for row in (DATA / "public.txt").read_text().splitlines() if "=>" in row]
    assert len(rows) == 16
    for row in rows:
        printed, _, expected = row.partition(" => ")
        number, words = printed.split(maxsplit=1)
        (found,) = read_samples([line(number, words)])
        op = "load" if found.load else "store" if found.store else "other"
        assert f"{op} {found.hitm or '-'}" == expected, row
        assert (found.cpu, found.address, found.symbol) == (3, 0x7F0000001008, "main")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (source(LOAD, HIT | L3, HITM, 3), "local"),
        # E-cores of a cluster share the second level.
        (source(LOAD, HIT | L2, HITM, 2), "local"),
        (source(LOAD, HIT | REMOTE_CACHE, HITM, 3, remote=1), "remote"),
        (source(LOAD, 1, HITM, 11, remote=1), "remote"),
        # AMD before Zen 4: this node's third level, or another of its cores.
        (source(LOAD, HIT | L3 | REMOTE_CACHE, HITM, 0), "local"),
        (source(LOAD, HIT | REMOTE_CACHE, HITM, 11, remote=1, hops=1), "local"),
        (source(LOAD, HIT | REMOTE_CACHE, HITM, 11, remote=1, hops=2), "remote"),
        (source(LOAD, 1, HITM, 3), "local"),
        # Its own first level, memory, no level at all: not another core's line.
        (source(LOAD, HIT | LEVEL_1, HITM, 1), ""),
        (source(LOAD, HIT | RAM, HITM, 13), ""),
        (source(LOAD, 1, HITM), ""),
        (source(LOAD, HIT | L3, NONE, 3), ""),
        (source(WRITE, HIT | L3, HITM, 3), ""),
        (source(PREFETCH, HIT | L3, HITM, 3), ""),
    ],
)
def test_hitm_is_a_load_of_what_another_core_had_modified(number: int, expected: str) -> None:
    assert sample(number).hitm == expected


GOOD = line("10668100842", "|OP LOAD|LVL L3 or L3 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A")


@pytest.mark.parametrize(
    "bad",
    [
        GOOD.replace("|OP LOAD", "|OP STORE"),
        GOOD.replace("SNP None", "SNP HitM"),
        GOOD.replace("[003] ", ""),
        GOOD.replace("10668100842", "106681008420000000"),
        GOOD.replace(" main", ""),
        "WARNING: something new\n",
    ],
)
def test_one_line_that_is_not_understood_spoils_all(bad: str) -> None:
    assert len(list(read_samples([GOOD, "\n", GOOD]))) == 2
    with pytest.raises(NotUnderstoodError) as error:
        list(read_samples([GOOD, bad]))
    assert str(error.value).isprintable()


def test_symbols_may_have_blanks_words_may_be_cut_off_and_lines_must_end() -> None:
    cut = "|OP LOAD|LVL Remote Remote Cache (1 hop) or L3 hit|SNP HitM|TLB N/A|LCK No|BLK  N/"
    (found,) = read_samples([line("2600808042", cut, "std::atomic<int> operator++ (int)\x07")])
    assert found.symbol == "std::atomic<int> operator++ (int)�"
    assert found.hitm == "remote"
    assert list(lines_of(io.BytesIO(b"a\nb\n"))) == ["a\n", "b\n"]
    with pytest.raises(NotUnderstoodError, match="8192 bytes"):
        list(lines_of(io.BytesIO(b"x" * 10_000)))


sources = st.sampled_from(
    [
        source(LOAD, HIT | L3, HITM, 3),
        source(LOAD, HIT | REMOTE_CACHE, HITM, 3, remote=1),
        source(LOAD, HIT | LEVEL_1, NONE, 1),
        source(WRITE, HIT | LEVEL_1, NONE, 1),
        0x1E05080021,
    ]
)
samples_lists = st.lists(
    st.builds(
        sample,
        source=sources,
        cpu=st.integers(0, 3),
        address=st.integers(0, 64 * 80),
        symbol=st.sampled_from(["a", "b", "[unknown]"]),
    ),
    max_size=200,
)


@settings(max_examples=40)
@given(samples_lists)
def test_every_hitm_is_in_one_line_and_no_other_line_is_shown(samples: list[MemorySample]) -> None:
    found = contended_lines(lambda: iter(samples), 64)
    sampled, lines = found["sampled"], found["lines"]
    assert sampled["samples"] == len(samples)
    assert sampled["hitm"] == sampled["local_hitm"] + sampled["remote_hitm"]
    assert sampled["hitm"] == sum(1 for access in samples if access.hitm and access.address)
    counts = [line["hitm"] for line in lines]
    assert counts == sorted(counts, reverse=True)
    assert len(lines) <= MAX_LINES
    assert found["lines_left_out"] or sum(counts) == sampled["hitm"]
    for line in lines:
        at = int(line["address"], 16) // 64
        inside = [access for access in samples if access.address and access.address // 64 == at]
        assert line["hitm"] == line["local_hitm"] + line["remote_hitm"] > 0
        assert line["stores"] == sum(access.store for access in inside)
        assert sum(line["cpus"].values()) == sum(access.load or access.store for access in inside)
        assert "[unknown]" not in line["symbols"]


def test_of_too_many_lines_those_with_most_hitm_are_kept() -> None:
    modified = source(LOAD, HIT | L3, HITM, 3)
    samples = [sample(modified, address=64 * at) for at in range(1, MAX_LINES + 8)]
    found = contended_lines(lambda: iter([*samples, samples[-1]]), 64)
    assert (len(found["lines"]), found["lines_left_out"]) == (MAX_LINES, 7)
    assert (found["lines"][0]["address"], found["lines"][0]["hitm"]) == (hex(64 * 57), 2)
