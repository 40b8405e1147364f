"""Folders that cannot be written, are gone, moved, or no folders: one line, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runners.node import open_node
from tests.faults.small_disk import mounted
from tests.faults.trial import Trial
from tests.ordinary_user import NOBODY
from tests.tools import ROOT, missing


@pytest.mark.faults
def test_results_that_are_removed_meanwhile_are_told_at_once(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 200)
    runner = trial.start()
    trial.wait_for_start_after(1)
    shutil.rmtree(tmp_path / "results")
    status, said = trial.ends(runner)
    assert status == 1
    assert "was removed while the study ran" in said.splitlines()[-1]
    assert trial.starts() < 20
    trial.assert_no_process_left()


@pytest.mark.faults
def test_results_that_are_moved_meanwhile_are_continued_once_they_are_back(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 12)
    runner = trial.start()
    trial.wait_for_start_after(1)
    (tmp_path / "results").rename(tmp_path / "moved")
    status, said = trial.ends(runner)
    assert status == 1
    assert f"was moved to {tmp_path}/moved/trial/" in said.splitlines()[-1]
    (tmp_path / "moved").rename(tmp_path / "results")
    status, said = trial.run()
    assert status == 0, said
    trial.assert_complete()
    assert trial.starts() == trial.runs


@pytest.mark.parametrize(
    "place", ["trial/NODE", *(pytest.param(of, marks=pytest.mark.faults) for of in ("", "trial"))]
)
def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path, place: str) -> None:
    trial = Trial(tmp_path, 1)
    path = tmp_path / "results" / place.replace("NODE", open_node(Path("/")).node_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    status, said = trial.run()
    assert (status, trial.starts()) == (2, 0), said
    # click tells of a --results that is none in lines of its own.
    assert ("cannot write results here" if place else "is a file") in said.splitlines()[-1]


@pytest.mark.faults
@pytest.mark.parametrize("option", ["ro", "ro,remount"])
def test_results_that_may_only_be_read_are_told(tmp_path: Path, option: str) -> None:
    trial = Trial(tmp_path, 100)
    results = tmp_path / "results"
    results.mkdir()
    with mounted(results, "size=1m") as mount:
        if option == "ro":
            mount("remount,ro")
            status, said = trial.run()
            assert (status, trial.starts()) == (2, 0)
            assert "cannot write results here (Read-only file system)" in said.splitlines()[-1]
        else:
            # A disk that fails is made read-only by the kernel, whoever writes to it.
            runner = trial.start()
            trial.wait_for_start_after(2)
            (results / "full").write_bytes(bytes(900_000))
            mount("remount,size=900k")
            status, said = trial.ends(runner)
            assert status == 1
            assert "cannot write the record (No space left on device)" in said.splitlines()[-1]
        trial.assert_no_process_left()
        mount("remount,rw,size=2m")
        (results / "full").unlink(missing_ok=True)
        status, said = trial.run()
        assert status == 0, said
        trial.assert_complete()


@pytest.mark.faults
def test_a_folder_of_another_user_is_told(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 1)
    (tmp_path / "results").mkdir()
    tmp_path.chmod(0o755)
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if os.geteuid() != 0:
        missing("becoming another user needs root")
    runner = subprocess.Popen(
        [*user, sys.executable, str(ROOT / "pinstudy"), "run", str(tmp_path / "trial.yaml")],
        cwd="/",
        env=os.environ | {"HOME": "/", "PINSTUDY_RESULTS": str(tmp_path / "results")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    status, said = trial.ends(runner)
    assert status == 2
    assert "cannot write results here (Permission denied)" in said.splitlines()[-1]
