"""A study that measures the latency between CPUs beside its runs, as a user meets it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support import cli
from tests.support.limits import only_cpus
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
def test_the_latency_between_cpus_is_measured_once_before_the_runs(folder: Path) -> None:
    output = pinstudy(folder, "run", "beside.yaml")
    assert "before the runs the latency between CPUs, every pair of CPUs" in output
    allowed = os.sched_getaffinity(0)
    first = content(folder)
    assert len(first["pairs"]) == len(allowed) * (len(allowed) - 1) // 2
    without_runs(folder)
    pinstudy(folder, "run", "beside.yaml")
    assert content(folder) == first


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("spoilt", ["another boot", "stopped", "no JSON"])
def test_a_measurement_that_is_not_this_boot_s_whole_one_is_made_again(
    folder: Path, spoilt: str
) -> None:
    assert "is not measured" not in pinstudy(folder, "run", "beside.yaml")
    old = content(folder)
    changed: dict[str, dict[str, Any]] = {
        "another boot": {"boot_id": "an older one"},
        "stopped": {"interrupted": True},
    }
    text = json.dumps(old | changed.get(spoilt, {})) if spoilt in changed else "{"
    latency_file(folder).write_text(text)
    without_runs(folder)
    pinstudy(folder, "run", "beside.yaml")
    assert content(folder)["boot_id"] == old["boot_id"]
    assert "interrupted" not in content(folder)


def test_a_node_of_one_cpu_says_so_and_makes_its_runs(folder: Path) -> None:
    with only_cpus({min(os.sched_getaffinity(0))}):
        output = pinstudy(folder, "run", "beside.yaml")
    assert "the latency between CPUs is not measured: the latency between CPUs needs two" in output
    assert not list(folder.glob("results/beside/*/latency.json"))
    assert list(folder.glob("results/beside/*/tables.md"))
