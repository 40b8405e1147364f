"""Marks of regions: what is followed and refused, and that sums over segments are exact."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.measure.regions import BEGIN, END, MAX_NAME, WRONG, Mark, Region, Regions, parse_mark

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


def test_counts_of_a_region_inside_and_outside_another_cannot_be_told_apart() -> None:
    program = Program()
    for name in ("solve", "step"):
        program.mark(BEGIN, name)
    assert program.mark(END, "solve") == "it was ended while step was open"

    program = Program()
    program.mark(BEGIN, "solve")
    program.mark(END, "solve")
    program.mark(BEGIN, "step")
    program.mark(BEGIN, "solve")
    program.work(1)
    program.mark(END, "solve")
    program.mark(END, "step")
    step = program.region("step")
    assert step.elapsed_s == 1.0
    assert step.parts_problem == "solve was executed both inside and outside it"
    assert program.region("solve").parts == ("solve",)


def test_what_was_marked_wrongly_has_no_figures_and_says_why() -> None:
    program = Program()
    program.mark(BEGIN, "step")
    assert "begun within itself" in program.mark(BEGIN, "step")
    assert "ended and not begun" in program.mark(END, "assemble")
    assert "that are measured are assemble, solve, step" in program.mark(BEGIN, "elsewhere")
    program.mark(BEGIN, "solve")
    program.regions.end()

    assert program.regions.region("step") == "it was begun within itself"
    assert program.regions.region("assemble") == "it was ended and not begun"
    assert program.regions.region("solve") == "the program ended inside it"
    assert program.regions.unknown == ["elsewhere"]
    untouched = Regions(NAMES)
    untouched.end()
    assert untouched.region("solve") == "the program did not mark it"


def test_marks_of_threads_and_of_a_child_are_not_followed_and_are_told() -> None:
    program = Program()
    program.mark(BEGIN, "step")
    program.work(2)
    answered_ns = program.answered_ns
    assert "in another process" in program.mark(BEGIN, "solve", PROCESS + 1, cost_s=0)
    assert "in a parallel region" in program.mark(WRONG, "assemble", cost_s=0)
    # Neither is a mark of the program's own, which was last answered before.
    program.answered_ns = answered_ns
    program.work(1)
    program.mark(END, "step")

    assert program.region("step").elapsed_s == 3.0
    assert "in another process" in str(program.regions.region("solve"))
    assert "in a parallel region" in str(program.regions.region("assemble"))


def test_a_mark_that_is_refused_takes_no_time_from_the_region_around_it() -> None:
    program = Program()
    program.mark(BEGIN, "step")
    program.work(2)
    program.mark(BEGIN, "elsewhere")
    program.work(1)
    program.mark(END, "step")
    step = program.region("step")
    assert (step.elapsed_s, step.joules) == (3.0, {"package": 30.0})


def test_times_that_do_not_follow_one_another_are_refused() -> None:
    program = Program()
    program.mark(BEGIN, "step")
    program.now_ns -= 3 * SECOND
    assert "do not follow one another" in program.mark(END, "step")
    assert "do not follow one another" in str(program.regions.region("step"))


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
    whole_s = sum(of.elapsed_s for of in program.regions.sums.values()) + program.regions.cost_s
    assert abs(whole_s - (last_ns - began_ns) / 1e9) < 1e-6
    for name in NAMES:
        inside_s = sum(of.elapsed_s for at, of in program.regions.sums.items() if name in at)
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
