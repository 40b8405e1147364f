"""Studies that are disturbed or stopped: in the end each run was made, and counts once."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from pinstudy.runners.records.status import INTERRUPTED
from tests.slurm.cluster import PINSTUDY, Cluster, cluster
from tests.slurm.cluster_files import Shape
from tests.slurm.trial import SPLIT, Plan, Trial
from tests.support.wait import HANG_S, until

pytestmark = pytest.mark.slurm

SIGNALS = ("KILL", "TERM", "USR1", "HUP")
SUBMISSIONS = 6
MAX_AT_ONCE = 3
# Seconds of a day in the year 2100.
FAR_AHEAD = 4_100_000_000


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
            # A job that has just ended cannot be disturbed.
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


def test_a_full_disk_stops_the_worker_and_with_room_the_study_is_completed(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=60, pace_s=0.0), results=slurm.small / "r")
    slurm.resize_small("128k")
    trial.submit("--nodes", "n1")
    slurm.wait_for_jobs()
    assert 0 < len(list(trial.final_runs())) < trial.plan.units
    assert trial.torn() <= 1
    assert "incomplete so far" in trial.command("status", str(trial.study))
    assert sum(trial.averaged()) == len(list(trial.final_runs()))
    slurm.resize_small("16m")
    trial.submit("--nodes", "n1")
    slurm.wait_for_jobs()
    trial.assert_complete()


def test_the_copy_on_a_lost_node_stops_and_its_last_result_is_kept_aside(tmp_path: Path) -> None:
    with cluster(tmp_path / "slurm", Shape(silent_s=5)) as slurm:
        trial = Trial(slurm, tmp_path, Plan(repetitions=6))
        trial.submit("--spread", "split", "--workers", "1", "--features", "hybrid")
        trial.wait_for_runs(3)
        [lost] = trial.nodes()
        trial.hold(lost)

        slurm.kill_daemon(lost)
        until(lambda: len(trial.nodes()) == 2, what="the job runs elsewhere", limit_s=HANG_S)
        [other] = trial.nodes() - {lost}
        trial.release(lost)
        until(lambda: trial.attempts()[0]["ended"] is not None, what="the old copy has stopped")
        slurm.wait_for_jobs()

        first, second = trial.attempts()
        assert (first["node_id"], first["ended"]) == (lost, 75)
        assert (second["node_id"], second["ended"]) == (other, 0)
        assert [record["node_id"] for record in trial.late()] == [lost]
        trial.assert_complete()
        assert "1 record" in trial.command("status", str(trial.study))


def test_an_array_requeued_as_a_whole_and_then_in_part_loses_nothing(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=9))
    trial.submit("--spread", "split", "--workers", "3")
    trial.wait_for_runs(3)
    trial.hold()
    [array] = {job.partition("_")[0] for job in trial.jobs()}

    slurm.checked("scontrol", "requeue", array)
    until(lambda: len(trial.attempts()) == 6, what="all have started again")
    slurm.checked("scontrol", "requeue", f"{array}_1")
    until(lambda: len(trial.attempts()) == 7, what="one has started once more")
    trial.release()
    slurm.wait_for_jobs()

    trial.assert_complete()
    assert Counter(each["worker"] for each in trial.attempts()) == {0: 2, 1: 3, 2: 2}


@pytest.mark.parametrize("ahead", [False, True], ids=["clocks agree", "the older clock is ahead"])
def test_the_newer_of_two_submissions_wins_and_late_results_are_kept_aside(
    slurm: Cluster, tmp_path: Path, ahead: bool
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=6))
    trial.hold()
    trial.submit(*SPLIT)
    trial.wait_for_nodes(2)
    if ahead:
        for claim in (trial.study_folder / "submissions" / "fence").iterdir():
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
