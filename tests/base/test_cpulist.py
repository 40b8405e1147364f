"""Lists of CPUs as the kernel writes them, and invalid ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.cpulist import (
    MAX_CPU,
    MAX_PARTS,
    cpulists_by_value,
    format_cpulist,
    parse_cpulist,
    parse_cpumask,
)

CPUS = st.integers(0, 300)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        (" \n", ()),
        ("8, 2-3,3-4 ,8", (2, 3, 4, 8)),
        (f"{MAX_CPU}", (MAX_CPU,)),
    ],
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
    "text",
    ["", "x", "0x3", "1,1", "123456789", "1," + ",".join(["00000000"] * 2048), "f" * 10**7],
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


def test_a_list_of_each_cpu_by_itself_is_not_too_long() -> None:
    assert len(parse_cpulist(", ".join(map(str, range(MAX_CPU + 1))))) == MAX_PARTS


def test_values_have_the_lists_of_their_cpus() -> None:
    values = {4: "slow", 0: "fast", 5: "slow", 1: "fast", 7: "slow", 2: None}
    assert cpulists_by_value(values) == {"slow": "4-5,7", "fast": "0-1", None: "2"}
    assert list(cpulists_by_value(values)) == ["slow", "fast", None]
    assert cpulists_by_value({}) == {}
