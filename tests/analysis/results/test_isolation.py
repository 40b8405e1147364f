"""What isolated CPUs, and those without a tick, did to results is told with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.results.sources import open_results
from tests.analysis.report.made_results import DIGEST, make_results, node
from tests.support.cli import run_main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=3)


def footnotes(folder: Path, **facts: object) -> list[str]:
    tickless = {"topology": node()["topology"] | {"nohz_full": facts.pop("nohz_full", "")}}
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node() | tickless | facts))
    told = open_results(str(folder)).footnotes
    return [text for text in told if "isolated" in text or "nohz_full" in text]


def test_gains_over_threads_that_could_not_move_are_told_in_verdict_and_tables(
    folder: Path,
) -> None:
    (told,) = footnotes(folder, isolated="0-11")
    assert told.startswith("CPUs 0-11 are isolated")
    assert "over unpinned, pcores-set here" in told
    for command in ("verdict", "tables"):
        shown = " ".join(run_main([command, str(folder)]).stdout.split())
        assert "CPUs 0-11 are isolated" in shown, command


def test_what_the_scheduler_had_is_told_where_nothing_moved_over_isolated_cpus(
    folder: Path,
) -> None:
    (told,) = footnotes(folder, isolated="99")
    assert told.endswith("the OS scheduler and sets of CPUs have the others alone")


def test_cpus_without_a_tick_are_told(folder: Path) -> None:
    (told,) = footnotes(folder, nohz_full="3")
    assert told.startswith("CPU 3 is without the timer's tick")


def test_no_cpus_tell_nothing(folder: Path) -> None:
    assert footnotes(folder, isolated="", nohz_full="") == []


@pytest.mark.parametrize("damaged", ["x", 3, None, "0-99999999"])
def test_a_file_with_what_is_no_list_of_cpus_is_not_used(folder: Path, damaged: object) -> None:
    (told,) = footnotes(folder, isolated=damaged, nohz_full="")
    assert "is not used: isolated: expected a list of CPUs such as 0-3,8, found" in told
