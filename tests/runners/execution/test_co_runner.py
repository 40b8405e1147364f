"""What a record says of a co-runner, from what was seen of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Reading
from runners.execution.co_runner import co_run_reading, invalid_reason
from runners.execution.co_runner_messages import job_of
from runners.execution.co_runs import CoRuns, Proofs
from runners.execution.execute import CoRun, Observation
from runners.execution.witness import Ending
from runners.placement.thread_placement import Proof
from runners.placement.thread_trace import ThreadTrace
from runners.plan.launch import Launch
from tests.runners.cases import case, observation

SECOND = 1_000_000_000
CASE = case(co_runner=case())
PROVED = Proof("proved")


def observed(cpu_s: float | None = 1.0, **fields: object) -> Observation:
    return observation(Ending(0, 1.0, 1.0, 0.0, 1, cpu_s=cpu_s), **fields)


def reading(windows: list[tuple[float, float]], window: tuple[float, float]) -> Reading:
    """Return the fields of a run from the windows of its co-runner and its own, in seconds."""
    nanoseconds = tuple((round(a * SECOND), round(b * SECOND)) for a, b in windows)
    seen = CoRun(windows_ns=nanoseconds, proof=PROVED, cpu_s=2.5)
    own = round(window[0] * SECOND), round(window[1] * SECOND)
    return co_run_reading(observed(window_ns=own, co_run=seen))


def test_only_executions_within_the_programs_window_are_counted() -> None:
    found = reading([(0, 2), (2, 3), (3.5, 5), (5, 9)], (1, 6))
    assert found.fields["co_runner_completed"] == 2
    assert found.fields["co_runner_elapsed_s"] == pytest.approx(1.25)
    # Two in the three seconds from 2 to 5: the gap is lost throughput.
    assert found.fields["co_runner_rate_hz"] == pytest.approx(2 / 3)
    assert not found.unavailable


@pytest.mark.parametrize(
    ("windows", "reason"),
    [
        ([], "the co-runner did not end once in this run"),
        ([(0, 9)], "the co-runner did not end once in this run"),
        ([(0, 2)], "the only execution of the co-runner that ended in this run began before it"),
    ],
)
def test_without_a_whole_execution_there_is_a_reason_and_no_time(
    windows: list[tuple[float, float]], reason: str
) -> None:
    found = reading(windows, (1, 6))
    assert found.fields["co_runner_completed"] == 0
    assert not {"co_runner_elapsed_s", "co_runner_rate_hz"} & set(found.fields)
    assert found.unavailable == {"co_runner_elapsed_s": reason, "co_runner_rate_hz": reason}


@given(
    st.lists(st.tuples(st.floats(0.01, 5), st.floats(0, 1)), max_size=20),
    st.floats(0, 20),
    st.floats(0.01, 20),
)
def test_the_rate_is_never_more_than_the_mean_time_permits(
    lengths: list[tuple[float, float]], start: float, length: float
) -> None:
    windows, at = [], 0.0
    for elapsed, gap in lengths:
        windows.append((at, at + elapsed))
        at += elapsed + gap
    fields = reading(windows, (start, start + length)).fields
    whole = fields["co_runner_completed"]
    assert 0 <= whole <= len(windows)
    if whole:
        assert fields["co_runner_rate_hz"] <= 1 / fields["co_runner_elapsed_s"] * (1 + 1e-6)
        assert fields["co_runner_elapsed_s"] * whole <= length * (1 + 1e-6)


def test_a_failure_after_the_programs_end_does_not_count() -> None:
    seen = CoRun(problem="failed: exit status 1", failed_ns=7 * SECOND, proof=PROVED)
    assert invalid_reason(CASE, seen, (SECOND, 6 * SECOND)) is None
    assert invalid_reason(CASE, seen, (SECOND, 8 * SECOND)) == (
        "failed",
        "its co-runner demo-libgomp small x2 pcores-pin failed: exit status 1",
    )


def test_a_co_runner_elsewhere_violates_the_placement() -> None:
    seen = CoRun(proof=Proof("violated", "thread 7 ran on CPU 3, outside 2,4"))
    assert invalid_reason(CASE, seen, (0, SECOND)) == (
        "placement-violated",
        "its co-runner demo-libgomp small x2 pcores-pin: thread 7 ran on CPU 3, outside 2,4",
    )


@pytest.mark.parametrize(
    ("proofs", "verdict"),
    [
        ([], "unproved"),
        ([("proved", 1.0)], "proved"),
        # The one that was killed while it started.
        ([("proved", 1.0), ("unproved", 0.01)], "proved"),
        ([("proved", 1.0), ("unproved", 0.5)], "unproved"),
        ([("unproved", 1.0)], "unproved"),
        ([("proved", 100.0), ("violated", 0.01), ("proved", 1.0)], "violated"),
    ],
)
def test_the_proof_is_that_of_all_but_a_negligible_share(
    proofs: list[tuple[str, float]], verdict: str
) -> None:
    together = Proofs()
    for of_one, cpu_s in proofs:
        together.add(Proof(of_one, "why"), observed(cpu_s))
    assert together.together.verdict == verdict


def test_the_threads_that_are_shown_are_those_that_worked_most() -> None:
    together = Proofs()
    for cpu_s, tid in ((1.0, 1), (3.0, 2), (2.0, 3)):
        trace = ThreadTrace(tid, tid)
        together.add(PROVED, observed(cpu_s, threads=(trace,), looks=tid))
    assert [trace.tid for trace in together.threads] == [2]
    assert together.looks == 2


def test_a_supervisor_whose_starter_was_killed_ends_without_a_word(tmp_path: Path) -> None:
    commands, no_more = os.pipe()
    nobody, answers = os.pipe()
    os.close(no_more)
    os.close(nobody)
    launch = Launch((), ("/bin/true",), dict(os.environ), {}, ())
    job = job_of(case(), launch, tmp_path / "no witness", tuple(os.sched_getaffinity(0)))
    try:
        CoRuns(job, commands, answers).run()
    finally:
        os.close(commands)
        os.close(answers)
