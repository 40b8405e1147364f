"""Marks of regions: what is followed and refused, and that sums are exact; a run's meters nest."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.runners.execution.region_marks import (
    BEGIN,
    END,
    MAX_NAME,
    Mark,
    Region,
    Regions,
    parse_mark,
)
from pinstudy.runners.measure.meter import Meters

PROCESS = 77
SECOND = 10**9
NAMES = ("assemble", "solve", "step")


class Program:
    """A program that marks its regions, with a clock and an energy counter of its own."""

    def __init__(self) -> None:
        self.regions = Regions(NAMES)
        self.now_ns = 5 * SECOND
        self.answered_ns = 0
        self.joules = 0.0

    def work(self, seconds: float) -> None:
        """Work at 10 W."""
        self.now_ns += round(seconds * SECOND)
        self.joules += 10 * seconds

    def mark(self, kind: str, name: str, process: int = PROCESS, cost_s: float = 0.5) -> str:
        """Mark a region, which takes so long; return why the mark was refused."""
        mark = Mark(kind, name, self.answered_ns, self.now_ns)
        if not (refused := self.regions.refusal(mark, process)):
            self.regions.follow(mark, {"package": self.joules}, {"package 0": 40 + self.joules})
        self.now_ns += round(cost_s * SECOND)
        self.answered_ns = self.now_ns
        return refused

    def region(self, name: str) -> Region:
        self.regions.end()
        found = self.regions.region(name)
        assert isinstance(found, Region), found
        return found


def test_repeated_and_nested_regions_add_up_without_what_marks_take() -> None:
    program = Program()
    program.work(9)
    program.mark(BEGIN, "step")
    program.work(1)
    for _ in range(3):
        program.mark(BEGIN, "solve")
        program.work(2)
        program.mark(END, "solve")
        program.work(0.25)
    program.mark(END, "step")
    program.work(4)

    step, solve = program.region("step"), program.region("solve")

    assert (solve.executions, solve.elapsed_s, solve.joules) == (3, 6.0, {"package": 60.0})
    assert (step.executions, step.elapsed_s, step.joules) == (1, 7.75, {"package": 77.5})
    assert (step.parts, solve.parts) == (("step", "solve"), ("solve",))
    # Of eight marks, the last one's cost the program did not tell.
    assert (program.regions.cost_s, program.regions.mark_s) == (3.5, 0.5)
    # Before the first begin, and after the last end.
    assert step.temperatures_c == ({"package 0": 130.0}, {"package 0": 207.5})


def follow(*marks: str, process: int = PROCESS) -> tuple[Program, list[str]]:
    """Mark regions, a second of work before each, and end; return why marks were refused."""
    program = Program()
    refused = []
    for mark in marks:
        kind, _, name = mark.partition(" ")
        program.work(1)
        refused.append(program.mark(kind, name, process))
    program.regions.end()
    return program, [why for why in refused if why]


@pytest.mark.parametrize(
    ("marks", "region", "why"),
    [
        (["b solve", "b step", "e solve"], "solve", "it was ended while step was open"),
        (["b step", "b step"], "step", "it was begun within itself"),
        (["b step", "e assemble"], "assemble", "it was ended and not begun"),
        (["b step", "b solve"], "solve", "the program ended inside it"),
        ([], "solve", "the program did not mark it"),
        (["b step", "w assemble"], "assemble", "it was marked in a parallel region, or by another"),
    ],
)
def test_what_was_marked_wrongly_has_no_figures(marks: list[str], region: str, why: str) -> None:
    program, refused = follow(*marks)
    found = program.regions.region(region)
    assert isinstance(found, str) and found.startswith(why)
    assert refused in ([], [found])


def test_a_name_that_is_no_region_is_refused_and_takes_no_time_from_the_one_around_it() -> None:
    program, refused = follow("b step", "b elsewhere", "e step")
    assert refused == ["the regions that are measured are assemble, solve, step"]
    assert program.regions.unknown == ["elsewhere"]
    step = program.region("step")
    assert (step.elapsed_s, step.joules) == (2.0, {"package": 20.0})


def test_counts_of_a_region_inside_and_outside_another_cannot_be_told_apart() -> None:
    program, _ = follow("b solve", "e solve", "b step", "b solve", "e solve", "e step")
    assert program.region("step").parts_problem == "solve was executed both inside and outside it"
    assert program.region("solve").parts == ("solve",)


def test_marks_of_a_child_are_not_followed_and_are_told() -> None:
    program = Program()
    program.mark(BEGIN, "step")
    program.work(2)
    answered_ns = program.answered_ns
    assert "in another process" in program.mark(BEGIN, "solve", PROCESS + 1, cost_s=0)
    # It is no mark of the program's own, which was last answered before.
    program.answered_ns = answered_ns
    program.work(1)
    program.mark(END, "step")
    assert program.region("step").elapsed_s == 3.0
    assert "in another process" in str(program.regions.region("solve"))


def test_times_that_do_not_follow_one_another_are_refused() -> None:
    program = Program()
    program.mark(BEGIN, "step")
    program.now_ns -= 3 * SECOND
    assert "do not follow one another" in program.mark(END, "step")
    assert "do not follow one another" in str(program.regions.region("step"))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 1000)), max_size=60))
def test_segments_and_costs_are_the_whole_time(steps: list[tuple[str, int]]) -> None:
    program = Program()
    open_: list[str] = []
    began_ns = 0
    for name, milliseconds in steps:
        program.work(milliseconds / 1000)
        began_ns = began_ns or program.now_ns
        if open_ and open_[-1] == name:
            assert not program.mark(END, open_.pop())
        elif name not in open_:
            open_.append(name)
            assert not program.mark(BEGIN, name)
    program.regions.end()
    last_ns = program.regions._last_ns
    whole_s = sum(part.elapsed_s for part in program.regions.sums.values()) + program.regions.cost_s
    assert abs(whole_s - (last_ns - began_ns) / 1e9) < 1e-6
    for name in NAMES:
        sums = program.regions.sums.items()
        inside_s = sum(part.elapsed_s for nesting, part in sums if name in nesting)
        found = program.regions.region(name) if name in program.regions.begun else None
        if isinstance(found, Region) and name not in open_:
            assert abs(found.elapsed_s - inside_s) < 1e-9


@given(st.binary(max_size=300))
def test_any_message_is_a_mark_or_none(message: bytes) -> None:
    mark = parse_mark(message)
    assert mark is None or (mark.kind in "bew" and mark.name.isprintable())


def test_a_message_is_read_as_the_headers_write_it() -> None:
    assert parse_mark(b"b 12 345 solve it") == Mark(BEGIN, "solve it", 12, 345)
    assert parse_mark(b"b 12 345 " + b"x" * (MAX_NAME + 1)) is None
    assert parse_mark(b"b -1 345 solve") is None


class LoggingMeter:
    """A meter that logs its calls."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name, self._calls = name, calls

    def start(self) -> None:
        self._calls.append(f"{self._name} start")

    def sample(self) -> None:
        self._calls.append(f"{self._name} sample")

    def stop(self) -> None:
        self._calls.append(f"{self._name} stop")


def test_the_first_meter_starts_first_and_stops_last_and_all_are_sampled_when_it_is_time() -> None:
    calls: list[str] = []
    meters = Meters((LoggingMeter("outer", calls), LoggingMeter("inner", calls)))
    meters.start()
    assert not meters.sample_if_due(-math.inf)
    assert meters.sample_if_due(1e30)
    assert not meters.sample_if_due(1e30 / 2)
    meters.stop()
    assert calls == [
        *("outer start", "inner start", "outer sample", "inner sample", "inner stop", "outer stop")
    ]
