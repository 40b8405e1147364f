"""The ready line for srun places threads as it promises, inside and outside an allocation."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from analysis.advice.lines import Start, ready_lines
from tests.slurm.cluster import Cluster
from tests.support.tools import ROOT, need_tool

pytestmark = pytest.mark.slurm

PROGRAM = ("--team-only", "--json", "--duration", "0.02")


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in an allocation"])
def test_srun_puts_threads_where_its_line_says(bound_slurm: Cluster, inside: bool) -> None:
    program = (need_tool(str(ROOT / "build/bin/threadmap-libgomp")), *PROGRAM)
    every = tuple(sorted(os.sched_getaffinity(0)))
    if len(every) < 2:
        pytest.skip("needs two CPUs")
    first, second = every[:2]
    starts = {
        "pin": Start(program, 2, "pin", "omp-places", (second, first), openmp=True),
        "set": Start(program, 2, "set", "taskset", (second,), openmp=True),
        "none": Start(program, 2, "none", None, every, openmp=True),
    }
    allowed = {}
    for name, start in starts.items():
        lines = {line.tool: line.text for line in ready_lines(replace(start, node_cpus=len(every)))}
        command = ["bash", "-c", lines["srun"]]
        if inside:
            command = ["salloc", "--quiet", "--nodes=1", "--exclusive", *command]
        output = bound_slurm.checked(*command)
        team = json.loads(output[output.index("{") :])["team"]
        allowed[name] = [thread["allowed"] for thread in team["threads"]]
    assert allowed == {
        "pin": [[second], [first]],
        "set": [[second], [second]],
        "none": [list(every)] * 2,
    }
