"""Folders that cannot be written, are gone, moved, or no folders: one line, and nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runners.node.node import open_node
from tests.faults.small_disk import mounted
from tests.faults.trial import Trial


@pytest.mark.faults
def test_results_that_are_removed_meanwhile_are_reported_at_once(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 200)
    runner = trial.start()
    trial.wait_for_start_after(1)
    shutil.rmtree(tmp_path / "results")
    status, err = trial.wait_for(runner)
    assert status == 1
    assert "was removed while the study ran" in err.splitlines()[-1]
    assert trial.starts() < 20
    trial.assert_no_process_left()


@pytest.mark.faults
def test_results_that_are_moved_meanwhile_are_continued_once_they_are_back(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 12)
    runner = trial.start()
    trial.wait_for_start_after(1)
    (tmp_path / "results").rename(tmp_path / "moved")
    status, err = trial.wait_for(runner)
    assert status == 1
    assert f"was moved to {tmp_path}/moved/trial/" in err.splitlines()[-1]
    (tmp_path / "moved").rename(tmp_path / "results")
    status, err = trial.run()
    assert status == 0, err
    trial.assert_complete()
    assert trial.starts() == trial.runs


@pytest.mark.parametrize(
    "place", ["trial/NODE", *(pytest.param(of, marks=pytest.mark.faults) for of in ("", "trial"))]
)
def test_a_file_in_place_of_a_folder_is_reported(tmp_path: Path, place: str) -> None:
    trial = Trial(tmp_path, 1)
    path = tmp_path / "results" / place.replace("NODE", open_node(Path("/")).node_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    status, err = trial.run()
    assert (status, trial.starts()) == (2, 0), err
    # click itself reports a --results that is no folder, in several lines.
    assert ("cannot write results here" if place else "is a file") in err.splitlines()[-1]


@pytest.mark.faults
def test_read_only_results_are_reported(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 3)
    results = tmp_path / "results"
    results.mkdir()
    with mounted(results, "size=1m") as mount:
        mount("remount,ro")
        status, err = trial.run()
        assert (status, trial.starts()) == (2, 0)
        assert "cannot write results here (Read-only file system)" in err.splitlines()[-1]
        mount("remount,rw")
        status, err = trial.run()
        assert status == 0, err
        trial.assert_complete()
