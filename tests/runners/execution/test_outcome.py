"""What a run is worth, and the numbers its program printed."""

from __future__ import annotations

import signal
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from configs.app import Check, Metric
from runners.execution.execute import Observation
from runners.execution.outcome import classify, proof_of, read_metrics, stderr_tail
from runners.execution.witness import Ending
from runners.placement.thread_placement import Expected, Proof
from runners.placement.thread_trace import Stay, ThreadTrace
from runners.records.status import FINAL
from tests.runners.cases import DEMO, SMALL, case, observation

PROVED = Proof("proved")
VIOLATED = Proof("violated", "thread 7 ran on CPU 3")


def seen(
    exit_code: int = 0,
    number: int = 0,
    stdout: str = "",
    timed_out: bool = False,
    exec_errno: int | None = None,
) -> Observation:
    ending = Ending(exit_code << 8 | number, 1.0, 0.9, 0.1, 1 << 20, exec_errno)
    return observation(ending, timed_out=timed_out, stdout=stdout)


@pytest.mark.parametrize(
    ("observation", "proof", "status", "reason"),
    [
        (seen(), PROVED, "ok", ""),
        (seen(), Proof("unproved", "too short"), "ok", ""),
        (seen(), VIOLATED, "placement-violated", "thread 7 ran on CPU 3"),
        (seen(exit_code=3), VIOLATED, "check-failed", "own check failed"),
        (seen(exit_code=5), VIOLATED, "failed", "exit status 5"),
        (seen(number=signal.SIGSEGV), VIOLATED, "failed", "SIGSEGV"),
        (seen(number=signal.SIGILL), VIOLATED, "failed", "make clean setup"),
        (seen(number=64), VIOLATED, "failed", "ended by"),
        (seen(number=signal.SIGKILL, timed_out=True), PROVED, "timeout", "limit of 10 s"),
        (seen(exit_code=127, exec_errno=2), PROVED, "failed", "could not be started: No such file"),
    ],
)
def test_status_and_reason(
    observation: Observation, proof: Proof, status: str, reason: str
) -> None:
    found = classify(case(), observation, proof)
    assert found[0] == status
    assert reason in found[1]


@pytest.mark.parametrize(
    ("stderr", "by_words", "reason"),
    [
        ("", True, ""),
        ("OMP: Warning #250: OMP_PLACES: syntax error, using core.", False, ""),
        (
            "one\nOMP: Warning #250: OMP_PLACES: syntax error,  using core.\ntwo",
            True,
            "the OpenMP runtime did not do what it was asked: OMP: Warning #250: OMP_PLACES: "
            "syntax error, using core.",
        ),
        (
            "\nlibgomp: Invalid value for environment variable OMP_PLACES: cors\n",
            True,
            "the OpenMP runtime did not do what it was asked: libgomp: Invalid value for "
            "environment variable OMP_PLACES: cors",
        ),
        # Not a line of a runtime, and not about where threads are.
        ("my OMP: Warning #1: OMP_PLACES", True, ""),
        ("OMP: Warning #96: Cannot form a team with 9 threads", True, ""),
    ],
)
def test_a_runtime_that_says_it_did_otherwise_violates_even_where_threads_are_in_place(
    stderr: str, by_words: bool, reason: str
) -> None:
    thread = ThreadTrace(7, 7, [Stay((0,), 20, Counter({0: 20}), 1.0)], 1, 20)
    run = replace(seen(), threads=(thread,), looks=20, stderr=stderr)
    proof = proof_of(run, [Expected("pin", (0,), 1, by_words=by_words)])
    assert proof == (Proof("violated", reason) if reason else Proof("proved"))


@pytest.mark.parametrize(
    ("uncharged", "verdict"),
    [
        ({}, "unproved"),
        ({"steal_s": 0.3}, "proved"),
        ({"interrupts_s": 0.3, "steal_s": 0.0}, "proved"),
        ({"interrupts_s": 0.1, "steal_s": 0.1}, "unproved"),
    ],
)
def test_time_that_no_process_is_charged_for_is_missed_in_none(
    uncharged: dict[str, float], verdict: str
) -> None:
    # Processes used 1 s of the 1.3 s that perf counted.
    thread = ThreadTrace(7, 7, [Stay((0,), 20, Counter({0: 20}), 1.0)], 0, 19)
    observation = replace(seen(), threads=(thread,), looks=20)
    observation = replace(observation, ending=replace(observation.ending, cpu_s=1.0))

    proof = proof_of(observation, [Expected("pin", (0,), 1)], {"task_clock_s": 1.3} | uncharged)

    assert proof.verdict == verdict


INVALID = ("clock-drifted", "the guest's clock went +0.2 s")
CHANGED = "governor was powersave after the run"


CHECK_SAID = "the check './verify.sh' ended with exit status 1: row 7"
ENGINE = {"invalid_reason": INVALID}
REFUSED = {"check_failure": CHECK_SAID}


@pytest.mark.parametrize(
    ("observation", "more", "proof", "status"),
    [
        # A disturbance is reported only for a run that is otherwise good.
        (seen(number=signal.SIGKILL, timed_out=True), ENGINE | REFUSED, VIOLATED, "timeout"),
        (seen(exit_code=127, exec_errno=2), ENGINE, VIOLATED, "failed"),
        (seen(number=signal.SIGSEGV), ENGINE, VIOLATED, "failed"),
        # The check command does not run for a failed run.
        (seen(exit_code=5), ENGINE | REFUSED, VIOLATED, "failed"),
        (seen(exit_code=3), ENGINE, VIOLATED, "check-failed"),
        # A wrong result is worth nothing wherever it was made.
        (seen(), ENGINE | REFUSED, VIOLATED, CHECK_SAID),
        (seen(), ENGINE, VIOLATED, "placement-violated"),
        (seen(), ENGINE, PROVED, INVALID[1]),
        (seen(), ENGINE, Proof("unproved", "too short"), INVALID[1]),
        (seen(), {}, PROVED, CHANGED),
    ],
)
def test_of_several_reasons_the_nearest_to_the_program_counts(
    observation: Observation, more: dict[str, Any], proof: Proof, status: str
) -> None:
    assert status in classify(case(), replace(observation, **more), proof, CHANGED)


def test_a_violated_placement_of_a_guest_s_cpus_has_the_engine_s_words() -> None:
    invalid_reason = ("placement-violated", "virtual CPUs: thread 9 ran on CPU 3, outside 0-1")
    observation = replace(seen(), invalid_reason=invalid_reason)
    assert classify(case(), observation, PROVED) == invalid_reason
    # The program's own is nearer to its numbers.
    assert classify(case(), observation, VIOLATED)[1] == VIOLATED.reason


@pytest.mark.parametrize("status", ["clock-drifted", "placement-violated"])
def test_a_run_that_an_engine_objects_to_is_not_made_again(status: str) -> None:
    assert status in FINAL


def test_a_pattern_that_must_be_printed_is_a_check() -> None:
    app = replace(DEMO, check=Check(pattern="^all well"))
    assert classify(case(app=app), seen(stdout="x\nall well\n"), PROVED)[0] == "ok"
    assert classify(case(app=app), seen(stdout="x\n"), PROVED)[0] == "check-failed"
    quiet = replace(SMALL, quiet=True)
    assert classify(case(app=app, size=quiet), seen(stdout=""), PROVED)[0] == "ok"


def test_the_last_match_is_the_metric() -> None:
    values, absent = read_metrics(case(), seen(stdout="time = 1\ntime = 2.5e-1\n"))
    assert values == {"elapsed_s": 0.25}
    assert not absent


@pytest.mark.parametrize(
    "stdout",
    [
        *("", "time = soon", "time = nan", "time = inf", "time = 1e999", "time = 1_000"),
        *("time = 0x1p3", "time = \u0663.\u0665", "time = 1,000.5", "time = 12,5", "time = ."),
    ],
)
def test_what_is_no_finite_number_is_absent_with_a_reason(stdout: str) -> None:
    values, absent = read_metrics(case(), seen(stdout=stdout))
    assert not values
    assert absent["elapsed_s"]


@pytest.mark.parametrize(
    ("pattern", "stdout", "value"),
    [
        (r"time = (\d+)", "time = 12", 12.0),
        (r"time = (\d+)", "time = 12 s, 13 threads", 12.0),
        (r"time = (\d+)", "time = 12, 13, 14.", 12.0),
        (r"time = (\d+)", "time = 12.", 12.0),
        # What follows belongs to the number: a part of it would be a wrong one.
        (r"time = (\d+)", "time = 12.5", None),
        (r"time = (\d+)", "time = 12,5", None),
        (r"time = (\d+)", "time = 1'200", None),
        (r"time = (\d+)", "time = 1_200", None),
        (r"time = ([\d.]+)", "time = 1.2e9", None),
        (r"time = (\d{2})", "time = 123", None),
        # So does what precedes it.
        (r"([\d.]+) s", "1,234.5 s", None),
        (r"([\d.]+) s", "time = -7 s", None),
        (r"([\d.]+) s", "-7 s", None),
        (r"(\d+) s", "12.5 s", None),
        (r"(\d+) s", "1'200 s", None),
        (r"(\d+) s", "2.5e-3 s", None),
        (r"(\d{2}) s", "123 s", None),
        (r"([\d.]+) s", "12, 1.5 s", 1.5),
        (r"([\d.]+) s", "1 s, rank 0:1.5 s", 1.5),
        (r"([\d.]+) s", "x-1.5 s", 1.5),
        # Such a pattern knows what precedes or follows.
        (r",([\d.]+) s", "8,1.5 s", 1.5),
        (r"( \d+) s", "12 13 s", 13.0),
        (r"time = (\d+ )", "time = 12 13", 12.0),
        (r"time = (\d+),\d+ or", "time = 12,13 or", 12.0),
        (r"time = (\d+),", "time = 12,13", 12.0),
        (r"time =( \d+)?", "time =", None),
    ],
)
def test_a_part_of_a_number_is_no_number(pattern: str, stdout: str, value: float | None) -> None:
    app = replace(DEMO, metrics=(Metric("t", pattern, "s"),))
    values, absent = read_metrics(case(app=app), seen(stdout=stdout))
    assert values.get("t") == value
    assert ("t" in absent) == (value is None)


def test_a_quiet_size_has_no_metrics_and_says_why() -> None:
    quiet = replace(SMALL, quiet=True)
    _, absent = read_metrics(case(size=quiet), seen(stdout="time = 1"))
    assert absent == {"elapsed_s": "the size small silences the program"}


def test_metrics_can_be_on_stderr() -> None:
    app = replace(DEMO, metrics=(Metric("t", r"t=(\d+)", "s", "stderr"),))
    observation = replace(seen(stdout="t=1"), stderr="t=2")
    assert read_metrics(case(app=app), observation)[0] == {"t": 2.0}


def test_control_characters_never_reach_the_record() -> None:
    assert stderr_tail("a\x1b[31mred\x00\n") == "a\ufffd[31mred\ufffd"


EXPECTING = replace(SMALL, expect={"elapsed_s": (1.5, 2.0)})


@pytest.mark.parametrize(
    ("stdout", "status", "reason"),
    [
        ("time = 1.5\n", "ok", ""),
        ("time = 2\n", "ok", ""),
        ("time = 2.1\n", "check-failed", "elapsed_s is 2.1, expected 1.5 to 2"),
        ("no time\n", "check-failed", "elapsed_s is not known: stdout has nothing that matches"),
    ],
)
def test_a_metric_that_is_not_what_its_size_expects_fails_the_check(
    stdout: str, status: str, reason: str
) -> None:
    found = classify(case(size=EXPECTING), seen(stdout=stdout), PROVED)
    assert found[0] == status
    assert found[1].startswith(reason)


def test_one_number_is_expected_as_it_is() -> None:
    exact = replace(SMALL, expect={"elapsed_s": (575.0, 575.0)})
    found = classify(case(size=exact), seen(stdout="time = 576\n"), PROVED)
    assert found == ("check-failed", "elapsed_s is 576, expected 575")


def test_nothing_is_expected_of_what_a_quiet_size_does_not_print() -> None:
    quiet = replace(EXPECTING, quiet=True)
    assert classify(case(size=quiet), seen(), PROVED) == ("ok", "")


# Nested repeats in a short line, and blanks in which the engine does not look for signals.
ENDLESS = [
    pytest.param(r"^(a+)+(b)", "a" * 60, id="nested"),
    pytest.param(r"\s+\s+(x)", " " * 200_000, id="long"),
    pytest.param(r"\s+(x)", " " * 2_000_000, id="quadratic"),
]


@pytest.mark.parametrize(("pattern", "printed"), ENDLESS)
def test_a_pattern_that_would_never_be_decided_costs_seconds_and_says_so(
    pattern: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("base.patterns.LIMIT_S", 0.2)
    observation = seen(stdout=printed)
    app = replace(DEMO, metrics=(Metric("figure", pattern, ""),), check=Check(pattern=pattern))
    began = time.process_time()
    values, absent = read_metrics(case(app=app), observation)
    assert values == {}
    assert "was not decided within 0.2 s of CPU time" in absent["figure"]
    status, reason = classify(case(app=app), observation, PROVED)
    assert status == "check-failed"
    assert "was not decided within 0.2 s of CPU time" in reason
    assert time.process_time() - began < 5
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.parametrize("before", [0, 100_000])
def test_a_long_output_is_read_as_a_short_one(before: int) -> None:
    printed = "line\n" * before + "elapsed: 1.5 s\nelapsed: 2.5 s\nnothing: x\n"
    metrics = (
        Metric("elapsed", r"^elapsed: (\S+) s$", "s"),
        Metric("none", r"^missing: (\S+)$", ""),
        Metric("empty", r"^nothing: (\d)?", ""),
    )
    app = replace(DEMO, metrics=metrics, check=Check(pattern=r"^nothing"))
    values, absent = read_metrics(case(app=app), seen(stdout=printed))
    assert values == {"elapsed": 2.5}
    assert "nothing that matches" in absent["none"]
    assert "not a finite number" in absent["empty"]
    assert classify(case(app=app), seen(stdout=printed), PROVED) == ("ok", "")
    nowhere = replace(app, check=Check(pattern=r"^nowhere"))
    assert classify(case(app=nowhere), seen(stdout=printed), PROVED)[0] == "check-failed"
