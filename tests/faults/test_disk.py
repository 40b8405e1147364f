"""Results that cannot be written, full disks among them: one line, and nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pinstudy.runners.node.node import open_node
from tests.faults.small_disk import FILLER, fill_but, mounted
from tests.faults.trial import Trial

# A page is the smallest room on a tmpfs: one for the under-way file, one for the study's file, some
# for the node's facts and picture, one for a record or two, and then those of the tables.
PAGES = range(48)
# In the middle of the runs.
SMALL = 14


@pytest.mark.parametrize(
    "pages", [SMALL, *(pytest.param(of, marks=pytest.mark.faults) for of in PAGES if of != SMALL)]
)
def test_a_disk_with_so_much_room_loses_and_repeats_nothing(tmp_path: Path, pages: int) -> None:
    trial = Trial(tmp_path, 8)
    results = tmp_path / "results"
    results.mkdir()
    with mounted(results, "size=400k"):
        fill_but(results, pages)
        status, err = trial.run()
        assert "Traceback" not in err
        complete = len(trial.final_runs()) == trial.runs
        last = err.splitlines()[-1]
        if status:
            assert status == 1, err
            assert "No space left on device" in last, err
            assert last.startswith("pinstudy: ")
        else:
            assert complete
        trial.assert_none_twice()
        recorded, starts = len(trial.final_runs()), trial.starts()
        # At most the run whose record had no room is lost.
        assert starts - recorded <= 1
        (results / FILLER).unlink()
        again, err = trial.run()
        assert again == 0, err
        trial.assert_complete()
        assert trial.starts() - starts == trial.runs - recorded
        assert "was ended from outside" not in err
        gave_up = err.splitlines()[0] if err else ""
        if status and 0 < recorded < trial.runs:
            assert "gave up (" in gave_up
            assert f": {recorded} run" in gave_up


@pytest.mark.faults
@pytest.mark.parametrize("pages", (0, 1, 5, 20, 60, 200))
def test_a_disk_that_is_full_when_all_is_measured_costs_what_is_made_of_it(
    tmp_path: Path, pages: int
) -> None:
    trial = Trial(tmp_path, 3)
    results = tmp_path / "results"
    results.mkdir()
    with mounted(results, "size=4m"):
        assert trial.run()[0] == 0
        fill_but(results, pages)
        status, err = trial.run(PINSTUDY_REPORT="1")
        assert "Traceback" not in err
        # All fits in, or nothing does.
        if pages in (0, 200):
            assert status == (pages == 0), err
        if status:
            assert status == 1
            assert "No space left on device" in err.splitlines()[-1]
        trial.assert_complete()
        (results / FILLER).unlink()
        status, err = trial.run(PINSTUDY_REPORT="1")
        assert status == 0, err
        trial.assert_complete()
        assert trial.starts() == trial.runs
        assert not list(results.rglob(".*")), "something half written was left"


@pytest.mark.faults
@pytest.mark.parametrize("pages", range(5))
def test_a_full_folder_for_temporary_files_ends_the_attempt(tmp_path: Path, pages: int) -> None:
    trial = Trial(tmp_path, 3)
    program = tmp_path / "nap"
    program.write_text(
        f"#!/bin/sh\necho $$ >>{tmp_path}/starts\nhead -c 9000 /dev/zero 2>/dev/null\nexit 0\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with mounted(temporary, "size=400k"):
        fill_but(temporary, pages)
        status, err = trial.run(TMPDIR=str(temporary))
        room_for_output = 3
        if pages > room_for_output:
            assert status == 0, err
            return
        if status:
            assert status == 1
            assert "what programs print cannot be kept (No space left on device)" in err
            assert not trial.final_runs()
        else:
            # Python found another folder, as it does when it cannot write to this one.
            assert pages == 0
    status, err = trial.run()
    assert status == 0, err
    trial.assert_complete()


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
