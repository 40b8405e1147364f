"""The node's clock is set, or the node sleeps, while a study runs: noticed, and nothing is wrong.

Who sets the clock of a study's processes here is a library that stands before the C library's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.records.runs import read_runs
from runners.measure.conditions.suspend import ClockWatch, Moment
from runners.node.node import open_node
from tests.runners.study.made_node import Quiet
from tests.runners.study.test_energy import records, run, study_of
from tests.support.cli import argv
from tests.support.studies import write_app, write_program, write_study
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

HOUR_S = 3600.0
AWAKE = Moment(1.8e9, 5000.0, 4000.0)


def later(before: Moment, awake_s: float, asleep_s: float = 0.0, set_s: float = 0.0) -> Moment:
    """Return a moment after so many seconds, in which the clock was set by some."""
    passed_s = awake_s + asleep_s
    return Moment(
        before.realtime_s + passed_s + set_s,
        before.boottime_s + passed_s,
        before.monotonic_s + awake_s,
    )


def watch(*moments: Moment) -> ClockWatch:
    following: Iterator[Moment] = iter(moments)
    return ClockWatch(lambda: next(following))


@given(awake_s=st.floats(0, 1e5), asleep_s=st.floats(0, 1e5), ppm=st.floats(-500, 500))
def test_time_that_passes_and_a_clock_that_is_slewed_are_no_step(
    awake_s: float, asleep_s: float, ppm: float
) -> None:
    slewed_s = (awake_s + asleep_s) * ppm * 1e-6
    assert later(AWAKE, awake_s, asleep_s, slewed_s).set_since(AWAKE) == 0


@given(
    awake_s=st.floats(0, 600),
    asleep_s=st.floats(0, 1e5),
    set_s=st.sampled_from([-HOUR_S, 9e4, -200.0]),
)
def test_a_step_is_told_from_sleep(awake_s: float, asleep_s: float, set_s: float) -> None:
    now = later(AWAKE, awake_s, asleep_s, set_s)
    assert now.set_since(AWAKE) == pytest.approx(set_s, abs=1e-3)
    assert now.slept_since(AWAKE) == pytest.approx(asleep_s if asleep_s > 0.1 else 0, abs=0.11)


def test_this_node_neither_sleeps_nor_is_its_clock_set_now() -> None:
    before = Moment.now()
    now = Moment.now()
    assert (now.set_since(before), now.slept_since(before)) == (0, 0)


def test_steps_add_up_and_each_is_told_once() -> None:
    back = later(AWAKE, 60, set_s=-HOUR_S)
    after = later(back, 60)
    forward = later(after, 60, set_s=600)
    clocks = watch(AWAKE, back, after, forward)
    assert "set back by 1 h 00 min" in clocks.look()[0]
    assert clocks.measured().fields == {"clock_set_s": -3600}
    assert clocks.look() == []
    assert "set forward by 10 min 00 s" in clocks.look()[0]
    assert clocks.measured().fields == {"clock_set_s": -3000}


def test_sleep_between_runs_is_told_and_spoils_none() -> None:
    clocks = watch(AWAKE, later(AWAKE, 1, asleep_s=120))
    assert clocks.look() == ["the node slept for 2 min 00 s"]
    assert clocks.measured().fields == {}


def test_a_run_in_which_the_node_slept_is_no_result(tmp_path: Path) -> None:
    node = open_node(Path("/"))
    moments = [AWAKE]

    def now() -> Moment:
        # One look at first and three a run: the seventh is the one after the second run.
        moments.append(later(moments[-1], 0.01, asleep_s=30.0 if len(moments) == 7 else 0.0))
        return moments[-1]

    progress = Quiet()
    study = study_of(tmp_path, "true", idle_power=None, repetitions=3)
    run(study, node, tmp_path, progress, ClockWatch(now))
    first, second, third = records(tmp_path)
    assert [first["status"], second["status"], third["status"]] == ["ok", "suspended", "ok"]
    assert second["reason"] == "the node slept for 30 s meanwhile"
    assert progress.warnings == ["the node slept for 30 s"]


# Stands before the C library's, whose clock every process of a study asks.
CLOCK = """\
#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed != 0 || clock != CLOCK_REALTIME)
        return static_cast<int>(failed);
    long set_s = 0;
    if (FILE* offset = std::fopen(std::getenv("CLOCK_OFFSET"), "r")) {
        if (std::fscanf(offset, "%ld", &set_s) != 1)
            set_s = 0;
        std::fclose(offset);
    }
    now->tv_sec += set_s;
    return 0;
}
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library for LD_PRELOAD that adds the seconds of the file $CLOCK_OFFSET."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    command = [need_tool("g++"), "-shared", "-fPIC", "-x", "c++", "-", "-o", str(library)]
    subprocess.run(command, input=CLOCK, text=True, check=True)
    return library


def test_a_clock_that_is_set_in_the_middle_is_told_and_misorders_nothing(
    tmp_path: Path, clock: Path
) -> None:
    offset, runs = tmp_path / "offset", tmp_path / "runs"
    offset.write_text("0")
    setter = write_program(
        tmp_path / "setter",
        f"#!/bin/sh\necho run >>{runs}\n"
        f"[ $(wc -l <{runs}) -ne 2 ] || echo -3600 >{offset}\nsleep 0.02\n",
    )
    write_app(tmp_path, "setter", setter, {"small": {"arguments": [], "estimate": "20 ms"}})
    write_study(tmp_path, "clock", "setter", "small", governors="current", repetitions=4)
    done = subprocess.run(
        argv("run", "clock.yaml", "--no-report"),
        cwd=tmp_path,
        env=os.environ
        | {"LD_PRELOAD": str(clock), "CLOCK_OFFSET": str(offset), "PINSTUDY_RESULTS": "results"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the node's clock was set back by 1 h 00 min") == 1
    (results,) = tmp_path.glob("results/clock/*/")
    made = records(results, "ok")
    assert len(made) == 4
    assert all(0.02 <= record["elapsed_s"] < 1800 for record in made)
    started_s = [datetime.fromisoformat(record["started_at"]).timestamp() for record in made]
    assert started_s[2] < started_s[1], "the clock was not set"
    jumps = [record.get("clock_set_s", 0) for record in made]
    assert jumps == [0, 0, *[pytest.approx(-3600, abs=1)] * 2]
    frame = read_runs(results).frame.sort_values("order")
    assert frame["started_s"].is_monotonic_increasing
    assert frame["started_s"].max() - frame["started_s"].min() < 60
