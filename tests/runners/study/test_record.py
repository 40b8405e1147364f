"""A run's record tells what differed between the two readings around the run."""

from __future__ import annotations

import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.reading import Reading
from runners.execution.witness import Ending
from runners.placement.thread_trace import Stay, ThreadTrace
from runners.plan.case import loop_fields
from runners.plan.launch import Launch
from runners.plan.runs import PlannedRun
from runners.records.disturbances import MORE_THREADS, disturbances
from runners.records.line import line_of
from runners.records.reader import read_records
from runners.study.record import run_record
from tests.runners import cases
from tests.runners.study.made_node import origin_of

HIGH, LOW = {"package-0": {"pl1_w": 125.0}}, {"package-0": {"pl1_w": 45.0}}


def recorded(
    before: dict[str, Any],
    after: dict[str, Any],
    ending: Ending = cases.LASTED,
    thrown_out: str = "",
    threads: tuple[ThreadTrace, ...] = (),
    **of_case: object,
) -> dict[str, Any]:
    case = cases.case(**of_case)
    planned = PlannedRun(1, 1, case.case_id, 1, warmup=False)
    states = (
        Reading({"governor_read": "powersave"} | before),
        Reading({"governor_read": "powersave"} | after),
    )
    seen = cases.observation(ending, threads=threads, looks=20)
    origin = origin_of("study", "digest", 1)
    launch = Launch((), ("program",), {"LD_PRELOAD": "x.so", "HOME": "/"}, {}, ())
    started_at = "2026-01-01T00:00:00Z"
    return run_record(
        origin, planned, case, launch, seen, started_at, states, [], thrown_out=thrown_out
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"power_limits": HIGH}, {"power_limits": LOW}, HIGH),
        ({"power_limits": HIGH}, {}, HIGH),
        ({"power_limits": HIGH}, {"power_limits": HIGH}, None),
        ({}, {}, None),
    ],
)
def test_power_limits_that_moved_during_a_run_are_told_from_before_and_after(
    before: dict[str, Any], after: dict[str, Any], told: object
) -> None:
    record = recorded(before, after)
    assert record.get("power_limits_before") == told
    assert record.get("power_limits") == after.get("power_limits")


def test_what_a_scheduler_took_is_of_the_run_alone() -> None:
    before = {"scheduler_loaded_s": 7.5, "scheduler_cpu_s": 1.25}
    record = recorded(before, {"scheduler_loaded_s": 9.5, "scheduler_cpu_s": 1.75})
    assert (record["scheduler_loaded_s"], record["scheduler_cpu_s"]) == (7.5, 0.5)
    assert "scheduler_loaded_s" not in recorded({}, {})


def test_a_scheduler_that_was_thrown_out_is_the_reason_of_its_run() -> None:
    why = "scx_lavd was thrown out: runnable task stall"
    before, after = {"sched_ext": "enabled"}, {"sched_ext": "disabled"}
    record = recorded(before, after, thrown_out=why)
    assert (record["status"], record["reason"]) == ("settings-changed", why)
    assert record["elapsed_s"] == cases.LASTED.elapsed_s


@pytest.mark.parametrize(("working", "at_work"), [(2, None), (3, 3)])
def test_more_threads_at_work_than_asked_for_are_counted(working: int, at_work: int | None) -> None:
    runnable = dict.fromkeys(range(1, 21), 0.05)
    threads = tuple(
        ThreadTrace(tid, 1, [Stay((2, 4), 20, Counter({2: 20}), 0.5)], 1, 20, runnable=runnable)
        for tid in range(1, working + 1)
    )
    record = recorded({}, {}, threads=threads, mapping=cases.PCORES_SET, mechanism="taskset")
    assert record["placement"].get("at_work") == at_work
    assert (MORE_THREADS in disturbances(record)) == (at_work is not None)


def test_the_environment_that_decides_how_a_program_runs_is_in_the_record() -> None:
    assert recorded({}, {})["environment"] == {"inherited": {"LD_PRELOAD": "x.so"}}


def test_a_run_that_was_killed_before_its_program_started_has_no_time_and_is_a_record(
    tmp_path: Path,
) -> None:
    record = recorded({}, {}, Ending(signal.SIGKILL, 0.0, 0.0, 0.0, 0))
    assert "elapsed_s" not in record
    assert record["unavailable"]["elapsed_s"] == "the program did not start"
    (tmp_path / "a.jsonl").write_bytes(line_of(record))
    (read,) = read_records(tmp_path)
    assert (read["status"], read["reason"]) == ("failed", "ended by SIGKILL")


def test_the_record_says_that_a_program_takes_no_schedule_and_keeps_its_id() -> None:
    assert recorded({}, {})["no_schedule"] is True
    with_loops = cases.case(app=replace(cases.DEMO, schedules=("static", "dynamic")))
    assert loop_fields(with_loops) == {}
    assert with_loops.case_id == cases.case().case_id
    assert loop_fields(replace(with_loops, build=cases.SERIAL)) == {"no_schedule": True}
