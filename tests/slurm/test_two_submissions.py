"""The same study submitted twice at the same time: the newer one wins, whatever clocks say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.plan import SPLIT, Plan
from tests.slurm.trial import Trial

pytestmark = pytest.mark.slurm

# Seconds of a day in the year 2100.
FAR_AHEAD = 4_100_000_000


@pytest.mark.parametrize("ahead", [False, True], ids=["clocks agree", "the older clock is ahead"])
def test_the_newer_of_two_submissions_wins_and_late_results_are_kept_aside(
    slurm: Cluster, tmp_path: Path, ahead: bool
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=6))
    trial.hold()
    trial.submit(*SPLIT)
    trial.wait_for_nodes(2)
    if ahead:
        for claim in (trial.seen / "submissions" / "fence").iterdir():
            os.utime(claim, (FAR_AHEAD, FAR_AHEAD))
    trial.submit(*SPLIT, "--again")
    trial.wait_for_nodes(3)
    trial.release()
    slurm.wait_for_jobs()

    trial.assert_complete()
    assert len(trial.late()) == 2
    older, newer = trial.workers(0), trial.workers(1)
    assert [worker["exit_status"] for worker in older] == [75, 75]
    assert all("newer worker" in worker["reason"] for worker in older)
    assert [worker["exit_status"] for worker in newer] == [0, 0]
    assert "2 records" in trial.command("status", str(trial.study))
