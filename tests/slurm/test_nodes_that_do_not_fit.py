"""A node refuses what it cannot do, with the reason; the other nodes go on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.records.status import SKIPPED
from tests.cli.hybrid_namespace import CPUFREQ, write_hybrid_cpufreq
from tests.slurm.cluster import Cluster
from tests.slurm.trial import PINNED, UNPINNED, Plan, Trial
from tests.support.trees import write
from tests.support.wait import until

pytestmark = pytest.mark.slurm


def test_cases_that_need_another_kind_of_node_are_refused_on_this_one_only(
    slurm: Cluster, tmp_path: Path
) -> None:
    plan = Plan(
        repetitions=2, mappings=[UNPINNED, "ecores-pin"], governors=["current", "performance"]
    )
    trial = Trial(slurm, tmp_path, plan)

    cpus = sorted(os.sched_getaffinity(0))
    with (
        _devices(slurm, "n1", tmp_path / "n1", cpus[:1], cpus[1:]),
        _devices(slurm, "n2", tmp_path / "n2", cpus[:1], cpus[1:]),
        _devices(slurm, "n3", tmp_path / "n3", cpus, []),
    ):
        trial.submit("--features", "hybrid,homog")
        slurm.wait_for_jobs()

    on_hybrid, on_homogeneous = trial.workers()
    assert on_hybrid["exit_status"] == 0
    assert on_homogeneous["exit_status"] == 3
    runs = {(r["node_id"], r["mapping"], r["governor"]) for r in trial.final_runs()}
    [other] = {node for node, _, _ in runs} - {"n3"}
    assert len([each for each in runs if each[0] == other]) == 4
    assert [each for each in runs if each[0] == "n3"] == [("n3", "unpinned", "current")]
    refused = {
        (r["mapping"], r["governor"]): r["reason"]
        for r in trial.records("n3")
        if r["status"] == SKIPPED
    }
    assert len(refused) == 3
    assert "E-core" in refused["ecores-pin", "current"]
    assert "frequency scaling" in refused["unpinned", "performance"]
    status = trial.command("status", str(trial.study))
    assert refused["ecores-pin", "current"] in status
    assert refused["unpinned", "performance"] in status
    policies = (tmp_path / other).glob("**/policy*/scaling_governor")
    assert {path.read_text() for path in policies} == {"powersave\n"}


def test_a_node_unlike_the_others_adds_nothing_to_a_divided_study_and_stops_nobody(
    slurm: Cluster, tmp_path: Path
) -> None:
    worker_on = ("--spread", "split", "--workers", "1", "--features")
    trial = Trial(slurm, tmp_path, Plan(repetitions=3))
    cpus = sorted(os.sched_getaffinity(0))
    with _devices(slurm, "n3", tmp_path / "n3", cpus[:1], cpus[1:]):
        trial.submit(*worker_on, "hybrid")
        trial.wait_for_runs(2)
        trial.hold("n1")
        trial.hold("n2")
        trial.submit(*worker_on, "homog", "--again")
        until(lambda: len(slurm.live_jobs()) == 1, what="it has refused")
        trial.release("n1")
        trial.release("n2")
        slurm.wait_for_jobs()

    [refused] = trial.workers()
    assert refused["exit_status"] == 2
    assert "node n3 is not like" in refused["reason"]
    trial.assert_complete()


@contextmanager
def _devices(
    slurm: Cluster, node: str, folder: Path, core: Sequence[int], atom: Sequence[int]
) -> Iterator[None]:
    """Give a node these P- and E-cores, as its files show it; a hybrid has frequency scaling."""
    write(folder, "cpu_core/cpus", format_cpulist(core))
    write(folder, "cpu_atom/cpus", format_cpulist(atom))
    cpufreq = folder / CPUFREQ.relative_to("/sys/devices")
    cpufreq.mkdir(parents=True)
    if atom:
        write_hybrid_cpufreq(cpufreq)
    layers = f"lowerdir={folder}:/sys/devices"
    with (
        slurm.mounted(node, "-t", "overlay", "-o", layers, "overlay", "/sys/devices"),
        # What is written to cpufreq stays in `folder`.
        slurm.mounted(node, "--bind", str(cpufreq), str(CPUFREQ)),
    ):
        yield


def test_a_worker_that_lacks_the_shared_folder_makes_nothing_and_others_go_on(
    slurm: Cluster, tmp_path: Path
) -> None:
    trial = Trial(slurm, tmp_path, Plan(repetitions=3))
    with slurm.mounted("n3", "-t", "tmpfs", "tmpfs", str(tmp_path)):
        trial.submit("--nodes", "n1,n3")
        slurm.wait_for_jobs()
        # Newer Slurm makes the folder of a job's log itself.
        assert slurm.on("n3", "find", str(tmp_path), "-name", "*.json*") == ""
    assert {record["node_id"] for record in trial.final_runs()} == {"n1"}
    assert [worker["left"] for worker in trial.workers()] == [0, None]
    assert "no worker got to work" in trial.command("status", str(trial.study))
    assert "node n3" in trial.submit("--nodes", "n1,n3")
    slurm.wait_for_jobs()
    trial.assert_complete(nodes=2)


def test_an_allocation_smaller_than_the_case_is_refused_before_any_run(
    bound_slurm: Cluster, tmp_path: Path
) -> None:
    both = {"name": "both", "selection": "all", "binding": "set"}
    # Newer Slurm refuses --oversubscribe beside --exclusive.
    half = ["--exclusive=user", "--cpus-per-task=1"]
    trial = Trial(
        bound_slurm, tmp_path, Plan(repetitions=3, mappings=[PINNED, both], directives=half)
    )

    trial.submit("--nodes", "n1")
    bound_slurm.wait_for_jobs()

    [worker] = trial.workers()
    assert worker["exit_status"] == 3
    assert {record["mapping"] for record in trial.final_runs()} == {"pinned"}
    [refused] = [r for r in trial.records() if r["status"] == SKIPPED]
    assert refused["mapping"] == "both"
    for part in ("node n1", "may use CPUs 0,", "needs 0-1", "missing: 1", "--exclusive"):
        assert part in refused["reason"]
    assert refused["reason"] in trial.command("status", str(trial.study))
