"""What a record says of a co-runner, and what its supervisor's messages may hold."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.decoding import complete, message_of
from pinstudy.base.reading import Reading
from pinstudy.configs.app import Check, Metric
from pinstudy.runners.execution.co_runner import (
    Answer,
    CoRunnerJob,
    CoRuns,
    Counted,
    Proofs,
    co_run_reading,
    invalid_reason,
    job_of,
    receive,
)
from pinstudy.runners.execution.execute import CoRun, Observation
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.placement.thread_placement import Proof
from pinstudy.runners.placement.thread_trace import Stay, ThreadTrace
from pinstudy.runners.plan.launch import Launch
from tests.runners.cases import case, observation
from tests.support.wait import HANG_S

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
def test_without_a_whole_execution_no_time(windows: list[tuple[float, float]], reason: str) -> None:
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


FAILED = CoRun(problem="failed: exit status 1", failed_ns=7 * SECOND, proof=PROVED)
ELSEWHERE = CoRun(proof=Proof("violated", "thread 7 ran on CPU 3, outside 2,4"))


@pytest.mark.parametrize(
    ("seen", "end_s", "reason"),
    [
        # A failure after the program's end does not count.
        (FAILED, 6, None),
        (FAILED, 8, ("failed", " failed: exit status 1")),
        (ELSEWHERE, 1, ("placement-violated", ": thread 7 ran on CPU 3, outside 2,4")),
    ],
)
def test_a_bad_co_runner_is_told(seen: CoRun, end_s: int, reason: tuple[str, str] | None) -> None:
    name = "its co-runner demo-libgomp small x2 pcores-pin"
    expected = (reason[0], name + reason[1]) if reason else None
    assert invalid_reason(CASE, seen, (0, end_s * SECOND)) == expected


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
def test_the_proof_is_of_all_but_little(proofs: list[tuple[str, float]], verdict: str) -> None:
    together = Proofs()
    for looks, (proof, cpu_s) in enumerate(proofs):
        trace = ThreadTrace(looks, looks)
        together.add(Proof(proof, "why"), observed(cpu_s, threads=(trace,), looks=looks))
    assert together.together.verdict == verdict
    if proofs:
        # The threads that are shown are those that worked most.
        busiest = max(range(len(proofs)), key=lambda index: proofs[index][1])
        assert ([trace.tid for trace in together.threads], together.looks) == ([busiest], busiest)


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


TRACE = ThreadTrace(
    *(7, 7, [Stay((2, 4), 3, Counter({2: 2, 4: 1}), 0.5, None)]), 1, 3, 0.1, {2: 0.01}, {2: 0.4}
)
SEEN = CoRun(((10, 25), (30, 2**60)), "", 0, 1.5, 0.1, Proof("proved"), (TRACE,), 3)
NONE_SEEN = CoRun(problem="failed: exit status 3", failed_ns=5)
THREAD = message_of(SEEN)["threads"][0]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def received(kind: type[Answer], said: object) -> Answer:
    """Return the answer of a supervisor that has said this and ended."""
    line = said if isinstance(said, bytes) else json.dumps(said).encode() + b"\n"
    with os.fdopen(os.memfd_create("said"), "w+b") as file:
        file.write(line)
        file.seek(0)
        return receive(Channel(file.fileno()), kind, HANG_S)


@pytest.mark.parametrize("answer", [Counted(), Counted("is gone", 2.5, 0.25), SEEN, NONE_SEEN])
def test_an_answer_arrives_as_it_was_sent(answer: Counted | CoRun) -> None:
    kind: Any = type(answer)
    assert received(kind, message_of(answer)) == answer


def test_a_job_arrives_as_it_was_sent() -> None:
    made = case()
    size = replace(made.size, expect={"drift": (-0.5, 0.5), "iterations": (575, 575)})
    check = Check(failed_status=2, pattern="ok$")
    app = replace(made.app, check=check, metrics=(Metric("drift", r"drift (\S+)", "1"),))
    launch = Launch(("taskset",), ("/bin/true",), {"A": "\udcff"}, {"A": "\udcff"}, ("B",))
    job = job_of(replace(made, app=app, size=size), launch, Path("witness"), (0, 3))
    assert complete(json.loads(json.dumps(message_of(job))), CoRunnerJob) == job


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_what_is_no_job_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is"):
        complete(message, CoRunnerJob)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("problem", [None, 3]),
        ("windows_ns", [[[1]], [[2, 1]], [[1, "2"]], [[1, 2**63]], [[0, 0]] * 300_001]),
        ("cpu_s", [-1.0, float("nan"), float("inf")]),
        ("looks", [True]),
        ("proof", [{"verdict": "fine", "reason": ""}, []]),
        ("threads", [[{}], [THREAD | {"team": 1}], [THREAD | {"tid": -1}]]),
    ],
)
def test_an_answer_with_an_odd_field_is_refused(field: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ChannelError, match=r"^no answer: ") as refused:
            received(CoRun, message_of(SEEN) | {field: value})
        assert len(str(refused.value)) < 120


@given(st.dictionaries(st.sampled_from(sorted(vars(SEEN))), JSON))
def test_no_answer_makes_anything_else_than_an_error(message: dict[str, Any]) -> None:
    with pytest.raises(ChannelError):
        received(CoRun, message)


@pytest.mark.parametrize("said", [b"", b'{"problem": ""', b"\x80\x04\x95.", b"{}\n", b"[]\n"])
def test_what_is_no_answer_at_all_is_refused(said: bytes) -> None:
    with pytest.raises(ChannelError):
        received(Counted, said)


def test_the_texts_of_an_answer_can_be_shown() -> None:
    ugly = "no\n\x1b[31mluck\n" + "x" * 100_000
    told = message_of(replace(SEEN, problem=ugly, proof=Proof("violated", ugly)))
    seen = received(CoRun, told)
    for text in (seen.problem, seen.proof.reason):
        assert text.isprintable() and text.startswith("no")
        assert len(text) <= 1000
