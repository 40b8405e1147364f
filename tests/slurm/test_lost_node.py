"""A node that Slurm has lost while the copy of a job lives on there: two are at work at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.cluster import cluster
from tests.slurm.cluster_files import Shape
from tests.slurm.plan import Plan
from tests.slurm.trial import Trial
from tests.support.wait import until

pytestmark = pytest.mark.slurm

LIMIT_S = 120.0


def test_the_copy_on_a_lost_node_stops_and_its_last_result_is_kept_aside(tmp_path: Path) -> None:
    with cluster(tmp_path / "slurm", Shape(silent_s=5)) as slurm:
        trial = Trial(slurm, tmp_path, Plan(repetitions=6))
        trial.submit("--spread", "split", "--workers", "1", "--features", "hybrid")
        trial.wait_for_runs(3)
        [lost] = trial.nodes()
        trial.hold(lost)

        slurm.kill_daemon(lost)
        until(lambda: len(trial.nodes()) == 2, what="the job runs elsewhere", limit_s=LIMIT_S)
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
