"""`--json`: every command has it, and its stdout is one JSON value then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from analysis.published import publication
from pinstudy.cli import group
from tests.support.cli import pinstudy
from tests.support.results import Study, write
from tests.support.studies import write_app, write_study
from tests.support.tools import ROOT
from tests.support.trees import build_tree


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path.strip(), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if (inner := command.get_command(context, name)) is not None:
            yield from leaves(inner, f"{path} {name}")


COMMANDS = dict(leaves(group))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json_when_asked_to(name: str) -> None:
    assert "--json" in [option for of in COMMANDS[name].params for option in of.opts]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "done", Study(time={"unpinned": 1.0, "pcores-pin": 2.0}).records())
    return tmp_path


def shown(folder: Path, *arguments: str) -> Any:  # noqa: ANN401 - as json.loads
    return json.loads(pinstudy(folder, *arguments, "--json", status=0).stdout)


def test_a_study_tells_where_its_results_are(tmp_path: Path) -> None:
    write_app(tmp_path, "nothing", "/bin/true", {"only": {"arguments": []}})
    write_study(tmp_path, "nothings", "nothing", "only", repetitions=2)

    outcome = shown(tmp_path, "run", "nothings.yaml")

    assert (outcome["study"], outcome["runs"], outcome["runs_left"]) == ("nothings", 2, 0)
    assert (tmp_path / outcome["results"] / "records").is_dir()
    assert {Path(file).name for file in outcome["files"]} >= {"tables.md", "tables.csv"}
    assert all((tmp_path / file).exists() for file in outcome["files"])


def test_what_is_written_of_results_is_named(folder: Path) -> None:
    (report,) = shown(folder, "report", "done")
    assert report["results"] == "done" and (folder / report["report"]).exists()
    (figures,) = shown(folder, "figures", "done", "--formats", "svg")
    assert figures["files"] and all((folder / file).exists() for file in figures["files"])
    assert all(line.startswith("not drawn: ") for line in figures["not_drawn"])
    card = shown(folder, "card", "done")
    assert (folder / card["card"]).stat().st_size == card["bytes"]


def test_imports_are_counted(tmp_path: Path) -> None:
    log = str(ROOT / "tests" / "data" / "perf_logs" / "three-runs.txt")
    of = ("--app", "sleep", "--threads", "1", "--mapping", "unpinned", "--output", "logs")
    assert shown(tmp_path, "import", "perf", log, *of) == {
        "results": "logs", "runs": 3, "averages": 0, "cases": 1,
    }  # fmt: skip
    means = str(publication("galante-2025").folder / "summaries.csv")
    assert shown(tmp_path, "import", "summaries", means, "--output", "means")["cases"] == 75


def test_a_node_is_packed_and_restored(tmp_path: Path) -> None:
    root = build_tree(tmp_path / "tree", "adl0")
    packed = shown(tmp_path, "snapshot", "node.tar.gz", "--sysroot", str(root))
    assert packed["files"] > 0
    assert packed["bytes"] == (tmp_path / packed["snapshot"]).stat().st_size

    tuned = shown(tmp_path, "tune", "--sysroot", str(root))
    restored = shown(tmp_path, "restore", "--sysroot", str(root))
    (only,) = restored["restored"]
    assert only["settings"] >= len(tuned) > 0
    assert (only["problems"], only["given_up"], restored["leftovers"]) == ({}, False, [])
    assert shown(tmp_path, "restore", "--sysroot", str(root))["restored"] == []


def test_runs_are_rows_with_the_columns_of_the_csv(folder: Path) -> None:
    rows = shown(folder, "runs", "done")
    assert {row["mapping"] for row in rows} == {"unpinned", "pcores-pin"}
    assert all(row["elapsed_s"] > 0 for row in rows)
    assert rows[0]["energy_dram_j"] is None
