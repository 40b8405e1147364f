"""Where results can be opened, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.results.sources import folders_for, open_results, sources_below
from base.errors import UserError
from tests.analysis.results.test_summaries import HEADER, ROW
from tests.support.results import record, write


def test_a_folder_of_records_has_runs_and_cases(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, kinds_declared=True), record(1, 2)])

    results = open_results(str(tmp_path))

    assert results.runs is not None
    assert len(results.runs.frame) == 2
    assert [case.n for case in results.cases] == [2]
    assert (results.folder, results.name) == (tmp_path, str(tmp_path))
    assert results.footnotes == ("core kinds declared by hand",)


def test_a_folder_of_summaries_has_cases_without_runs(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(HEADER + ROW)

    results = open_results(str(tmp_path))

    assert results.runs is None
    assert [case.time.mean for case in results.cases] == [45.073]
    assert results.folder == tmp_path
    assert any("without their runs" in footnote for footnote in results.footnotes)


def test_runs_and_summaries_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(HEADER + ROW)
    write(tmp_path, [record(1, 1)])

    with pytest.raises(UserError, match=r"holds runs .* and means without runs"):
        open_results(str(tmp_path))


def test_a_publication_has_cases_and_says_who_published_them() -> None:
    results = open_results("published:galante-2025")

    assert (results.runs, results.folder) == (None, None)
    assert len(results.cases) == 75
    assert "Galante and Oyamada" in results.footnotes[0]


@pytest.mark.parametrize("name", ["galante2025", "", "../galante-2025", "galante-2025\0"])
def test_a_publication_that_there_is_not_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"is not known.*\(known: galante-2025\)"):
        open_results(f"published:{name}")


def test_of_several_nodes_one_has_to_be_named(tmp_path: Path) -> None:
    for node in ("b", "a"):
        write(tmp_path / "study" / node, [record(1, 1)])

    assert sources_below(str(tmp_path)) == [str(tmp_path / "study" / node) for node in "ab"]
    with pytest.raises(UserError, match=r"several nodes or studies; .*study/a, .*study/b"):
        open_results(str(tmp_path))


@pytest.mark.parametrize("name", ["nothing", "empty", "nothing\0"])
def test_a_folder_without_results_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no results here"):
        open_results(str(tmp_path / name))


def test_files_about_one_node_in_two_studies_do_not_meet(tmp_path: Path) -> None:
    for study in ("a", "b"):
        write(tmp_path / study / "node1", [record()])
    into = Path("elsewhere")
    assert folders_for(str(tmp_path), into) == [
        (str(tmp_path / study / "node1"), into / study / "node1") for study in ("a", "b")
    ]
    assert folders_for(str(tmp_path / "a"), into) == [(str(tmp_path / "a" / "node1"), into)]
    assert folders_for(str(tmp_path / "a"), None) == [(str(tmp_path / "a" / "node1"), None)]
    # A study's folder stands for its only node.
    assert open_results(str(tmp_path / "a")).folder == tmp_path / "a" / "node1"
