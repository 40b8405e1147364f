"""Jobs that reach their time limit, and those that follow them and continue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pinstudy.runners.records.status import INTERRUPTED
from tests.slurm.cluster import cluster
from tests.slurm.trial import UNPINNED, Plan, Trial
from tests.support.wait import until

pytestmark = pytest.mark.slurm

# Slurm looks at limits of a minute, the least, about every 30 s.
LIMIT_S = 120.0
ONE_MINUTE = Plan(repetitions=60, mappings=[UNPINNED], time_limit="1 min")


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Trial]]:
    """Give two studies whose first jobs have reached their limit, both at the same time."""
    with cluster(tmp_path_factory.mktemp("slurm")) as slurm:
        trials = {
            node: Trial(slurm, tmp_path_factory.mktemp(node), ONE_MINUTE) for node in ("n1", "n2")
        }
        trials["n1"].pace(1.0)
        for node, trial in trials.items():
            trial.submit("--nodes", node, "--chain", "2")
        trials["n1"].wait_for_runs(2)
        trials["n2"].wait_for_runs(2)
        trials["n2"].hold()
        # Spares half a minute of waiting for the limit.
        slurm.checked("scontrol", "update", f"JobId={trials['n2'].jobs()[0]}", "EndTime=now+1")
        _wait_for_limit(trials["n1"])
        # The rest may run as fast as it can.
        trials["n1"].pace(0.0)
        _wait_for_limit(trials["n2"])
        trials["n2"].release()
        slurm.wait_for_jobs()
        yield trials


def _wait_for_limit(trial: Trial) -> None:
    until(lambda: trial.attempts()[0]["ended"] is not None, what="the time limit", limit_s=LIMIT_S)


def test_a_worker_is_warned_ends_its_run_and_the_next_job_continues(
    trials: dict[str, Trial],
) -> None:
    trial = trials["n1"]
    first, second = trial.attempts()
    assert first["ended"] == 75
    assert "SIGUSR1" in first["reason"]
    assert 0 < first["left"] < trial.plan.units
    assert second["ended"] == 0
    assert INTERRUPTED not in {record["status"] for record in trial.records()}
    trial.assert_complete()


def test_a_run_in_flight_at_the_limit_is_recorded_as_interrupted_and_made_again(
    trials: dict[str, Trial],
) -> None:
    trial = trials["n2"]
    first, second = trial.attempts()
    assert first["ended"] == 75
    assert second["ended"] == 0
    assert [record["status"] for record in trial.records()].count(INTERRUPTED) == 1
    assert "TIME LIMIT" in trial.log()
    trial.assert_complete()
