"""Signals, and streams that are closed, full or unread: a study ends in lines or goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.trial import Trial
from tests.support.cli import argv
from tests.support.tools import ROOT
from tests.support.wait import HANG_S

COMMAND = argv("run", "trial.yaml")


def full(_: ExitStack) -> int:
    return os.open("/dev/full", os.O_WRONLY)


def unread(_: ExitStack) -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def stuck(meanwhile: ExitStack) -> int:
    """Return a pipe that nobody empties, and that must not block."""
    reader, writer = os.pipe()
    meanwhile.callback(os.close, reader)
    os.set_blocking(writer, False)
    while True:
        try:
            os.write(writer, bytes(4096))
        except BlockingIOError:
            return writer


WHY = {full: "No space left on device", unread: "Broken pipe", stuck: "nobody reads it"}
SPOILT = [pytest.param(make, id=make.__name__) for make in WHY]


def run(
    trial: Trial, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        COMMAND,
        cwd=trial.folder,
        env=os.environ | {"PINSTUDY_RESULTS": str(trial.folder / "results")},
        text=True,
        timeout=HANG_S,
        check=False,
        stdout=stdout,
        stderr=stderr,
    )


@pytest.mark.parametrize("make", SPOILT)
def test_a_study_whose_stderr_takes_nothing_is_made_and_says_so_on_stdout(
    tmp_path: Path, make: Callable[[ExitStack], int]
) -> None:
    trial = Trial(tmp_path, 2)
    with ExitStack() as meanwhile:
        stream = make(meanwhile)
        done = run(trial, stderr=stream)
        os.close(stream)
    assert done.returncode == 0
    trial.assert_complete()
    assert f"stderr could not be written ({WHY[make]})" in done.stdout
    assert "unpinned" in done.stdout


@pytest.mark.parametrize("make", SPOILT)
def test_a_study_whose_stdout_takes_nothing_is_made_and_says_so_on_stderr(
    tmp_path: Path, make: Callable[[ExitStack], int]
) -> None:
    trial = Trial(tmp_path, 2)
    with ExitStack() as meanwhile:
        stream = make(meanwhile)
        done = run(trial, stdout=stream)
        os.close(stream)
    assert done.returncode == 1, "what was asked for was not printed"
    trial.assert_complete()
    err = done.stderr.splitlines()[-1]
    assert err.startswith(f"pinstudy: stdout could not be written ({WHY[make]})")
    assert "Traceback" not in done.stderr


def test_a_study_that_nobody_listens_to_is_made(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 2)
    with ExitStack() as meanwhile:
        stream = unread(meanwhile)
        done = run(trial, stdout=stream, stderr=stream)
        os.close(stream)
    assert done.returncode == 1
    trial.assert_complete()


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_files_of_the_study(tmp_path: Path, closed: str) -> None:
    trial = Trial(tmp_path, 2)
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND],
        cwd=tmp_path,
        env=os.environ | {"PINSTUDY_RESULTS": str(tmp_path / "results")},
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0
    trial.assert_complete()
    (shard,) = trial.records_folder.glob("*.jsonl")
    assert len(shard.read_bytes().splitlines()) == trial.runs
    assert all(line.startswith(b"{") for line in shard.read_bytes().splitlines())


def test_what_only_prints_still_ends_when_nobody_reads_it(tmp_path: Path) -> None:
    with ExitStack() as meanwhile:
        stream = unread(meanwhile)
        command = argv("mappings")
        done = subprocess.run(
            command, check=False, stdout=stream, stderr=subprocess.PIPE, cwd=tmp_path
        )
        os.close(stream)
    assert (done.returncode, done.stderr) == (1, b"")


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
