"""A study in another cluster of the same Slurm: followed and cancelled there, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster, cluster
from tests.slurm.cluster_files import Shape
from tests.slurm.trial import SPLIT, Plan, Trial
from tests.support.wait import until

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give cluster a with n1 and n2, which commands are for by default, and b with n3."""
    with cluster(tmp_path_factory.mktemp("slurm"), Shape(two_clusters=True)) as running:
        yield running


@pytest.fixture
def slurm(both: Cluster) -> Iterator[Cluster]:
    both.wait_for_nodes()
    yield both
    both.end_jobs()


def test_a_study_in_another_cluster_is_followed_and_cancelled_there(
    slurm: Cluster, tmp_path: Path
) -> None:
    here, there = _trial(slurm, tmp_path / "here"), _trial(slurm, tmp_path / "there", "b")
    here.submit("--nodes", "n1")
    there.submit(*SPLIT)
    assert here.wait_for_nodes(1) == {"n1"}
    assert there.wait_for_nodes(1) == {"n3"}

    # Both clusters count from the same number: without its cluster a job would be another one.
    (number,) = here.jobs()
    assert _states(here) == {number: "running"}
    assert _states(there) == {f"{number}_0;b": "running", f"{number}_1;b": "queued"}
    assert "no job of it is at work" in there.cancel()
    _wait_for_end(slurm, there)
    assert _states(here) == {number: "running"}

    there.release()
    there.submit("--spread", "split", "--workers", "1", "--chain", "2")
    _wait_for_end(slurm, there)
    assert [job.partition(";")[2] for job in there.jobs()] == ["b", "b"]
    assert there.nodes() == {"n3"}
    there.assert_complete()
    here.release()
    slurm.wait_for_jobs()
    here.assert_complete()


def test_jobs_of_a_cluster_that_is_away_are_unknown_and_not_cancelled(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = _trial(slurm, tmp_path / "both", "a,b")
    trial.submit("--nodes", "n1,n3")
    assert trial.wait_for_nodes(2) == {"n1", "n3"}
    in_a, in_b = trial.jobs()
    assert (in_a[-2:], in_b[-2:]) == (";a", ";b")

    slurm.stop_controller("b")
    assert _states(trial) == {in_a: "running", in_b: "unknown"}
    unreachable = f"{in_b[:-2]}` ended with status 1: .*'b' can't be reached now"
    told = trial.command("status", str(trial.study))
    assert re.search(f"squeue --clusters=b .* {unreachable}", told)
    told = trial.command("cancel", str(trial.study), status=1)
    assert re.search(f"scancel --clusters=b {unreachable}", told)
    until(lambda: not slurm.live_jobs("a"), what="the job in a is cancelled")
    assert _states(trial) == {in_a: "ended", in_b: "unknown"}

    slurm.start_controller("b")
    until(lambda: _states(trial)[in_b] == "running", what="b is back")
    trial.cancel()
    _wait_for_end(slurm, trial)


def _trial(slurm: Cluster, folder: Path, clusters: str = "") -> Trial:
    """Return a study whose first run does not end until it is released."""
    folder.mkdir()
    directives = [f"--clusters={clusters}"] if clusters else []
    trial = Trial(slurm, folder, Plan(repetitions=2, directives=directives))
    trial.hold()
    return trial


def _states(trial: Trial) -> dict[str, str]:
    return {job["id"]: job["state"] for worker in trial.workers() for job in worker["jobs"]}


def _wait_for_end(slurm: Cluster, trial: Trial) -> None:
    until(lambda: not slurm.live_jobs("b"), what="all jobs in b have ended")
    assert set(_states(trial).values()) == {"ended"}
