"""The command `pinstudy latency` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.host.lock import node_lock
from runners.latency.measure import PROGRAM
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.support.cli import pinstudy, pinstudy_without, started
from tests.support.limits import before_all_others, only_cpus
from tests.support.programs import built
from tests.support.studies import two_cpus
from tests.support.trees import build_tree
from tests.support.wait import HANG_S


def need_program_and_two_cpus() -> None:
    built(PROGRAM)
    two_cpus()


@pytest.fixture
def two() -> Iterator[tuple[int, int]]:
    """Two CPUs between which a measurement does not wait for other tests."""
    need_program_and_two_cpus()
    with before_all_others():
        yield two_cpus()


def test_this_nodes_pairs_are_measured_printed_and_drawn(
    tmp_path: Path, two: tuple[int, int]
) -> None:
    done = pinstudy(
        tmp_path, "latency", "--cpus", f"{two[0]},{two[1]}", "--precision", "none", status=0
    )
    assert "1 pair of " in done.stderr
    assert ", about " in done.stderr
    assert "one way: " in done.stdout
    assert 'OMP_PLACES="' in done.stdout
    (folder,) = (tmp_path / "results" / "latency").iterdir()
    assert {file.name for file in folder.iterdir()} == {
        "latency.json",
        "latency.svg",
        "latency.pdf",
        "latency.png",
        "pairs.csv",
    }


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--json"], 1)])
def test_without_the_libraries_the_measurement_is_kept_and_no_json_is_a_failure(
    tmp_path: Path, two: tuple[int, int], options: list[str], status: int
) -> None:
    cpus = f"{two[0]},{two[1]}"
    arguments = ("--cpus", cpus, "--precision", "none", *options, "--results", "my results")
    done = pinstudy_without("scipy", tmp_path, "latency", *arguments)
    assert done.returncode == status, done.stderr
    (file,) = tmp_path.glob("my results/latency/*/latency.json")
    last_line = done.stderr.splitlines()[-1]
    assert "no scipy here; where numpy, pandas, scipy and matplotlib are installed" in last_line
    assert last_line.endswith(f"pinstudy latency --from '{file.relative_to(tmp_path)}'")


def test_another_nodes_file_is_read_and_nothing_measured(tmp_path: Path) -> None:
    file = write_latency_file(tmp_path, content_of(PLANTED["hybrid"]))
    before = file.read_bytes()

    done = pinstudy(tmp_path, "latency", "--from", str(file), "--output", "out", "--json", status=0)
    report = json.loads(done.stdout)
    medians = {group["cpus"]: group["range"]["median_ns"] for group in report["groups"]}
    assert medians["0-15"] == pytest.approx(32.0, rel=0.05)
    assert medians["16-19"] == pytest.approx(28.0, rel=0.05)
    assert report["files"] == [
        "out/pairs.csv",
        "out/latency.svg",
        "out/latency.pdf",
        "out/latency.png",
    ]
    assert file.read_bytes() == before
    assert not (tmp_path / "results").exists()


def test_a_recorded_node_shows_the_plan_only(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    done = pinstudy(tmp_path, "latency", "--sysroot", str(root), status=0)
    assert "496 pairs of 496, about " in done.stdout
    assert "nothing is measured" in done.stdout
    options = ("--json", "--cpus", "0-3", "--pairs", "0:1,2:3")
    report = json.loads(pinstudy(tmp_path, "latency", "--sysroot", str(root), *options).stdout)
    assert (report["pairs"], report["pairs_of_node"]) == ([[0, 1], [2, 3]], 496)
    assert report["estimate_s"] >= 0
    assert not (tmp_path / "results").exists()


def test_two_measurements_would_disturb_each_other(tmp_path: Path) -> None:
    need_program_and_two_cpus()
    with node_lock(Path("/")):
        done = pinstudy(tmp_path, "latency", status=1)
    assert "another pinstudy is at work on this node" in done.stderr
    assert not (tmp_path / "results").exists()


def test_one_cpu_is_one_line(tmp_path: Path) -> None:
    with only_cpus({min(os.sched_getaffinity(0))}):
        done = pinstudy(tmp_path, "latency", status=2)
    assert "needs two" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_ctrl_c_ends_the_measurement_with_130(tmp_path: Path) -> None:
    need_program_and_two_cpus()
    with started(tmp_path, "latency", "--samples", "1000", apart=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert ", about " in first
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=HANG_S)

    assert process.returncode == 130
    assert "Traceback" not in rest
