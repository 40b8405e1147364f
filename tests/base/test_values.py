"""CPU lists, masks, units, texts and the version, as people and the kernel write them."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinstudy.base import VERSION
from pinstudy.base.cpulist import (
    MAX_CPU,
    MAX_PARTS,
    cpulists_by_value,
    format_cpulist,
    parse_cpulist,
    parse_cpumask,
)
from pinstudy.base.text import as_typed, ended_by, first_of, safe_name
from pinstudy.base.units import duration, parse_duration, percent
from tests.support.tools import ROOT, need_tool

CPUS = st.integers(0, 300)


@pytest.mark.parametrize(
    ("text", "cpus"), [(" \n", ()), ("8, 2-3,3-4 ,8", (2, 3, 4, 8)), (f"{MAX_CPU}", (MAX_CPU,))]
)
def test_a_list_is_what_the_kernel_says_it_is(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpulist(text) == cpus


@pytest.mark.parametrize("text", ["x", "-1", "3-1", "65536", "0-99999999999", "0-9:2/4", "1 2"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CPU number"):
        parse_cpulist(text)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("f", (0, 1, 2, 3)),
        ("00000000,0000000A", (1, 3)),
        ("1,00000001", (0, 32)),
        ("0", ()),
        ("80000000," + ",".join(["00000000"] * 2047), (MAX_CPU,)),
    ],
)
def test_a_mask_has_words_of_32_cpus_the_highest_first(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpumask(text) == cpus


@pytest.mark.parametrize(
    "text", ["", "x", "0x3", "1,1", "123456789", "1," + ",".join(["00000000"] * 2048), "f" * 10**7]
)
def test_what_is_no_mask_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a mask|above 65535") as refused:
        parse_cpumask(text)
    assert len(str(refused.value)) < 200


@given(st.sets(CPUS))
def test_what_is_written_is_read_back(cpus: set[int]) -> None:
    assert parse_cpulist(format_cpulist(cpus)) == tuple(sorted(cpus))


def test_a_list_of_every_cpu_many_times_costs_no_more_than_its_text() -> None:
    began = time.process_time()
    cpus = parse_cpulist(",".join([f"0-{MAX_CPU}"] * 8190))
    # Expanded part by part it takes a minute of CPU time, or all memory.
    assert time.process_time() - began < 10
    assert cpus == tuple(range(MAX_CPU + 1))


@pytest.mark.parametrize(
    "text",
    ["0," * (MAX_PARTS + 1), "0" * 10**7, "," * 10**6, "7-8 " * 10**6],
    ids=["parts", "digits", "commas", "blanks"],
)
def test_a_list_that_no_node_has_is_refused_at_once_in_a_short_line(text: str) -> None:
    with pytest.raises(ValueError, match="too many for a list of CPUs") as refused:
        parse_cpulist(text)
    assert len(str(refused.value)) < 200


def test_values_have_the_lists_of_their_cpus() -> None:
    values = {4: "slow", 0: "fast", 5: "slow", 1: "fast", 7: "slow", 2: None}
    assert cpulists_by_value(values) == {"slow": "4-5,7", "fast": "0-1", None: "2"}
    assert list(cpulists_by_value(values)) == ["slow", "fast", None]
    assert cpulists_by_value({}) == {}


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("results/quick", "results/quick"),
        ("my results", "'my results'"),
        ("-x", "./-x"),
        ("a\nb\x1b\udcff'\\", "$'a\\012b\\033\\377\\047\\134'"),
    ],
)
def test_a_path_is_written_as_a_shell_takes_it(path: str, typed: str) -> None:
    assert as_typed(path) == typed


# A shell hands over arguments as bytes without a NUL.
names = st.binary(min_size=1, max_size=12).map(os.fsdecode).filter(lambda name: "\0" not in name)


@given(st.lists(names, min_size=1, max_size=30))
@settings(max_examples=10)
@example(["$(id)", "`id`", "'", "~", "*", "!!", "a;b", "#", "-rf", "\x7f", "ü\n"])
def test_a_shell_reads_the_path_that_was_meant(paths: list[str]) -> None:
    line = " ".join(as_typed(path) for path in paths)
    assert line.isprintable()
    done = subprocess.run(
        [need_tool("bash"), "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True
    )
    expected = [f"./{path}" if path.startswith("-") else path for path in paths]
    assert [os.fsdecode(part) for part in done.stdout.split(b"\0")[:-1]] == expected


@pytest.mark.parametrize(
    ("texts", "text"),
    [(["a"], "a"), (["a", "b"], "a; b"), (["a", "b", "c", "d"], "a; b and 2 more")],
)
def test_the_first_texts_are_shown_and_the_rest_counted(texts: list[str], text: str) -> None:
    assert first_of(texts, 2) == text


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("node-01.cluster", "node-01.cluster"),
        ("../../etc", "etc"),
        ("a b/c*?", "a-b-c"),
        ("…", "node"),
        ("", "node"),
        (".hidden", "hidden"),
        ("x" * 300, "x" * 64),
    ],
)
def test_host_names_are_safe_as_file_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_the_version_is_that_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1] == VERSION  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30 s", 30), ("10 min", 600), ("5m", 300), ("1.5 h", 5400), ("250ms", 0.25), (" 2 s ", 2)],
)
def test_a_number_with_its_unit_becomes_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", "has no unit; write 10 s, 10 min or 10 h"),
        ("10 minutes", "unknown unit 'minutes'; known: ms, s, m, min, h"),
        ("0 s", "longer than nothing"),
        ("745 h", "at most 31 days"),
        *(
            (text, "is not a duration")
            for text in ("ten s", "-1 s", "1e9 s", "99999999999999999999 s", "\u0663 s", "")
        ),
    ],
)
def test_what_is_no_duration_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)


def test_numbers_are_said_as_people_say_them() -> None:
    shares = {
        **{0.01: "1 %", 0.0025: "0.25 %", 0.10312: "10.3 %", 0.5: "50 %", 14.3: "1430 %"},
        **{9.994: "999 %", 9.9951: "1000 %", -9.996: "-1000 %", 10: "1000 %"},
    }
    assert {share: percent(share) for share in shares} == shares
    durations: dict[float | None, str] = {
        **{
            None: "unknown",
            0.25: "0.25 s",
            2.5: "2.5 s",
            9.96: "10 s",
            45.4: "45 s",
            59.9: "1 min 00 s",
        },
        **{200: "3 min 20 s", 7500: "2 h 05 min", 3599.7: "1 h 00 min"},
    }
    assert {seconds: duration(seconds) for seconds in durations} == durations
    # Of the real-time signals the first and the last have names.
    assert (ended_by(9), ended_by(50)) == ("ended by SIGKILL", "ended by signal 50")
