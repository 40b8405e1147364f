"""What makes a result repeatable lies beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from configs.library import load_study
from runners.records.reader import read_records
from tests.support.cli import pinstudy

# The program changes the files by which it is run, as an editor would meanwhile.
PROGRAM = """\
#!/bin/sh
echo '# changed' >> study.yaml
echo '# changed' >> apps/own.yaml
"""
OWN = """\
# An app of the user's own
title: own
variants:
  plain: {program: PROGRAM, runtime: none}
sizes:
  only: {arguments: []}
limit: 5 s
"""
STUDY = """\
# A study of two apps
title: kept
apps:
  - {app: own, variants: plain, sizes: only, threads: 1}
  - {app: elsewhere/other.yaml, variants: plain, sizes: only, threads: 1}
mappings: scheduler
governors: current
repetitions: 2
warmup: 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    own = OWN.replace("PROGRAM", str(program))
    for name in ("apps/own.yaml", "elsewhere/other.yaml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(own)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def run(folder: Path) -> Path:
    """Run the study; return its results."""
    done = pinstudy(folder, "run", "study.yaml", "--results", "results")
    assert done.returncode == 0, done.stderr
    (results,) = folder.glob("results/study/*")
    return results


def test_the_files_that_were_run_by_are_kept_as_they_were_read(folder: Path) -> None:
    given = {name: (folder / name).read_bytes() for name in ("study.yaml", "apps/own.yaml")}

    results = run(folder)

    assert (folder / "apps/own.yaml").read_bytes() != given["apps/own.yaml"]
    assert {name: (results / name).read_bytes() for name in given} == given
    kept = (results / "apps/other.yaml").read_bytes()
    assert kept == (folder / "elsewhere/other.yaml").read_bytes()


def test_the_kept_files_are_a_study_that_asks_for_the_same(folder: Path, tmp_path: Path) -> None:
    text = STUDY.replace("elsewhere/other.yaml", "other")
    (folder / "study.yaml").write_text(text)
    (folder / "elsewhere/other.yaml").rename(folder / "apps/other.yaml")
    results = run(folder)
    (tmp_path / "again").mkdir()
    shutil.copy(results / "study.yaml", tmp_path / "again")
    shutil.copytree(results / "apps", tmp_path / "again/apps")

    again = load_study(tmp_path / "again/study.yaml")

    (record, *_) = read_records(results / "records")
    assert again.digest == record["study_digest"]
