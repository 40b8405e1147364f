"""srun starts the ranks of a study within a job, and their placement is proved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.slurm.cluster import PINSTUDY, Cluster
from tests.support.mpi import build_ranks
from tests.support.studies import two_cpus

pytestmark = pytest.mark.slurm

# The plugin of Slurm by which each MPI learns of its ranks.
PLUGINS = {"openmpi": "pmix", "mpich": "pmi2"}


@pytest.mark.parametrize("mpi", PLUGINS)
def test_ranks_that_srun_starts_are_proved(slurm: Cluster, tmp_path: Path, mpi: str) -> None:
    program = build_ranks(mpi, tmp_path)
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
        *(f"--export=ALL,SLURM_MPI_TYPE={PLUGINS[mpi]}", "--wrap", line),
    )
    slurm.wait_for_jobs()

    text = log.read_text()
    lines = [line for path in results.rglob("*.jsonl") for line in path.read_text().splitlines()]
    records = {record["mapping"]: record for record in map(json.loads, lines)}
    assert {record["status"] for record in records.values()} == {"ok"}, (text, records)
    pinned = records["cores-pin"]
    assert pinned["placement"]["verdict"] == "proved", pinned["unavailable"]
    busy = [thread for thread in pinned["placement"]["threads"] if thread["cpu_s"] > 1]
    assert {thread["rank"]: thread["allowed"] for thread in busy} == {
        0: str(first),
        1: str(second),
    }
    assert pinned["task_clock_s"] == pytest.approx(pinned["cpu_s"], rel=0.1)
    assert "ranks" not in [task["command"] for task in pinned["foreign_tasks"]]
