"""Results on a shared file system that becomes full."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.plan import Plan
from tests.slurm.trial import Trial

pytestmark = pytest.mark.slurm


def test_a_full_disk_stops_the_worker_and_with_room_the_study_is_completed(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=60, pace_s=0.0), results=slurm.small / "r")
    slurm.resize_small("128k")

    trial.submit("--nodes", "n1")
    slurm.wait_for_jobs()

    assert 0 < len(list(trial.made())) < trial.plan.units
    assert trial.torn() <= 1
    assert "incomplete so far" in trial.command("status", str(trial.study))
    assert sum(trial.averaged()) == len(list(trial.made()))
    slurm.resize_small("16m")
    trial.submit("--nodes", "n1")
    slurm.wait_for_jobs()
    trial.assert_complete()
