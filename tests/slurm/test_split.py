"""A study that is divided over interchangeable nodes: every run is made, and counts once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.cluster import PINSTUDY, Cluster
from tests.slurm.trial import SPLIT, Plan, Trial

pytestmark = pytest.mark.slurm


def test_two_workers_in_one_folder_lose_no_run_and_make_none_twice(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=20, warmup=1))
    trial.submit(*SPLIT)
    slurm.wait_for_jobs()
    trial.assert_complete()
    assert len({record["node_id"] for record in trial.final_runs()}) == 2
    assert trial.torn() == 0
    assert trial.late() == []
    workers = trial.workers()
    assert [worker["exit_status"] for worker in workers] == [0, 0]
    assert [worker["left"] for worker in workers] == [0, 0]


def test_a_single_worker_is_a_job_without_an_array_also_in_a_folder_with_blanks(
    slurm: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    trial = Trial(slurm, folder, Plan(repetitions=2))
    script = trial.submit("--spread", "split", "--workers", "1")
    slurm.wait_for_jobs()
    assert "#SBATCH" in script
    assert "--array" not in script
    trial.assert_complete()
    status = trial.command("status", str(trial.study))
    assert f"`{PINSTUDY} report '{folder}/results/waits/split-site'`" in status


def test_tables_and_status_of_a_study_under_way_only_grow_and_say_incomplete(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=30, pace_s=1.0))
    trial.submit(*SPLIT)

    counts: list[int] = []
    for _ in range(3):
        # At least one run more than the last count.
        trial.wait_for_runs(counts[-1] + 1 if counts else 2)
        # The study cannot end during the commands, however long they take.
        trial.hold()
        counts.append(sum(trial.averaged()))
        counts.append(sum(worker["done"] for worker in trial.workers()))
        assert "incomplete so far" in trial.command("status", str(trial.study))
        assert slurm.live_jobs()
        trial.release()

    assert counts == sorted(counts)
    assert counts[-1] < trial.plan.units
    trial.pace(0.0)
    slurm.wait_for_jobs()
    trial.assert_complete()
    assert "incomplete" not in trial.command("status", str(trial.study))
