"""`pinstudy report`, as it is typed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.analysis.report.made_results import make_results
from tests.support.cli import argv, pinstudy
from tests.support.results import record, write
from tests.support.studies import write_app, write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "made-up" / "node1"
    folder.mkdir(parents=True)
    return make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=5)


def test_the_report_is_one_file_beside_the_records(tmp_path: Path, study: Path) -> None:
    done = pinstudy(tmp_path, "report", str(study.parent))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"written: {study / 'report.html'}\n"
    assert (study / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_a_publication_is_reported_into_a_folder(tmp_path: Path) -> None:
    pinstudy(tmp_path, "report", "published:galante-2025", "--output", "new", status=0)
    assert (tmp_path / "new" / "report.html").exists()


def test_results_are_found_by_their_name_below_all_results(tmp_path: Path, study: Path) -> None:
    for name in ("made-up", "made-up/node1"):
        arguments = ("tables", name, "--no-files")
        done = pinstudy(tmp_path, *arguments, status=0, PINSTUDY_RESULTS=str(study.parent.parent))
        assert "lu" in done.stdout
    lost = pinstudy(tmp_path, "tables", "made-up", PINSTUDY_RESULTS=str(tmp_path))
    assert (lost.returncode, lost.stdout) == (2, "")
    assert lost.stderr.startswith("pinstudy: made-up: no results here")


def test_a_study_in_which_every_run_failed_still_has_its_report(tmp_path: Path) -> None:
    write_app(tmp_path, "fails", "/bin/false", {"only": {"arguments": []}})
    write_study(tmp_path, "study", "fails", "only", repetitions=2)
    # The status is that of a study with failed runs.
    pinstudy(tmp_path, "run", "study.yaml", "--report", status=1)
    (folder,) = tmp_path.glob("results/study/*")
    page = (folder / "report.html").read_text()
    assert "No answer: no mapping could be compared with another" in page
    for command in ("tables", "verdict", "report", "figures", "card"):
        pinstudy(tmp_path, command, str(folder), status=0)


def test_a_report_is_drawn_from_a_notebook_too(tmp_path: Path) -> None:
    write(tmp_path, [record(number, of) for number in (1, 2) for of in (1, 2, 3)])
    done = subprocess.run(
        argv("report", str(tmp_path)),
        env=os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "<figure" in (tmp_path / "report.html").read_text()
