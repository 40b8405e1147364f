"""The command `pinstudy demo` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from runners.host.lock import node_lock
from runners.records.reader import read_records
from tests.support.cli import pinstudy, pinstudy_without, started
from tests.support.limits import only_cpus
from tests.support.programs import built
from tests.support.wait import HANG_S, until

PROGRAMS = ("contention-libgomp", "smt-libgomp", "threadmap-libgomp", "pingpong-pthreads")


@pytest.fixture(autouse=True)
def programs() -> None:
    """Skip where the programs are not built."""
    for name in PROGRAMS:
        built(name)


def test_a_demo_writes_its_page_goes_on_after_its_time_and_makes_a_card(tmp_path: Path) -> None:
    short = ("demo", "-o", "class", "--time-budget", "4 s")
    done = pinstudy(tmp_path, *short, "--json", status=0)
    data = json.loads(done.stdout)
    assert data["results"] == "class"
    assert len(data["rows"]) == 5
    assert all(row["sentence"] for row in data["rows"])
    assert {*data["files"]} >= {"class/demo.html", "class/demo.json"}
    made = len([*read_records(tmp_path / "class" / "records")])

    again = pinstudy(tmp_path, *short, status=0)

    assert "two threads on one core" in again.stdout
    assert "pictures for slides: class/demo.html" in again.stdout
    assert len([*read_records(tmp_path / "class" / "records")]) >= made
    pinstudy(tmp_path, "card", "class", "-o", "me.json", status=0)


def test_on_one_cpu_the_rows_say_that_they_need_two(tmp_path: Path) -> None:
    with only_cpus({min(os.sched_getaffinity(0))}):
        done = pinstudy(tmp_path, "demo", "-o", "out", "--time-budget", "1 s", "--json", status=0)
    rows = {row["effect"]: row for row in json.loads(done.stdout)["rows"]}
    assert "needs two" in rows["latency"]["why_not"]
    assert rows["contention"]["why_not"]
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_it_with_130_and_keeps_what_was_measured(tmp_path: Path) -> None:
    with started(tmp_path, "demo", "-o", "out", apart=True) as process:
        until(lambda: any((tmp_path / "out" / "records").glob("*.jsonl")), process)
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert "Nothing that was measured is lost" in rest
    assert "Traceback" not in rest


def test_beside_another_study_nothing_is_measured(tmp_path: Path) -> None:
    with node_lock(Path("/"), wait_s=HANG_S):
        done = pinstudy(tmp_path, "demo", status=1)
    assert "another pinstudy is at work" in done.stderr
    assert not list(tmp_path.glob("results/demo/*/records/*"))


def test_without_the_libraries_one_line_says_what_shows_it(tmp_path: Path) -> None:
    done = pinstudy_without("matplotlib", tmp_path, "demo", "-o", "out", "--time-budget", "1 s")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert "where numpy, pandas, scipy and matplotlib are installed" in last
    assert last.endswith("pinstudy demo -o out")


@pytest.mark.parametrize("budget", ["soon", "-3 s"])
def test_a_budget_that_is_no_time_is_a_mistake_in_one_line(tmp_path: Path, budget: str) -> None:
    done = pinstudy(tmp_path, "demo", f"--time-budget={budget}", status=2)
    assert "--time-budget" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_folder_that_cannot_be_written_is_named_with_the_option_that_named_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    done = pinstudy(tmp_path, "demo", "-o", "file/out", "--time-budget", "1 s", status=2)
    assert done.stderr.strip().endswith("name a writable folder with --output")
