"""The file of results: a section a benchmark, each with its machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lib.machine import describe_machine
from benchmarks.lib.results import keep, section, sections_of
from benchmarks.lib.tables import table
from tests.support.trees import build_tree

MACHINE = [("processor", "one of ours"), ("load before", "0.00")]


def test_a_benchmark_that_ran_again_replaces_its_own_section_only(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    keep(path, "Second", "older", ["First", "Second"])
    keep(path, "First", "| a |", ["First", "Second"])
    keep(path, "Second", "newer", ["First", "Second"])
    assert sections_of(path.read_text()) == {"First": "| a |", "Second": "newer"}
    assert path.read_text().index("## First") < path.read_text().index("## Second")


def test_a_section_of_a_benchmark_that_is_gone_stays_last(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    keep(path, "Gone", "kept", [])
    keep(path, "First", "new", ["First"])
    assert list(sections_of(path.read_text())) == ["First", "Gone"]


def test_a_section_names_its_machine_before_its_numbers() -> None:
    text = section(MACHINE, "| a |\n|---|\n", is_markdown=True)
    assert text == "- processor: one of ours\n- load before: 0.00\n\n| a |\n|---|"


@pytest.mark.parametrize("is_markdown", [True, False])
def test_what_a_benchmark_prints_cannot_begin_a_section(tmp_path: Path, is_markdown: bool) -> None:
    path = tmp_path / "RESULTS.md"
    keep(path, "First", section(MACHINE, "## Second\nx\n", is_markdown), ["First"])
    assert list(sections_of(path.read_text())) == ["First"]


def test_a_table_keeps_the_digits_that_it_is_given() -> None:
    assert table(["tool", "ms"], [["perf", "1.00"], ["pyperf", "25"]]).splitlines() == [
        "| tool   |   ms |",
        "|:-------|-----:|",
        "| perf   | 1.00 |",
        "| pyperf |   25 |",
    ]


def test_a_machine_is_named_with_its_kinds_and_what_it_lacks_with_the_reason(
    tmp_path: Path,
) -> None:
    lines = dict(describe_machine(build_tree(tmp_path, "i9-14900k")))
    assert lines["CPUs"] == "32 in 24 cores (P: 0-15, E: 16-31)"
    assert lines["governors"] == "powersave (0-31)"
    assert lines["kernel"].startswith("n/a, because /proc/")
