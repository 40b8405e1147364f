"""Real programs mark regions: in C, C++, Fortran and Python, rightly and wrongly."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.command import STOPPING
from pinstudy.runners.execution.execute import Harness, Observation, execute
from pinstudy.runners.execution.region_marks import (
    Region,
    RegionInstruments,
    RegionMarks,
    SeenRegions,
)
from pinstudy.runners.measure.perf.events import perf_command
from pinstudy.runners.placement.look_log import LookLog
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.records.perf.output import parse_perf_output
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


def run(*program: str, limit_s: float = HANG_S, perf: str = "") -> tuple[Observation, SeenRegions]:
    """Run a program on a node where each reading finds a joule and a degree more."""
    readings = count(1)
    joules = 0.0

    def read_joules() -> dict[str, float]:
        nonlocal joules
        joules = float(next(readings))
        return {"package": joules}

    instruments = RegionInstruments(
        read_joules=read_joules, read_temperatures_c=lambda: {"package 0": 50 + joules}
    )
    marks = RegionMarks(NAMES, instruments)
    launch = Launch((), program, {"PATH": os.environ["PATH"]}, {}, ())
    command = perf_command(perf, "task-clock,context-switches") if perf else None
    try:
        seen = execute(launch, limit_s, Harness(witness(), command), regions=marks)
    finally:
        marks.close()
    assert seen.regions
    return seen, seen.regions


def test_marks_are_answered_by_a_thread_that_takes_no_signal() -> None:
    blocked: set[int] = set()

    def read_joules() -> dict[str, float]:
        blocked.update(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        return {}

    marks = RegionMarks(NAMES, RegionInstruments(read_joules=read_joules))
    with socket.socket(fileno=os.dup(marks.descriptor)) as program:
        program.settimeout(HANG_S)
        marks.start()
        try:
            program.send(b"b 0 1 outer")
            assert program.recv(100) == b"k"
        finally:
            marks.close()
    assert blocked.issuperset(STOPPING)


def test_marks_and_looks_of_a_run_have_one_clock_in_its_trace() -> None:
    log = LookLog()
    marks = RegionMarks(NAMES, RegionInstruments(log=log.mark))
    text = """
with region("outer"), region("inner"):
    work(0.01)
with region("unknown"):
    pass
"""
    launch = Launch((), (sys.executable, "-c", PYTHON + text), dict(os.environ), {}, ())
    try:
        seen = execute(launch, HANG_S, Harness(witness(), None), regions=marks, log=log)
    finally:
        marks.close()

    file = log.file("a-1-0", "a case", "", {}, seen.window_ns)
    assert file and file.elapsed_us
    assert file.elapsed_us == pytest.approx(seen.ending.elapsed_s * 1e6, abs=2)
    # What the study does not measure is not followed.
    order = [("outer", True), ("inner", True), ("inner", False), ("outer", False)]
    assert [(mark.name, mark.begins) for mark in file.marks] == order
    times_us = [mark.at_us for mark in file.marks]
    assert times_us == sorted(times_us)
    assert 0 < times_us[0] < times_us[-1] < file.elapsed_us
    assert file.threads[0].at_us[0] < times_us[0]


def python(text: str, **options: Any) -> tuple[Observation, SeenRegions]:  # noqa: ANN401
    return run(sys.executable, "-c", PYTHON + text, **options)


def region(seen: SeenRegions, name: str) -> Region:
    found = seen.regions.region(name)
    assert isinstance(found, Region), found
    return found


def compiled(
    folder: Path, compiler: tuple[str, ...] = ("gcc",), name: str = "a.c", text: str = C
) -> str:
    need_tool(compiler[0])
    (folder / name).write_text(text)
    program = folder / "program"
    files = [str(INCLUDE / "pinstudy.f90")] if name.endswith("f90") else []
    command = [*compiler, f"-I{INCLUDE}", *files, str(folder / name), "-o", str(program)]
    subprocess.run(command, check=True, cwd=folder)
    return str(program)


@pytest.fixture(autouse=True)
def no_descriptor_is_left() -> Iterator[None]:
    def descriptors() -> set[str]:
        return {link.name for link in Path("/proc/self/fd").iterdir()}

    before = descriptors()
    yield
    assert descriptors() <= before


@pytest.mark.parametrize(
    ("compiler", "name", "text"),
    [
        (("gcc", "-std=gnu99", "-Wall", "-Wextra", "-Werror"), "a.c", C),
        (("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror"), "a.cpp", C),
        (
            ("g++", "-std=c++20", "-fopenmp", "-Wall", "-Werror"),
            "a.cpp",
            f"{C}\n#include <omp.h>\n",
        ),
        (("clang", "-std=gnu11", "-Wall", "-Werror"), "a.c", C),
        (("gfortran", "-Wall", "-Werror"), "a.f90", FORTRAN),
    ],
    ids=["c", "c++", "c++ before omp.h", "clang", "fortran"],
)
def test_each_language_marks_regions_that_nest_and_repeat(
    tmp_path: Path, compiler: tuple[str, ...], name: str, text: str
) -> None:
    program = compiled(tmp_path, compiler, name, text)
    # Also a program that a script starts makes the marks.
    script = write_program(tmp_path / "script", f"#!/bin/sh\n{program}\nexit $?\n")
    seen, marks = run(str(script) if compiler[0] == "gcc" else program)
    assert (seen.ending.exit_code, seen.stderr) == (0, "")
    assert marks.regions.marks == 8
    # A joule is read at each of the eight marks, from the first to the last.
    for region_name, executions, joules in (("outer", 1, 7.0), ("inner", 3, 3.0)):
        found = region(marks, region_name)
        assert (found.executions, found.joules) == (executions, {"package": joules})
    first_and_last = ({"package 0": 51.0}, {"package 0": 58.0})
    assert tuple(region(marks, "outer").temperatures_c) == first_and_last


def test_marks_do_nothing_without_a_descriptor(tmp_path: Path) -> None:
    program, environment = compiled(tmp_path), {"PATH": os.environ["PATH"]}
    for variables in ({}, {"PINSTUDY_REGIONS": "77"}):
        ended = subprocess.run([program], check=False, env=environment | variables)
        assert ended.returncode == 4
    command = [sys.executable, "-c", PYTHON + "with region('outer'): print('done')"]
    told = subprocess.run(command, check=False, capture_output=True, env=environment)
    assert (told.returncode, told.stdout, told.stderr) == (0, b"done\n", b"")


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
    seen, marks = python(text, perf=shutil.which("perf") or "")
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


KILLED = """
with region("solve"):
    pass
pinstudy_regions._marks.mark("b", "outer")
os.kill(os.getpid(), signal.SIGKILL)
"""
CHILD = """
with region("outer"):
    if os.fork() == 0:
        with region("inner"):
            os._exit(0)
    os.wait()
"""
THREAD = """
def mark():
    with region("inner"):
        pass
with region("outer"):
    thread = threading.Thread(target=mark)
    thread.start()
    thread.join()
"""
NESTED_WRONGLY = """
marks = pinstudy_regions._marks
marks.mark("b", "outer")
marks.mark("b", "inner")
marks.mark("e", "outer")
"""
NO_MARK = """
connection = pinstudy_regions._marks.connection
connection.send(b"nonsense")
print(connection.recv(99).decode())
with region("solve"):
    pass
"""
INSIDE = "the program ended inside it"
WRONG = "it was ended while inner was open"


@pytest.mark.parametrize(
    ("text", "limit_s", "end", "printed", "regions"),
    [
        (KILLED, HANG_S, signal.SIGKILL, "", {"outer": INSIDE, "solve": 1}),
        ("with region('outer'): signal.pause()", 1, signal.SIGKILL, "", {"outer": INSIDE}),
        (CHILD, HANG_S, None, "", {"outer": 1, "inner": "in another process"}),
        (THREAD, HANG_S, None, "", {"outer": 1, "inner": "by another thread"}),
        # Told to the program and in the record.
        (
            *(NESTED_WRONGLY, HANG_S, None, f"pinstudy: region outer: {WRONG}\n"),
            {"outer": WRONG, "inner": INSIDE},
        ),
        (NO_MARK, HANG_S, None, "this is no mark\n", {"solve": 1}),
        ("pass", HANG_S, None, "", dict.fromkeys(NAMES, "the program did not mark it")),
    ],
    ids=["killed", "limit", "child", "thread", "nesting", "no mark", "none"],
)
def test_what_is_not_marked_rightly_has_no_figures_but_a_reason(
    text: str, limit_s: float, end: int | None, printed: str, regions: dict[str, int | str]
) -> None:
    seen, marks = python(text, limit_s=limit_s)
    assert (seen.ending.signal, seen.timed_out) == (end, limit_s == 1)
    assert seen.stdout + seen.stderr == printed
    for name, expected in regions.items():
        found = marks.regions.region(name)
        if isinstance(expected, str):
            assert expected in str(found)
        else:
            assert region(marks, name).executions == expected


def test_a_region_that_this_study_does_not_measure_is_passed_over_in_silence() -> None:
    with many_open_files():
        seen, marks = python("with region('elsewhere'): pass\nwith region('outer'): pass")
    assert (seen.ending.exit_code, seen.stderr) == (0, "")
    assert marks.regions.unknown == ["elsewhere"]
    assert region(marks, "outer").executions == 1


def test_another_program_that_it_starts_does_not_find_the_descriptor(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    seen, marks = python(f"""
with region("outer"):
    sys.exit(0 if subprocess.run([{program!r}]).returncode == 4 else 1)
""")
    assert seen.ending.exit_code == 0
    assert marks.regions.marks == 2


def test_marks_inside_a_parallel_region_are_not_followed_and_are_told(tmp_path: Path) -> None:
    seen, marks = run(compiled(tmp_path, ("gcc", "-fopenmp"), text=OPENMP))
    assert seen.ending.exit_code == 0
    assert region(marks, "outer").executions == 1
    assert "in a parallel region" in str(marks.regions.region("inner"))


@pytest.mark.parametrize("value", ["77", "0", "-1", str(10**30), "none"])
def test_a_value_that_names_no_socket_of_the_program_is_left_alone(value: str) -> None:
    script = f"{PYTHON}with region('solve'): work(0.0)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PINSTUDY_REGIONS": value},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
