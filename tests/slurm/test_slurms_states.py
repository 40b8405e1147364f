"""Slurm's states of jobs are advice: refusals are passed on, silence is `unknown`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.cluster import cluster
from tests.slurm.cluster_files import Shape
from tests.slurm.plan import SPLIT, Plan
from tests.slurm.trial import Trial
from tests.support.wait import until

pytestmark = pytest.mark.slurm


def test_while_the_controller_is_away_jobs_are_unknown_and_none_has_failed(tmp_path: Path) -> None:
    with cluster(tmp_path / "slurm", Shape(answer_s=2)) as slurm:
        trial = Trial(slurm, tmp_path, Plan(repetitions=4))
        trial.hold()
        trial.submit(*SPLIT)
        trial.wait_for_nodes(2)

        slurm.stop_controller()
        away = trial.workers()
        assert "controller" in trial.command("cancel", str(trial.study), status=1)
        slurm.start_controller()
        back = trial.workers()
        trial.release()
        slurm.wait_for_jobs()

        assert [job["state"] for worker in away for job in worker["jobs"]] == ["unknown"] * 2
        assert [worker["failed"] for worker in away] == [0, 0]
        assert [worker["runs"] for worker in away] == [4, 4]
        assert [job["state"] for worker in back for job in worker["jobs"]] == ["running"] * 2
        trial.assert_complete()


def test_jobs_that_slurm_has_forgotten_have_ended_and_records_say_the_rest(tmp_path: Path) -> None:
    with cluster(tmp_path / "slurm", Shape(forget_s=2)) as slurm:
        trial = Trial(slurm, tmp_path, Plan(repetitions=4))
        trial.submit(*SPLIT)
        slurm.wait_for_jobs()
        until(lambda: slurm.jobs() == {}, what="the jobs are forgotten")
        workers = trial.workers()
        assert [job["state"] for worker in workers for job in worker["jobs"]] == ["ended"] * 2
        assert [worker["left"] for worker in workers] == [0, 0]
        assert "complete: " in trial.command("status", str(trial.study))
        assert "nothing is missing" in trial.submit(*SPLIT)
