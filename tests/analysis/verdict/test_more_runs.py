"""The command that continues an undecided study: for its own folder, and for no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.answer import command_for_more
from analysis.results.sources import Results, open_results
from tests.support.results import Study, write

STUDY = Study({"scheduler": 1.0, "pcores-pin": 0.98}, noise=0.04)


def results(folder: Path) -> Results:
    write(folder, [run | {"study_file": "quick"} for run in STUDY.records()])
    return open_results(str(folder))


def test_the_results_of_a_study_are_continued_where_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    assert command_for_more(results(folder), 25) == (
        f"pinstudy run quick --repetitions 35 --results {tmp_path}"
    )


def test_a_copy_under_another_name_is_not_continued(tmp_path: Path) -> None:
    # `pinstudy run` would begin anew, beside it.
    assert command_for_more(results(tmp_path / "copy"), 25) == ""


@pytest.mark.parametrize("place", ["/", "/mnt"])
def test_results_at_the_root_of_a_file_system_are_not_continued(tmp_path: Path, place: str) -> None:
    moved = replace(results(tmp_path), folder=Path(place))
    assert command_for_more(moved, 25) == ""


def test_the_folder_may_be_named_from_within(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    found = results(folder)
    monkeypatch.chdir(folder)
    for place in (".", "../node1"):
        said = command_for_more(replace(found, folder=Path(place)), 25)
        assert said == f"pinstudy run quick --repetitions 35 --results {tmp_path}"
