"""Runners that are killed, and two on one results folder: no run is lost or made twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pinstudy.configs.library import load_study
from pinstudy.runners.settings.journal import STUDY, Journal, state_folder
from pinstudy.runners.settings.recovery import restore_after_crash
from pinstudy.runners.study.crash_notice import SUFFIX
from pinstudy.runners.study.machine import open_machine
from pinstudy.runners.study.session import Session
from tests.faults.trial import Trial
from tests.runners.settings.factors import all_settings, distinct_settings
from tests.runners.study.made_node import Quiet
from tests.support.cli import argv
from tests.support.tools import ROOT
from tests.support.trees import build_tree
from tests.support.wait import until

MANY = 200


@pytest.mark.faults
def test_a_study_that_is_killed_again_and_again_loses_and_repeats_nothing(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 10000)
    moments = random.Random(8)
    recorded: set[str] = set()
    interrupted = 0
    for _ in range(MANY):
        was_under_way = bool(list(trial.records_folder.glob(f"*{SUFFIX}")))
        starts = trial.starts()
        runner = trial.start()
        if moments.random() < 0.5:
            time.sleep(moments.uniform(0, 3))
        else:
            trial.wait_for_start_after(starts)
            time.sleep(moments.uniform(0, 0.5))
        runner.send_signal(signal.SIGKILL)
        status, err = trial.wait_for(runner)
        assert status == -signal.SIGKILL, err
        assert "Traceback" not in err
        trial.assert_no_process_left()
        trial.assert_none_twice()
        run_ids = {record["run_id"] for record in trial.final_runs()}
        assert recorded <= run_ids
        assert trial.starts() - starts <= len(run_ids - recorded) + 1
        recorded = run_ids
        if err:
            assert err.count("was ended from outside before run ") == was_under_way
            interrupted += was_under_way
    assert interrupted >= MANY // 4, "the kills came too early"
    assert len(recorded) >= MANY // 4


@pytest.mark.parametrize("kills", [2, pytest.param(MANY, marks=pytest.mark.faults)])
def test_a_killed_study_that_sets_governors_is_continued_and_leaves_them_as_they_were(
    tmp_path: Path, kills: int
) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    distinct_settings(root)
    before = all_settings(root)
    journal = Journal(state_folder(root), STUDY)
    moments = random.Random(9)
    runs = 2 * kills
    command = [sys.executable, "-m", "tests.faults.runner", str(tmp_path), str(root), str(runs)]
    changed = 0
    recorded: set[str] = set()
    records = tmp_path / "records"
    # The first kill comes while a run is held, whose governor is set.
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    for kill in range(kills):
        runner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert runner.stdout is not None
        assert runner.stdout.readline(), "the runner has ended by itself"
        if kill == 0:
            until(lambda: all_settings(root) != before)
            gate.unlink()
        else:
            time.sleep(moments.uniform(0, 0.3))
        runner.send_signal(signal.SIGKILL)
        runner.communicate()
        changed += all_settings(root) != before
        lines = restore_after_crash(root)
        assert all_settings(root) == before, lines
        assert not journal.exists()
        run_ids = good_run_ids(records)
        assert recorded <= set(run_ids)
        recorded = set(run_ids)
    assert subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    assert all_settings(root) == before
    assert not journal.exists()
    run_ids = good_run_ids(records)
    assert recorded <= set(run_ids)
    assert len(run_ids) == 2 * runs, "a run of each governor for each repetition, and none twice"
    assert changed, "the kills came when there was nothing to put back"


def good_run_ids(records: Path) -> list[str]:
    from pinstudy.runners.records.reader import read_records

    return [record["run_id"] for record in read_records(records) if record["status"] == "ok"]


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
