"""Jobs that Slurm gives back to the queue: the same id runs again, and continues."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.plan import Plan
from tests.slurm.trial import Trial
from tests.support.wait import until

pytestmark = pytest.mark.slurm


def test_an_array_requeued_as_a_whole_and_then_in_part_loses_nothing(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=9))
    trial.submit("--spread", "split", "--workers", "3")
    trial.wait_for_runs(3)
    trial.hold()
    [array] = {job.partition("_")[0] for job in trial.jobs()}

    slurm.ask("scontrol", "requeue", array)
    until(lambda: len(trial.attempts()) == 6, what="all have started again")
    slurm.ask("scontrol", "requeue", f"{array}_1")
    until(lambda: len(trial.attempts()) == 7, what="one has started once more")
    trial.release()
    slurm.wait_for_jobs()

    trial.assert_complete()
    assert Counter(each["worker"] for each in trial.attempts()) == {0: 2, 1: 3, 2: 2}
