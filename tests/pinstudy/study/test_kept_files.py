"""The files that make a result repeatable lie beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from configs.library import load_study
from runners.records.reader import read_records
from tests.support.cli import pinstudy
from tests.support.studies import write_app, write_program, write_study

# The program changes the files of its study, as a user may during a run.
PROGRAM = """\
#!/bin/sh
echo '# changed' >> study.yaml
echo '# changed' >> apps/own.yaml
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = write_program(tmp_path / "program", PROGRAM)
    write_app(tmp_path, "own", program, {"only": {"arguments": []}})
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "apps/own.yaml", tmp_path / "elsewhere/other.yaml")
    write_two_apps(tmp_path, "elsewhere/other.yaml")
    return tmp_path


def write_two_apps(folder: Path, other: str) -> None:
    """Write a study of two apps, the user's own and another."""
    choice = {"builds": "plain", "sizes": "only", "threads": 1}
    apps = [{"app": "own", **choice}, {"app": other, **choice}]
    write_study(folder, "study", "own", "only", apps=apps, repetitions=2)


def run(folder: Path) -> Path:
    pinstudy(folder, "run", "study.yaml", status=0)
    (results,) = folder.glob("results/study/*")
    return results


def test_the_files_that_were_run_by_are_kept_as_they_were_read(folder: Path) -> None:
    originals = {name: (folder / name).read_bytes() for name in ("study.yaml", "apps/own.yaml")}
    results = run(folder)
    assert (folder / "apps/own.yaml").read_bytes() != originals["apps/own.yaml"]
    assert {name: (results / name).read_bytes() for name in originals} == originals
    copy = (results / "apps/other.yaml").read_bytes()
    assert copy == (folder / "elsewhere/other.yaml").read_bytes()


def test_the_kept_files_are_a_study_that_asks_for_the_same(folder: Path, tmp_path: Path) -> None:
    write_two_apps(folder, "other")
    (folder / "elsewhere/other.yaml").rename(folder / "apps/other.yaml")
    results = run(folder)
    (tmp_path / "again").mkdir()
    shutil.copy(results / "study.yaml", tmp_path / "again")
    shutil.copytree(results / "apps", tmp_path / "again/apps")
    again = load_study(tmp_path / "again/study.yaml")
    (record, *_) = read_records(results / "records")
    assert again.digest == record["study_digest"]
