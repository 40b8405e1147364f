"""The latency between CPUs: the command `pinstudy latency`, and studies that measure it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.latency.measure import PROGRAM
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.support.cli import pinstudy, pinstudy_without, started
from tests.support.limits import before_all_others, only_cpus
from tests.support.programs import built
from tests.support.studies import two_cpus, write_app, write_study
from tests.support.tools import ROOT, need_tool
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


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--json"], 1)])
def test_this_nodes_pairs_are_measured_and_kept_without_the_libraries(
    tmp_path: Path, two: tuple[int, int], options: list[str], status: int
) -> None:
    arguments = ("--cpus", f"{two[0]},{two[1]}", "--precision", "none", *options)
    results = ("--results", "my results")
    done = pinstudy_without("scipy", tmp_path, "latency", *arguments, *results)
    assert done.returncode == status, done.stderr
    assert "1 pair of " in done.stderr
    assert ", about " in done.stderr
    (file,) = tmp_path.glob("my results/latency/*/latency.json")
    last_line = done.stderr.splitlines()[-1]
    assert "no scipy here; where numpy, pandas, scipy and matplotlib are installed" in last_line
    assert last_line.endswith(f"pinstudy latency --from '{file.relative_to(tmp_path)}'")
    done = pinstudy(tmp_path, "latency", "--from", str(file), status=0)
    assert "one way: " in done.stdout
    assert 'OMP_PLACES="' in done.stdout


def test_nothing_is_measured_that_cannot_be_kept(tmp_path: Path) -> None:
    need_program_and_two_cpus()
    (tmp_path / "file").touch()
    done = pinstudy(tmp_path, "latency", "--output", "file/there", status=1)
    assert done.stderr.splitlines() == [
        "pinstudy: file: cannot be written; expected a folder that you may write to"
    ]


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


def test_where_nothing_can_be_measured_one_line_says_why(tmp_path: Path) -> None:
    need_program_and_two_cpus()
    with node_lock(Path("/")):
        done = pinstudy(tmp_path, "latency", status=1)
    assert "another pinstudy is at work on this node" in done.stderr
    with only_cpus({min(os.sched_getaffinity(0))}):
        done = pinstudy(tmp_path, "latency", status=2)
    (line,) = done.stderr.splitlines()
    assert "needs two" in line
    assert not (tmp_path / "results").exists()


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    need_tool(str(ROOT / "build/bin/pingpong-pthreads"))
    write_app(tmp_path, "nothing", "/bin/true", {"only": {"arguments": []}})
    write_study(tmp_path, "beside", "nothing", "only", latency="all")
    return tmp_path


def without_runs(folder: Path) -> None:
    """Delete the runs of the study, but no other file of its folder."""
    for record in folder.glob("results/beside/*/records/*.jsonl"):
        record.unlink()


def run(folder: Path) -> str:
    done = pinstudy(folder, "run", "beside.yaml", status=0)
    return done.stdout + done.stderr


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_the_latency_between_cpus_is_measured_before_the_runs(
    folder: Path, at_end: ExitStack
) -> None:
    at_end.enter_context(before_all_others())
    output = run(folder)
    assert "before the runs the latency between CPUs, every pair of CPUs" in output
    assert "is not measured" not in output
    (file,) = folder.glob("results/beside/*/latency.json")
    measured = json.loads(file.read_bytes())
    allowed = len(os.sched_getaffinity(0))
    assert len(measured["pairs"]) == allowed * (allowed - 1) // 2
    assert "interrupted" not in measured


NOT_MEASURED = "the latency between CPUs is not measured: the latency between CPUs needs two"


def test_only_a_measurement_that_is_not_this_boots_whole_one_is_made_again(folder: Path) -> None:
    # Where a measurement ends at once, and says so.
    with only_cpus({min(os.sched_getaffinity(0))}):
        assert NOT_MEASURED in run(folder)
        (results,) = folder.glob("results/beside/*/")
        file = results / "latency.json"
        assert not file.exists()
        assert (results / "tables.md").exists()
        # The reason stands beside the records, for who reads them later.
        why = json.loads((results / "latency-unavailable.json").read_bytes())
        assert "needs two" in why["unavailable"]["latency"]

        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for changes, again in (
            ({}, False),
            ({"boot_id": "another boot"}, True),
            ({"interrupted": True}, True),
            (None, True),
        ):
            kept = content_of(PLANTED["smt"]) | {"boot_id": boot_id} | (changes or {})
            text = "{" if changes is None else json.dumps(kept)
            file.write_text(text)
            without_runs(folder)
            assert (NOT_MEASURED in run(folder)) == again, changes
            assert file.read_text() == text
