"""Real programs mark regions: in C, C++, Fortran and Python, rightly and wrongly."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.execution.execute import Harness, Observation, execute
from runners.execution.region_marks import RegionInstruments, RegionMarks, SeenRegions
from runners.measure.perf.events import perf_command
from runners.measure.regions import Region
from runners.plan.launch import Launch
from runners.records.perf.output import parse_perf_output
from tests.support.limits import many_open_files
from tests.support.programs import witness
from tests.support.studies import write_program
from tests.support.tools import ROOT, need_tool
from tests.support.wait import HANG_S

NAMES = ("outer", "inner", "solve")
INCLUDE = ROOT / "include"
# `work` prints how much CPU time it has used.
PYTHON = f"""
import os, signal, subprocess, sys, threading, time
sys.path.insert(0, {str(INCLUDE)!r})
import pinstudy_regions
from pinstudy_regions import region

def work(seconds):
    began = time.process_time()
    while time.process_time() < began + seconds:
        pass
    print(time.process_time() - began, flush=True)
"""
C = """
#include "pinstudy.h"
int main(void) {
    pinstudy_begin("outer");
    for (int i = 0; i < 3; i++) {
        pinstudy_begin("inner");
        pinstudy_end("inner");
    }
    pinstudy_end("outer");
    return pinstudy_marks_of_program.descriptor < 0 ? 4 : 0;
}
"""
FORTRAN = """
program marks
   use pinstudy
   implicit none
   integer :: i
   call pinstudy_begin("outer")
   do i = 1, 3
      call pinstudy_begin("inner")
      call pinstudy_end("inner")
   end do
   call pinstudy_end("outer")
end program marks
"""
OPENMP = """
#include "pinstudy.h"
int main(void) {
    pinstudy_begin("outer");
#pragma omp parallel num_threads(2)
    {
        pinstudy_begin("inner");
        pinstudy_end("inner");
    }
    pinstudy_end("outer");
    return 0;
}
"""


class Energy:
    """A made-up energy meter: a joule more at each reading."""

    def __init__(self) -> None:
        self.joules = 0.0

    def read(self) -> dict[str, float]:
        self.joules += 1
        return {"package": self.joules}


def run(
    *program: str, limit_s: float = HANG_S, perf: str = "", names: tuple[str, ...] = NAMES
) -> tuple[Observation, SeenRegions]:
    energy = Energy()
    instruments = RegionInstruments(
        read_joules=energy.read, read_temperatures_c=lambda: {"package 0": 50 + energy.joules}
    )
    marks = RegionMarks(names, instruments)
    environment = {"PATH": os.environ["PATH"]}
    launch = Launch((), program, environment, {}, ())
    command = perf_command(perf, "task-clock,context-switches") if perf else None
    try:
        seen = execute(launch, limit_s, Harness(witness(), command), regions=marks)
    finally:
        marks.close()
    assert seen.regions
    return seen, seen.regions


def python(text: str, **options: float) -> tuple[Observation, SeenRegions]:
    return run(sys.executable, "-c", PYTHON + text, **options)  # type: ignore[arg-type]


def region(seen: SeenRegions, name: str) -> Region:
    found = seen.regions.region(name)
    assert isinstance(found, Region), found
    return found


def compiled(folder: Path, compiler: tuple[str, ...], name: str, text: str) -> str:
    need_tool(compiler[0])
    (folder / name).write_text(text)
    program = folder / "program"
    files = [str(INCLUDE / "pinstudy.f90")] if name.endswith("f90") else []
    command = [*compiler, f"-I{INCLUDE}", *files, str(folder / name), "-o", str(program)]
    subprocess.run(command, check=True, cwd=folder)
    return str(program)


def test_marks_are_answered_beside_many_open_files() -> None:
    with many_open_files():
        _, marks = python("with region('outer'): pass")
    assert region(marks, "outer").executions == 1


@pytest.mark.parametrize(
    ("compiler", "name", "text"),
    [
        (("gcc", "-std=gnu99", "-Wall", "-Wextra", "-Werror"), "a.c", C),
        (("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror"), "a.cpp", C),
        (("clang", "-std=gnu11", "-Wall", "-Werror"), "a.c", C),
        (("gfortran", "-Wall", "-Werror"), "a.f90", FORTRAN),
    ],
    ids=["c", "c++", "clang", "fortran"],
)
def test_each_language_marks_regions_that_nest_and_repeat(
    tmp_path: Path, compiler: tuple[str, ...], name: str, text: str
) -> None:
    seen, marks = run(compiled(tmp_path, compiler, name, text))

    assert (seen.ending.exit_code, seen.stderr) == (0, "")
    assert marks.regions.marks == 8
    assert region(marks, "outer").executions == 1
    assert region(marks, "inner").executions == 3
    # A joule is read at each of the eight marks, from the first to the last.
    assert region(marks, "outer").joules == {"package": 7.0}
    assert region(marks, "inner").joules == {"package": 3.0}
    first, last = region(marks, "outer").temperatures_c
    assert (first, last) == ({"package 0": 51.0}, {"package 0": 58.0})


def test_without_pinstudy_marks_do_nothing(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("gcc",), "a.c", C)
    environment = {"PATH": os.environ["PATH"]}
    assert subprocess.run([program], check=False, env=environment).returncode == 4
    code = PYTHON + "with region('outer'): print('done')"
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"done\n", b"")


def test_a_descriptor_that_is_none_is_left_alone(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("gcc",), "a.c", C)
    environment = {"PATH": os.environ["PATH"], "PINSTUDY_REGIONS": "77"}
    assert subprocess.run([program], check=False, env=environment).returncode == 4


def test_times_and_counts_of_regions_are_those_of_the_whole_run() -> None:
    need_tool("perf")
    text = """
work(0.1)
with region("outer"):
    work(0.1)
    for _ in range(2):
        with region("inner"):
            work(0.1)
with region("solve"):
    work(0.1)
"""
    program = (sys.executable, "-c", PYTHON + text)
    seen, marks = run(*program, perf=shutil.which("perf") or "")

    assert seen.ending.exit_code == 0, seen.stderr
    outer, inner, solve = (region(marks, name) for name in NAMES)
    assert outer.elapsed_s >= inner.elapsed_s + 0.1
    assert (inner.elapsed_s >= 0.2, solve.elapsed_s >= 0.1) == (True, True)
    inside_s = outer.elapsed_s + solve.elapsed_s
    assert inside_s + marks.regions.cost_s <= seen.ending.elapsed_s
    # Each perf counts its region alone: in all, the program's CPU time.
    texts = [seen.perf_output, *marks.perf_outputs.values()]
    cpu_s = [task_clock_s(text) for text in texts]
    assert sum(cpu_s) == pytest.approx(seen.ending.cpu_s, rel=0.05, abs=0.02)
    _, in_outer, first, second, in_solve = map(float, seen.stdout.split())
    # Marks take CPU time of their own, more of it beside other work.
    worked = pytest.approx([in_outer, first + second, in_solve], abs=0.03)
    assert cpu_s[1:] == worked


def task_clock_s(text: str) -> float:
    (row,) = [row for row in parse_perf_output(text).rows if row.event == "task-clock"]
    return row.run_ns / 1e9


def test_a_program_that_is_killed_leaves_its_open_region_without_figures() -> None:
    seen, marks = python("""
with region("solve"):
    pass
pinstudy_regions._marks.mark("b", "outer")
os.kill(os.getpid(), signal.SIGKILL)
""")
    assert seen.ending.signal == signal.SIGKILL
    assert marks.regions.region("outer") == "the program ended inside it"
    assert region(marks, "solve").executions == 1


def test_a_program_that_is_ended_at_its_limit_does_not_hold_the_study() -> None:
    seen, marks = python("with region('outer'): signal.pause()", limit_s=1)
    assert seen.timed_out
    assert marks.regions.region("outer") == "the program ended inside it"


def test_a_child_that_inherits_the_marks_makes_none_and_is_told() -> None:
    seen, marks = python("""
with region("outer"):
    if os.fork() == 0:
        with region("inner"):
            os._exit(0)
    os.wait()
""")
    assert seen.ending.exit_code == 0, seen.stderr
    assert region(marks, "outer").executions == 1
    assert "in another process" in str(marks.regions.region("inner"))


def test_a_program_that_a_script_starts_makes_the_marks(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("gcc",), "a.c", C)
    script = write_program(tmp_path / "script", f"#!/bin/sh\n{program}\nexit $?\n")
    seen, marks = run(str(script))
    assert seen.ending.exit_code == 0
    assert region(marks, "inner").executions == 3


def test_another_program_that_it_starts_does_not_find_the_descriptor(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("gcc",), "a.c", C)
    seen, marks = python(f"""
with region("outer"):
    sys.exit(0 if subprocess.run([{program!r}]).returncode == 4 else 1)
""")
    assert seen.ending.exit_code == 0
    assert marks.regions.marks == 2


def test_marks_inside_a_parallel_region_are_not_followed_and_are_told(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("gcc", "-fopenmp"), "a.c", OPENMP)
    seen, marks = run(program)
    assert seen.ending.exit_code == 0
    assert region(marks, "outer").executions == 1
    assert "in a parallel region" in str(marks.regions.region("inner"))


def test_marks_of_another_thread_are_not_followed_and_are_told() -> None:
    seen, marks = python("""
def other():
    with region("inner"):
        pass
with region("outer"):
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
""")
    assert seen.ending.exit_code == 0, seen.stderr
    assert region(marks, "outer").executions == 1
    assert "by another thread" in str(marks.regions.region("inner"))


def test_wrong_nesting_is_told_to_the_program_and_in_the_record() -> None:
    seen, marks = python("""
marks = pinstudy_regions._marks
marks.mark("b", "outer")
marks.mark("b", "inner")
marks.mark("e", "outer")
""")
    assert "pinstudy: region outer: it was ended while inner was open" in seen.stderr
    assert marks.regions.region("outer") == "it was ended while inner was open"
    assert marks.regions.region("inner") == "the program ended inside it"


def test_a_region_that_this_study_does_not_measure_is_passed_over_in_silence() -> None:
    seen, marks = python("with region('elsewhere'): pass")
    assert (seen.ending.exit_code, seen.stderr) == (0, "")
    assert marks.regions.unknown == ["elsewhere"]


def test_what_is_no_mark_is_answered_and_ignored() -> None:
    seen, marks = python("""
connection = pinstudy_regions._marks.connection
connection.send(b"nonsense")
print(connection.recv(99).decode())
with region("solve"):
    pass
""")
    assert seen.stdout == "this is no mark\n"
    assert region(marks, "solve").executions == 1


def test_a_program_without_marks_says_so_for_every_region() -> None:
    _, marks = run("/bin/true")
    assert {marks.regions.region(name) for name in NAMES} == {"the program did not mark it"}


def descriptors() -> set[str]:
    return {link.name for link in Path("/proc/self/fd").iterdir()}


@pytest.fixture(autouse=True)
def no_descriptor_is_left() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() <= before
