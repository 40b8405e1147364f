"""SIGKILL of the runner at random moments: no run is lost but the one in flight, none is twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.settings.journal import STUDY, Journal, state_folder
from runners.settings.recovery import restore_after_crash
from runners.study.crash_notice import SUFFIX
from tests.faults.trial import Trial
from tests.runners.settings.factors import all_settings, distinct_settings
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
    from runners.records.reader import read_records

    return [record["run_id"] for record in read_records(records) if record["status"] == "ok"]
