"""Whatever happens to workers, and whenever: in the end each run was made, and counts once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.plan import Plan
from tests.slurm.trial import Trial

pytestmark = pytest.mark.slurm

SIGNALS = ("KILL", "TERM", "USR1", "HUP")
SUBMISSIONS = 6
MAX_AT_ONCE = 3


def test_kills_requeues_and_double_submissions_at_random_moments_lose_nothing(
    slurm: Cluster, tmp_path: Path
) -> None:
    chance = random.Random(20)
    trial = Trial(slurm, tmp_path, Plan(repetitions=30, pace_s=0.3))

    for _ in range(SUBMISSIONS):
        _submit(trial, chance.randint(1, MAX_AT_ONCE), "--again")
        for _ in range(2):
            time.sleep(chance.uniform(0.1, 1.8))
            live = slurm.live_jobs()
            if not live:
                break
            # A job that has just ended is none that could be disturbed.
            job = chance.choice(live)
            if chance.random() < 0.3:
                slurm.run("scontrol", "requeue", job)
            else:
                slurm.run("scancel", "--batch", f"--signal={chance.choice(SIGNALS)}", job)
    slurm.wait_for_jobs()
    trial.pace(0.0)
    _submit(trial, 2)
    slurm.wait_for_jobs()

    trial.assert_complete()


def _submit(trial: Trial, workers: int, *options: str) -> None:
    trial.submit("--spread", "split", "--workers", str(workers), *options)
