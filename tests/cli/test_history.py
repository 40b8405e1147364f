"""`pinstudy history` as it is typed: tables, JSON, CSV, its figure, and --fail-if as CI uses it."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pinstudy.analysis.compare.history import open_history, with_series
from pinstudy.analysis.figures.history import draw_history
from tests.support.cli import pinstudy
from tests.support.results import Study, in_table, write

TIMES = {"unpinned": 1.0, "pcores-pin": 0.9}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight weeks of two programs; from the fifth on the kernel is newer, and pcores-pin slower."""
    folder = tmp_path_factory.mktemp("archive")
    for week in range(8):
        is_new = week >= 4
        times = TIMES | {"pcores-pin": 0.927 if is_new else 0.9}
        kernel = {"study": "ci", "kernel": "6.12.9" if is_new else "6.12.1"}
        runs = Study(times, noise=0.005, repetitions=6, seed=week + 1).records()
        runs += in_table(2, Study({"unpinned": 1.0}, repetitions=6, seed=99 - week), app="lu")
        day = f"2026-0{1 + week // 4}-{3 + 7 * (week % 4):02d}"
        for run in runs:
            run["started_at"] = run["started_at"].replace("2025-03-01", day)
        write(folder / day / "ci" / "node1", [run | kernel for run in runs])
    return folder


def test_the_change_stands_first_with_the_kernel_beside_it(tmp_path: Path, archive: Path) -> None:
    done = pinstudy(tmp_path, "history", str(archive), status=0)
    assert done.stdout.startswith("Change points of ci on node1\n")
    (line,) = [row for row in done.stdout.splitlines() if row.startswith("lulesh x8 #2 pcores-pin")]
    assert line.split()[-2:] == ["worse", "a"]
    assert "(a) kernel: 6.12.1 to 6.12.9" in done.stdout
    assert done.stderr == ""


def test_programs_read_it_as_json_and_as_csv(tmp_path: Path, archive: Path) -> None:
    data = json.loads(pinstudy(tmp_path, "history", str(archive), "--json", status=0).stdout)
    assert (data["study"], data["node"], len(data["results"])) == ("ci", "node1", 8)
    changes = [change for case in data["cases"] for change in case["change_points"]]
    (change,) = changes
    assert change["ratio"] == pytest.approx(1.03, abs=0.005)
    assert 1 <= change["ratio_low"] < change["ratio"] < change["ratio_high"] < 1.04
    assert change["changed"] == ["kernel: 6.12.1 to 6.12.9"]
    assert change["after"] == data["results"][4]["results"]
    text = pinstudy(tmp_path, "history", str(archive), "--format", "csv", status=0).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 3 * 8
    levels = {row["level_number"] for row in rows if "pcores-pin" in row["case"]}
    assert levels == {"1", "2"}


def test_a_figure_is_drawn_for_each_program(tmp_path: Path, archive: Path) -> None:
    done = pinstudy(tmp_path, "history", str(archive), "--figure", "weeks.svg", status=0)
    assert done.stderr == "written: weeks-lulesh.svg\nwritten: weeks-lu.svg\n"
    words = set(ElementTree.parse(tmp_path / "weeks-lulesh.svg").getroot().itertext())
    assert {"kernel", "pcores-pin", "unpinned", "change (%)"} <= words
    done = pinstudy(tmp_path, "history", str(archive), "--figure", "weeks.gif", status=2)
    assert "gif" in done.stderr


def test_the_times_of_results_of_one_day_do_not_overlap(tmp_path: Path) -> None:
    for hour in range(10, 21):
        runs = Study(TIMES, noise=0.005, repetitions=6, seed=hour).records()
        for run in runs:
            run["started_at"] = run["started_at"].replace("2025-03-01T12", f"2026-01-03T{hour}")
        write(tmp_path / str(hour) / "ci" / "node1", [run | {"study": "ci"} for run in runs])
    history = with_series(open_history([str(tmp_path)]), "")
    drawing = draw_history(history, history.series)
    labels = drawing.figure.axes[-1].get_xticklabels()
    assert labels[0].get_text() == "1\n2026-01-03\n10:01"
    drawing.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize(
    ("condition", "status", "head"),
    [
        ("worse 2%", 0, "--fail-if 'worse 2%': passed, 0 of 3 cases against the level before"),
        ("equivalent 2%", 3, "--fail-if 'equivalent 2%': failed, 3 of 3 cases against"),
        ("worse 2% energy", 1, "--fail-if 'worse 2% energy': not compared, 0 of 0 cases"),
        ("wrose", 2, "'wrose'"),
    ],
)
def test_conditions_are_those_of_the_verdict(
    tmp_path: Path, archive: Path, condition: str, status: int, head: str
) -> None:
    options = ("--objective", "time", "--fail-if", condition)
    done = pinstudy(tmp_path, "history", str(archive), *options, status=status)
    assert head in done.stdout + done.stderr


def test_the_week_of_the_change_fails_with_what_changed(tmp_path: Path, archive: Path) -> None:
    weeks = [str(path) for path in sorted(archive.iterdir())[:5]]
    done = pinstudy(tmp_path, "history", *weeks, "--fail-if", "worse 2%", "--json", status=3)
    (failed,) = json.loads(done.stdout)["failed"]
    assert failed["case"] == "lulesh x8 #2 pcores-pin (performance)"
    assert failed["change"] == pytest.approx(0.03, abs=0.01)
    assert "changed before the newest: kernel: 6.12.1 to 6.12.9" in done.stderr
