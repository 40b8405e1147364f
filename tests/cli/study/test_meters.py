"""Energy by a site's own command, as a user has it: in records, tables, and what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import pinstudy
from tests.support.studies import records, write_app, write_program, write_study

NAPS = {"short": {"arguments": "0.05"}}
SITE = """\
title: A room with a meter
energy: {{command: [{command}], unit: {unit}, scope: system, update: 1 ms}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study, and a meter that counts 5 J at each reading."""
    write_app(tmp_path, "nap", "/bin/sleep", NAPS)
    write_study(tmp_path, "short", "nap", "short", mappings=["unpinned", "pcores-set"])
    (tmp_path / "joules").write_text("100\n")
    counter = "n=$(($(cat joules) + 5)); echo $n; echo $n >joules"
    write_program(tmp_path / "meter", f"#!/bin/sh\ncd {tmp_path}\n{counter}\n")
    (tmp_path / "room.yaml").write_text(SITE.format(command=tmp_path / "meter", unit="J"))
    return tmp_path


def test_a_site_s_command_gives_runs_the_energy_of_its_scope(folder: Path) -> None:
    pinstudy(folder, "run", "short.yaml", "--site", "room.yaml", "--no-report", status=0)

    runs = records(folder, "short")
    assert runs
    for run in runs:
        # A reading before, one after, and one more for each second of a busy node.
        assert run["energy_system_j"] >= 5.0
        assert run["energy_system_j"] % 5.0 == 0.0
        assert run["energy_source"] == "command"
        assert run["unavailable"]["energy_pkg_j"] == "the energy of command is asked for"
    (results,) = (folder / "results/short").iterdir()
    shown = pinstudy(folder, "verdict", f"short/{results.name}", status=0).stdout
    assert "typical system energy" in shown
    assert "package energy" not in shown
    told = pinstudy(folder, "verdict", f"short/{results.name}", "--json", status=0).stdout
    (found,) = json.loads(told)
    assert [table["energy_scope"] for table in found["tables"]] == ["system"]
    shown = pinstudy(folder, "tables", f"short/{results.name}", "--format", "csv", status=0).stdout
    assert "energy_system_mean_j" in shown


def test_a_meter_that_is_not_there_is_a_mistake_of_the_study(folder: Path) -> None:
    write_study(folder, "named", "nap", "short", meter="hwmon:nothing/power7")
    for command in (("plan", "named.yaml"), ("run", "named.yaml", "--no-report")):
        done = pinstudy(folder, *command, status=2)
        expected = "meter 'hwmon:nothing/power7' is not on this node; expected one of powercap"
        assert expected in done.stderr


def test_a_command_that_prints_no_number_leaves_the_reason(folder: Path) -> None:
    write_program(folder / "meter", "#!/bin/sh\necho 12 W\n")
    pinstudy(folder, "run", "short.yaml", "--site", "room.yaml", "--no-report", status=0)
    for run in records(folder, "short"):
        assert "energy_system_j" not in run
        assert (
            "printed '12 W'; expected a number of 0 or more alone"
            in (run["unavailable"]["energy_system_j"])
        )


def test_a_study_goes_on_with_the_meter_of_its_site_alone(folder: Path) -> None:
    runs = ("run", "short.yaml", "--no-report")
    pinstudy(folder, *runs, "--site", "room.yaml", "--repetitions", "1", status=0)
    (kept,) = (folder / "results/short").glob("*/study.yaml")
    first, *_ = kept.read_text().splitlines()
    assert first == f"# Run with --repetitions 1 --site {folder / 'room.yaml'}."

    refused = pinstudy(folder, *runs, "--repetitions", "2", status=2)

    assert refused.stderr.count("\n") == 1
    command = "pinstudy run short.yaml --repetitions 2 --site room.yaml"
    assert f"`{command}` goes on" in refused.stderr
    # Tables of a complete study need no meter.
    pinstudy(folder, *runs, "--repetitions", "1", status=0)
    pinstudy(folder, *command.split()[1:], "--no-report", status=0)
    assert {run["energy_source"] for run in records(folder, "short")} == {"command"}


def test_another_meter_is_another_version_and_is_named(folder: Path) -> None:
    runs = ("run", "short.yaml", "--no-report")
    pinstudy(folder, *runs, "--site", "room.yaml", "--meter", "command", status=0)
    refused = pinstudy(folder, *runs, "--site", "room.yaml", status=2)
    assert "(run with --meter command, and now with no options)" in refused.stderr
