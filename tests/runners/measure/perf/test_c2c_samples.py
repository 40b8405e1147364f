"""Sampled memory accesses: what perf prints is understood whole, or not at all."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.measure.perf.c2c_samples import (
    MAX_LINES,
    MemorySample,
    NotUnderstoodError,
    contended_lines,
    lines_of,
    read_samples,
)
from tests.support.tools import ROOT

DATA = ROOT / "tests" / "data" / "c2c"
LOAD, STORE, PREFETCH = 0x2, 0x4, 0x8
HIT, L1, L2, L3, REMOTE_CACHE, RAM = 0x2, 0x8, 0x20, 0x40, 0x400, 0x80
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
        (source(LOAD, HIT | L1, HITM, 1), ""),
        (source(LOAD, HIT | RAM, HITM, 13), ""),
        (source(LOAD, 1, HITM), ""),
        (source(LOAD, HIT | L3, NONE, 3), ""),
        (source(STORE, HIT | L3, HITM, 3), ""),
        (source(PREFETCH, HIT | L3, HITM, 3), ""),
    ],
)
def test_hitm_is_a_load_of_what_another_core_had_modified(number: int, expected: str) -> None:
    assert sample(number).hitm == expected


def test_a_recording_gives_what_perfs_own_report_of_it_says() -> None:
    text = (DATA / "script.txt").read_text()
    found = contended_lines(lambda: read_samples(text.splitlines()), 64)
    report = (DATA / "report.txt").read_text()
    for name, label in (
        ("loads", "Load Operations"),
        ("stores", "Store Operations"),
        ("local_hitm", "Load Local HITM"),
        ("remote_hitm", "Load Remote HITM"),
    ):
        said = re.search(rf"^ +{label} +: +(\d+)$", report, re.MULTILINE)
        assert said and found["sampled"][name] == int(said[1]), label
    # perf keeps lines of different mappings apart: 29 + 2 and 7.
    assert [(line["address"], line["hitm"]) for line in found["lines"]] == [
        ("0x55d0c0de4000", 31),
        ("0x55d0c0de4040", 7),
    ]
    assert set(found["lines"][0]["cpus"]) == {"0", "1"}


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
        "[003] cpu/mem-loads/:  7f00 10668100842\n",
        "\0\n",
    ],
)
def test_one_line_that_is_not_understood_spoils_all(bad: str) -> None:
    assert len(list(read_samples([GOOD, "\n", GOOD]))) == 2
    with pytest.raises(NotUnderstoodError) as error:
        list(read_samples([GOOD, bad]))
    assert str(error.value).isprintable()


def test_symbols_may_have_blanks_and_words_may_be_cut_off() -> None:
    cut = "|OP LOAD|LVL Remote Remote Cache (1 hop) or L3 hit|SNP HitM|TLB N/A|LCK No|BLK  N/"
    (found,) = read_samples([line("2600808042", cut, "std::atomic<int> operator++ (int)\x07")])
    assert found.symbol == "std::atomic<int> operator++ (int)�"
    assert found.hitm == "remote"


def test_a_line_without_an_end_is_no_line() -> None:
    assert list(lines_of(io.BytesIO(b"a\nb\n"))) == ["a\n", "b\n"]
    with pytest.raises(NotUnderstoodError, match="8192 bytes"):
        list(lines_of(io.BytesIO(b"x" * 10_000)))


@given(st.lists(st.one_of(st.text(max_size=200), st.just(GOOD)), max_size=5))
def test_whatever_perf_prints_there_are_samples_or_a_reason(lines: list[str]) -> None:
    try:
        found = list(read_samples(lines))
    except NotUnderstoodError as error:
        assert str(error)
    else:
        assert len(found) == sum(bool(text.strip()) for text in lines)


sources = st.sampled_from(
    [
        source(LOAD, HIT | L3, HITM, 3),
        source(LOAD, HIT | REMOTE_CACHE, HITM, 3, remote=1),
        source(LOAD, HIT | L1, NONE, 1),
        source(STORE, HIT | L1, NONE, 1),
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


@given(samples_lists)
def test_every_hitm_is_in_one_line_and_no_other_line_is_shown(samples: list[MemorySample]) -> None:
    found = contended_lines(lambda: iter(samples), 64)
    sampled, lines = found["sampled"], found["lines"]
    assert sampled["samples"] == len(samples)
    assert sampled["hitm"] == sampled["local_hitm"] + sampled["remote_hitm"]
    assert sampled["hitm"] == sum(1 for one in samples if one.hitm and one.address)
    assert len(lines) <= MAX_LINES
    assert [one["hitm"] for one in lines] == sorted((one["hitm"] for one in lines), reverse=True)
    for one in lines:
        inside = [
            s for s in samples if s.address and s.address // 64 == int(one["address"], 16) // 64
        ]
        assert one["hitm"] == one["local_hitm"] + one["remote_hitm"] > 0
        assert one["stores"] == sum(s.store for s in inside)
        assert sum(one["cpus"].values()) == sum(s.load or s.store for s in inside)
        assert "[unknown]" not in one["symbols"]
    if not found["lines_left_out"]:
        assert sum(one["hitm"] for one in lines) == sampled["hitm"]


def test_of_too_many_lines_those_with_most_hitm_are_kept() -> None:
    modified = source(LOAD, HIT | L3, HITM, 3)
    samples = [
        sample(modified, address=64 * (number + 1))
        for number in range(MAX_LINES + 7)
        for _ in range(1 + (number == MAX_LINES + 6))
    ]
    found = contended_lines(lambda: iter(samples), 64)
    assert (len(found["lines"]), found["lines_left_out"]) == (MAX_LINES, 7)
    assert (found["lines"][0]["address"], found["lines"][0]["hitm"]) == (hex(64 * 57), 2)
