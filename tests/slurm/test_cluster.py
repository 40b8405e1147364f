"""The cluster that the other tests rely on, checked with Slurm's own commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.cluster_files import NODES
from tests.support.tools import ROOT
from tests.support.wait import until

pytestmark = pytest.mark.slurm

_DESCRIBE = 'echo "$(hostname) $SLURMD_NODENAME $(stat -Lc %i /proc/self/ns/net) $(ls LOCAL)"'
_START = """
import sys
from pathlib import Path
from tests.slurm.cluster import cluster
with cluster(Path(sys.argv[1])) as running:
    running.checked("sbatch", "--wrap", "sleep 1000")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_each_job_of_an_array_has_a_machine_of_its_own(slurm: Cluster, tmp_path: Path) -> None:
    for node in NODES:
        slurm.on(node, "touch", f"{slurm.local}/only-on-{node}")
    slurm.checked(
        *("sbatch", "--exclusive", "--nodes=1", "--array=0-2", f"--output={tmp_path}/%a"),
        *("--wrap", _DESCRIBE.replace("LOCAL", f"{slurm.local}/only-*")),
    )
    slurm.wait_for_jobs()
    jobs = sorted((tmp_path / str(task)).read_text().split() for task in range(3))
    assert [line[0] for line in jobs] == list(NODES)
    assert [line[1] for line in jobs] == list(NODES)
    assert len({line[2] for line in jobs} | {str(Path("/proc/self/ns/net").stat().st_ino)}) == 4
    assert [line[3:] for line in jobs] == [[f"{slurm.local}/only-on-{node}"] for node in NODES]


def test_nothing_is_left_of_a_cluster_whose_starter_was_killed(
    slurm: Cluster, tmp_path: Path
) -> None:
    assert _processes_of(slurm.folder)

    folder = tmp_path / "other"
    starter = subprocess.Popen(
        [sys.executable, "-c", _START, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with starter:
        assert starter.stdout
        assert starter.stdout.readline() == "ready\n"
        assert len(_processes_of(folder)) > len(NODES)
        starter.kill()

    until(lambda: not _processes_of(folder), what="all processes have ended")


def _processes_of(folder: Path) -> list[str]:
    """Return the processes of this machine that belong to the cluster of a folder."""
    mark = f"SLURM_CONF={folder}/pinstudy.conf\0".encode()
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                pids.append(process.name)
        except OSError:
            continue
    return pids
