"""Benchmarks are run one by one, and what they print is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as benchmarks
from benchmarks.lib.results import keep, sections_of


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of results; its benchmarks are Python's own modules."""
    path = tmp_path / "RESULTS.md"
    known = {
        "good": benchmarks.Benchmark("Good", "timeit"),
        "bad": benchmarks.Benchmark("Bad", "no_such_module"),
    }
    monkeypatch.setattr(benchmarks, "RESULTS", path)
    monkeypatch.setattr(benchmarks, "BENCHMARKS", known)
    return path


def test_one_that_fails_leaves_its_section_and_the_others_run(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(results, "Bad", "of yesterday", [])
    assert benchmarks.run_all(["bad", "good"], ["-n", "1", "-r", "1"]) == 1
    sections = sections_of(results.read_text())
    assert sections["Bad"] == "of yesterday"
    assert "1 loop, best of 1" in sections["Good"]
    assert "ended with status 1" in capfd.readouterr().err


def test_options_are_given_to_the_benchmark_and_kept_with_its_results(results: Path) -> None:
    assert benchmarks.run_all(["good"], ["-n", "1", "-r", "1"]) == 0
    body = sections_of(results.read_text())["Good"]
    assert "- options: -n 1 -r 1\n" in body
    assert "1 loop, best of 1" in body
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in body


def test_options_need_one_benchmark() -> None:
    done = CliRunner().invoke(benchmarks.main, ["--options", "-n 1", "cost", "load"])
    assert done.exit_code == 2
    assert "one benchmark" in done.output
