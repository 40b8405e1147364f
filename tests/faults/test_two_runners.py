"""Two runners on one results folder: no run is made twice, and the older one stops."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from configs.library import load_study
from runners.study.machine import open_machine
from runners.study.session import Session
from tests.faults.trial import Trial
from tests.runners.study.made_node import Quiet
from tests.support.cli import argv


def start_on_second_node(trial: Trial) -> subprocess.Popen[str]:
    """Start the study where this node's lock is invisible, as on a second node of that name."""
    lock = tempfile.mkdtemp(dir=trial.folder)
    own = {"PINSTUDY_LOCK": lock, "PINSTUDY_RESULTS": str(trial.folder / "results")}
    return subprocess.Popen(
        argv("run", "trial.yaml"),
        cwd=trial.folder,
        env=os.environ | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.faults
def test_two_that_start_at_once_on_one_node_are_one_and_a_line(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 40)
    moments = random.Random(1)
    for _ in range(20):
        runners = [trial.start()]
        time.sleep(moments.uniform(0, 0.05))
        runners.append(trial.start())
        ends = [trial.wait_for(runner) for runner in runners]
        refused = [err for status, err in ends if status == 1]
        for err in refused:
            assert err.splitlines()[-1].startswith("pinstudy: another pinstudy is at work"), err
        assert [status for status, _ in ends if status not in (0, 1)] == []
        assert len(refused) <= 1
        trial.assert_complete()
        (tmp_path / "results").rename(tmp_path / f"results-{len(list(tmp_path.iterdir()))}")


@pytest.mark.faults
def test_two_that_do_not_see_each_other_make_no_run_twice(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 40)
    moments = random.Random(2)
    for _ in range(20):
        runners = [start_on_second_node(trial)]
        time.sleep(moments.uniform(0, 0.5))
        runners.append(start_on_second_node(trial))
        for runner in runners:
            status, err = trial.wait_for(runner)
            assert "Traceback" not in err
            assert status in (0, 1), err
        status, err = trial.run()
        assert status == 0, err
        trial.assert_complete()
        (tmp_path / "results").rename(tmp_path / f"results-{len(list(tmp_path.iterdir()))}")


@pytest.mark.faults
def test_one_that_was_held_finds_that_a_newer_one_has_made_its_runs(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 6)
    stopped = start_on_second_node(trial)
    trial.wait_for_start_after(1)
    stopped.send_signal(signal.SIGSTOP)
    status, err = trial.run()
    assert status == 0, err
    trial.assert_complete()
    stopped.send_signal(signal.SIGCONT)
    status, err = trial.wait_for(stopped)
    assert status == 1
    assert "a newer pinstudy run works here (this is attempt 1); this one stops" in err
    trial.assert_complete()
    trial.assert_no_process_left()


def test_what_another_has_recorded_since_the_plan_was_made_is_not_made_again(
    tmp_path: Path,
) -> None:
    trial = Trial(tmp_path, 2)
    study = load_study(str(tmp_path / "trial.yaml"))
    machine = open_machine(Path("/"), None)
    late, early = (Session(machine, study, tmp_path / "results", fresh=False) for _ in range(2))
    assert late.summary.left == trial.runs
    early.run(Quiet())
    trial.assert_complete()
    late.run(Quiet())
    assert late.summary.left == 0
    assert trial.starts() == trial.runs
    trial.assert_complete()
