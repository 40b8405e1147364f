"""A study whose program changes while it runs, or between two starts."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from runners.records.reader import read_records
from tests.support.cli import pinstudy
from tests.support.studies import records, write_app, write_study
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

SOURCE = """\
#include <stdio.h>
#include <unistd.h>
int main(void) {
  FILE *starts = fopen("starts", "a");
  fputs("x", starts);
  long count = ftell(starts);
  fclose(starts);
  if (count == SWAPS_AT) rename("next", "program");
  usleep(WAITS_US);
}
"""


def build(path: Path, waits_us: int = 1000, swaps_at: int = -1) -> None:
    """Build the program as a new file, and rename it into place, as installers do."""
    source = path.with_suffix(".c")
    text = SOURCE.replace("WAITS_US", str(waits_us)).replace("SWAPS_AT", str(swaps_at))
    source.write_text(text)
    program = path.with_suffix(".new")
    subprocess.run([need_tool("gcc"), "-o", str(program), str(source)], check=True, timeout=HANG_S)
    program.rename(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_app(tmp_path, "wait", tmp_path / "program", {"only": {"arguments": []}})
    write_waits(tmp_path)
    build(tmp_path / "program")
    return tmp_path


def write_waits(folder: Path, order: str = "randomised-blocks") -> None:
    mappings = ["unpinned", {"name": "other", "selection": "all", "binding": "set"}]
    write_study(folder, "waits", "wait", "only", mappings=mappings, repetitions=3, order=order)


def results(folder: Path) -> Path:
    (current,) = (path for path in folder.glob("results/waits/*") if ".2" not in path.name)
    return current


def test_a_program_that_is_built_anew_in_mid_study_stops_it(folder: Path) -> None:
    build(folder / "program", swaps_at=3)
    build(folder / "next", waits_us=2000)
    done = pinstudy(folder, "run", "waits.yaml", status=1)
    assert f"{folder}/program has changed while the study ran: 'program' was " in done.stderr
    assert "put it back and start the same command again to continue" in done.stderr
    assert '--fresh, which keeps what was measured, as the "before" of `pinstudy co' in done.stderr
    # The run during the change belongs to neither program.
    assert Counter(r["status"] for r in records(folder)) == {"ok": 2, "interrupted": 1}
    assert len({r["program_digest"] for r in records(folder)}) == 1
    assert (folder / "starts").read_text() == "xxx"


def test_a_run_after_which_its_program_cannot_be_read_is_recorded(folder: Path) -> None:
    build(folder / "program", swaps_at=3)
    (folder / "next").symlink_to("nowhere")
    done = pinstudy(folder, "run", "waits.yaml", status=1)
    assert "whether it has changed cannot be told: " in done.stderr
    assert [r["status"] for r in records(folder)] == ["ok", "ok", "interrupted"]
    assert "whether it has changed cannot be told: " in records(folder)[-1]["reason"]


@pytest.mark.parametrize("order", ["randomised-blocks", "sequential"])
def test_a_second_start_with_another_program_is_refused_until_it_is_back(
    folder: Path, order: str
) -> None:
    write_waits(folder, order)
    build(folder / "program", swaps_at=4)
    os.link(folder / "program", folder / "first")
    build(folder / "next", waits_us=2000)
    pinstudy(folder, "run", "waits.yaml", status=1)

    for command in ("run", "plan"):
        again = pinstudy(folder, command, "waits.yaml", status=2)
        assert "is not the program that made the runs there: 'program'" in again.stderr
        assert "or start anew with --fresh" in again.stderr
    assert (folder / "starts").read_text() == "xxxx"

    (folder / "first").replace(folder / "program")
    pinstudy(folder, "run", "waits.yaml", status=0)
    assert Counter(r["status"] for r in records(folder)) == {"ok": 6, "interrupted": 1}


def test_fresh_keeps_the_runs_of_the_earlier_program_to_compare_with(folder: Path) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    build(folder / "program", waits_us=50_000)

    fresh = pinstudy(folder, "run", "waits.yaml", "--fresh", status=0)
    (hint,) = (line for line in fresh.stderr.splitlines() if "pinstudy compare" in line)
    _, _, folders = hint.partition("pinstudy compare ")
    before, now = folders.split()
    assert folder / now == results(folder)
    pinstudy(folder, "compare", before, now, status=0)
    digests = {
        name: {r["program_digest"] for r in read_records(folder / name / "records")}
        for name in (before, now)
    }
    assert digests[before].isdisjoint(digests[now])


def test_a_program_that_cannot_be_read_does_not_count_as_changed(folder: Path) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    again = pinstudy(folder, "run", "waits.yaml", status=1, PATH="/nonexistent")
    assert "whether it has changed cannot be told: ldd could not be asked" in again.stderr


def test_a_program_with_the_same_bytes_is_the_same(folder: Path) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    build(folder / "program")
    pinstudy(folder, "run", "waits.yaml", status=0)
    assert len(records(folder)) == 6


def test_which_files_a_program_is_lies_beside_the_records(folder: Path) -> None:
    pinstudy(folder, "run", "waits.yaml")
    (digest,) = {r["program_digest"] for r in records(folder)}
    files = json.loads((results(folder) / "programs" / f"{digest}.json").read_text())["files"]
    assert files["program"]["path"] == str(folder / "program")
    expected = subprocess.run(
        ["sha256sum", str(folder / "program")], capture_output=True, text=True, check=True
    )
    assert files["program"]["sha256"] == expected.stdout.split()[0]
    assert any(part.startswith("libc.") for part in files)
