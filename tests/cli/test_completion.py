"""What a shell is told that may follow, without a shell: studies, sites, mappings and results."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from pinstudy.cli.main import group
from pinstudy.configs.library import list_mappings, list_studies


def completed(typed: str, incomplete: str = "") -> tuple[list[str], set[str]]:
    """Return the names that complete a word, and what the shell adds itself: file or dir."""
    shell = ShellComplete(group, {}, "pinstudy", "_PINSTUDY_COMPLETE")
    found = shell.get_completions(typed.split(), incomplete)
    names = [item.value for item in found if item.type == "plain"]
    return names, {item.type for item in found} - {"plain"}


@pytest.mark.parametrize("command", ["run", "plan", "submit", "status", "cancel"])
def test_a_command_of_studies_is_completed_by_their_names_and_by_files(command: str) -> None:
    assert completed(command) == ([study.name for study in list_studies()], {"file"})


@pytest.mark.parametrize(
    ("typed", "incomplete", "names"),
    [
        ("", "ver", ["verdict"]),
        ("run", "qui", ["quick"]),
        ("run", "./qui", []),
        ("run quick --governors performance --site", "example-s", ["example-slurm"]),
        ("submit quick --site", "example-s", ["example-slurm"]),
        ("run quick --mappings", "siblings", ["siblings-pin", "siblings-pin-program"]),
        ("plan quick --mappings", "unpinned,spread", ["unpinned,spread-pin"]),
    ],
)
def test_a_word_is_completed(typed: str, incomplete: str, names: list[str]) -> None:
    assert completed(typed, incomplete)[0] == names


def test_an_unknown_command_is_no_error_while_a_shell_completes() -> None:
    assert completed("nonsense", "ver")[0] == ["verdict"]


def test_all_mappings_are_offered() -> None:
    assert completed("run quick --mappings")[0] == [mapping.name for mapping in list_mappings()]


@pytest.mark.parametrize("command", ["tables", "verdict", "report", "figures", "runs", "compare"])
@pytest.mark.parametrize(
    ("incomplete", "names"),
    [
        ("", ["paper", "quick"]),
        ("q", ["quick"]),
        ("quick/", ["quick/node1", "quick/node2"]),
        ("quick/node2", ["quick/node2"]),
        ("missing/", []),
    ],
)
def test_results_are_completed_by_study_and_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, incomplete: str, names: list[str]
) -> None:
    monkeypatch.setenv("PINSTUDY_RESULTS", str(tmp_path))
    for folder in ("quick/node1", "quick/node2", "paper/node1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "quick.csv").touch()

    assert completed(command, incomplete) == (names, {"dir"})
