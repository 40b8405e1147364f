"""Ranks and threads that srun starts are where the mapping or the ready line puts them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.analysis.advice.lines import Start, ready_lines
from tests.slurm.cluster import PINSTUDY, Cluster
from tests.support.mpi import build_ranks
from tests.support.studies import two_cpus
from tests.support.tools import ROOT, need_tool

pytestmark = pytest.mark.slurm

# The plugin of Slurm by which each MPI learns of its ranks.
PLUGINS = {"openmpi": "pmix", "mpich": "pmi2"}
# What a job exports: a list without ALL is all that srun itself passes on, and it takes the number
# of CPUs for each rank's.
OF_SITES = {"openmpi": "ALL,", "mpich": "SRUN_CPUS_PER_TASK=2,"}


@pytest.mark.parametrize("mpi", PLUGINS)
def test_ranks_that_srun_starts_are_proved(slurm: Cluster, tmp_path: Path, mpi: str) -> None:
    program = build_ranks(mpi)
    first, second = two_cpus()
    study = tmp_path / "ranks.yaml"
    study.write_text(f"""\
title: Ranks within a job
apps:
  - app:
      name: ranks
      title: ranks of threads
      builds:
        libgomp: {{program: {program}, runtime: libgomp, mpi: srun}}
      sizes:
        small: {{arguments: '2'}}
      check: {{pattern: ^2 ranks}}
    builds: libgomp
    sizes: small
    ranks: 2
    threads: 1
mappings: [unpinned, cores-pin]
repetitions: 1
warmup: 0
collect: [perf]
""")
    results, log = tmp_path / "results", tmp_path / "log"
    line = f"{PINSTUDY} run {study} --results {results}"
    slurm.checked(
        *("sbatch", "--exclusive", "--nodes=1", f"--output={log}", "--parsable"),
        *(f"--export={OF_SITES[mpi]}SLURM_MPI_TYPE={PLUGINS[mpi]}", "--wrap", line),
    )
    slurm.wait_for_jobs()

    text = log.read_text()
    lines = [line for path in results.rglob("*.jsonl") for line in path.read_text().splitlines()]
    records = {record["mapping"]: record for record in map(json.loads, lines)}
    assert {record["status"] for record in records.values()} == {"ok"}, (text, records)
    pinned = records["cores-pin"]
    assert pinned["placement"]["verdict"] == "proved", pinned["unavailable"]
    busy = [thread for thread in pinned["placement"]["threads"] if thread["cpu_s"] > 1]
    assert {thread["rank"]: thread["allowed"] for thread in busy} == {0: str(first), 1: str(second)}
    assert pinned["task_clock_s"] == pytest.approx(pinned["cpu_s"], rel=0.1)
    assert "ranks" not in [task["command"] for task in pinned["foreign_tasks"]]


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
