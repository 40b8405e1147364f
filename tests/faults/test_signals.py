"""SIGINT and SIGTERM at random moments of a whole command: one line, status 130, nothing left."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.faults.trial import Trial
from tests.support.tools import ROOT

MANY = 100


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_at_any_moment_says_so_in_lines(
    tmp_path: Path, number: signal.Signals
) -> None:
    trial = Trial(tmp_path, 6)
    moments = random.Random(number)
    (tmp_path / "aside").mkdir()
    ended = []
    for attempt in range(MANY):
        # In every second attempt a run is held until the signal, so the study cannot end before it.
        held = attempt % 2 == 1
        if held:
            trial.hold()
        starts = trial.starts()
        runner = trial.start()
        if held:
            trial.wait_for_start_after(starts)
        time.sleep(moments.uniform(0, 1 if held else 5))
        runner.send_signal(number)
        status, err = trial.wait_for(runner)
        trial.release()
        ended.append(status)
        assert status == 130 or not held, err
        if "Traceback" in err:
            assert is_python_starting(err), err
        assert status in (0, 130, -number) or is_python_starting(err), err
        if status == 130:
            assert err.endswith("pinstudy: stopped\n"), err
        assert "was ended from outside" not in err
        trial.assert_no_process_left()
        trial.assert_none_twice()
        if len(trial.final_runs()) == trial.runs:
            (results,) = tmp_path.glob("results")
            results.rename(tmp_path / "aside" / str(len(ended)))
    trial.run()
    trial.assert_complete()


def is_python_starting(err: str) -> bool:
    """Return whether the interpreter was interrupted at its start, before any code of pinstudy."""
    floors = ("pinstudy", "analysis", "runners", "configs")
    ours = any(f'File "{ROOT}/{floor}/' in err for floor in floors)
    return "KeyboardInterrupt" in err and not ours


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.faults)]
)
def test_a_second_signal_ends_it_as_well(tmp_path: Path, number: signal.Signals) -> None:
    trial = Trial(tmp_path, 3, nap_s=5)
    runner = trial.start()
    trial.wait_for_start_after(0)
    runner.send_signal(number)
    time.sleep(0.01)
    runner.send_signal(number)
    status, err = trial.wait_for(runner)
    assert status == 130, err
    assert "Traceback" not in err
    assert err.endswith("pinstudy: stopped\n") or "Nothing that was measured is lost" in err
    trial.assert_no_process_left()


@pytest.mark.faults
def test_a_runner_that_ignores_the_end_of_the_terminal_goes_on(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 2, nap_s=0.2)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        runner = trial.start()
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    trial.wait_for_start_after(0)
    runner.send_signal(signal.SIGHUP)
    status, err = trial.wait_for(runner)
    assert status == 0, err
    trial.assert_complete()
