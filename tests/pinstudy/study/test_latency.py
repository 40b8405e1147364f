"""A study that measures the latency between CPUs beside its runs, as a user meets it."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.latency.made_latency import PLANTED, content_of
from tests.support import cli
from tests.support.limits import before_all_others, only_cpus
from tests.support.studies import write_app, write_study
from tests.support.tools import ROOT, need_tool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    need_tool(str(ROOT / "build/bin/pingpong-pthreads"))
    write_app(tmp_path, "nothing", "/bin/true", {"only": {"arguments": []}})
    write_study(tmp_path, "beside", "nothing", "only", latency="all")
    return tmp_path


def pinstudy(folder: Path, *arguments: str) -> str:
    ended = cli.pinstudy(folder, *arguments, status=0)
    return ended.stdout + ended.stderr


def without_runs(folder: Path) -> None:
    """Delete the runs of the study, but no other file of its folder."""
    for record in folder.glob("results/beside/*/records/*.jsonl"):
        record.unlink()


def latency_file(folder: Path) -> Path:
    (path,) = folder.glob("results/beside/*/latency.json")
    return path


def content(folder: Path) -> dict[str, Any]:
    latencies: dict[str, Any] = json.loads(latency_file(folder).read_bytes())
    return latencies


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_the_latency_between_cpus_is_measured_once_a_boot_before_the_runs(
    folder: Path, at_end: ExitStack
) -> None:
    at_end.enter_context(before_all_others())
    output = pinstudy(folder, "run", "beside.yaml")
    assert "before the runs the latency between CPUs, every pair of CPUs" in output
    assert "is not measured" not in output
    allowed = os.sched_getaffinity(0)
    first = content(folder)
    assert len(first["pairs"]) == len(allowed) * (len(allowed) - 1) // 2
    without_runs(folder)
    pinstudy(folder, "run", "beside.yaml")
    assert content(folder) == first

    latency_file(folder).write_text(json.dumps(first | {"boot_id": "an older one"}))
    without_runs(folder)
    pinstudy(folder, "run", "beside.yaml")
    assert content(folder)["boot_id"] == first["boot_id"]
    assert "interrupted" not in content(folder)


NOT_MEASURED = "the latency between CPUs is not measured: the latency between CPUs needs two"


def run_with_one_cpu(folder: Path) -> str:
    """Run the study where a measurement ends at once, and says so."""
    with only_cpus({min(os.sched_getaffinity(0))}):
        return pinstudy(folder, "run", "beside.yaml")


def test_a_node_of_one_cpu_says_so_and_makes_its_runs(folder: Path) -> None:
    assert NOT_MEASURED in run_with_one_cpu(folder)
    assert not list(folder.glob("results/beside/*/latency.json"))
    assert list(folder.glob("results/beside/*/tables.md"))
    # The reason stands beside the records, for who reads them later.
    (why,) = folder.glob("results/beside/*/latency-unavailable.json")
    assert "needs two" in json.loads(why.read_bytes())["unavailable"]["latency"]


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({}, False),
        ({"boot_id": "another boot"}, True),
        ({"interrupted": True}, True),
        (None, True),
    ],
    ids=["this boot's", "another boot's", "stopped", "no JSON"],
)
def test_only_a_measurement_that_is_not_this_boots_whole_one_is_made_again(
    folder: Path, changes: dict[str, object] | None, again: bool
) -> None:
    run_with_one_cpu(folder)
    without_runs(folder)
    (results,) = folder.glob("results/beside/*/")
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    kept = content_of(PLANTED["smt"]) | {"boot_id": boot_id} | (changes or {})
    text = "{" if changes is None else json.dumps(kept)
    (results / "latency.json").write_text(text)

    assert (NOT_MEASURED in run_with_one_cpu(folder)) == again
    assert (results / "latency.json").read_text() == text
