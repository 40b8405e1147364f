"""Workers that are killed, cancelled or told to stop: submitted again, the study continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.records.status import INTERRUPTED
from tests.slurm.cluster import PINSTUDY, Cluster
from tests.slurm.plan import SPLIT, Plan
from tests.slurm.trial import Trial
from tests.support.wait import until

pytestmark = pytest.mark.slurm


def test_a_cancelled_study_that_is_submitted_again_is_completed(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=6))
    trial.submit(*SPLIT)
    trial.wait_for_runs(3)
    trial.hold()

    assert "no job of it is at work" in trial.cancel()
    slurm.wait_for_jobs()
    trial.release()

    assert [worker["exit_status"] for worker in trial.workers()] == [75, 75]
    assert [r["status"] for r in trial.records()].count(INTERRUPTED) == 2
    assert "incomplete so far" in trial.command("status", str(trial.study))
    trial.submit(*SPLIT)
    slurm.wait_for_jobs()
    trial.assert_complete()
    none = f"no job of it is at work; `{PINSTUDY} submit` continues the study\n"
    assert trial.cancel() == none


def test_a_warning_lets_the_run_in_flight_end_and_an_alarm_does_not(
    slurm: Cluster, tmp_path: Path
) -> None:
    """Slurm can send USR1 ahead of a time limit; Flux sends ALRM at one."""
    trial = Trial(slurm, tmp_path, Plan(repetitions=6))
    trial.hold()
    trial.submit(*SPLIT)
    trial.wait_for_nodes(2)
    warned, alarmed = trial.jobs()

    slurm.checked("scancel", "--batch", "--signal=ALRM", alarmed)
    until(lambda: len(slurm.live_jobs()) == 1, what="it has stopped")
    assert [record["status"] for record in trial.records()] == [INTERRUPTED]
    slurm.checked("scancel", "--batch", "--signal=USR1", warned)
    trial.release()
    slurm.wait_for_jobs()

    assert len(list(trial.final_runs())) == 1
    workers = trial.workers()
    assert [worker["exit_status"] for worker in workers] == [75, 75]
    assert "SIGUSR1" in workers[0]["reason"]
    trial.submit(*SPLIT)
    slurm.wait_for_jobs()
    trial.assert_complete()
